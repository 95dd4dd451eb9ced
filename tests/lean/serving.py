"""A real server process for tests, and plain requests to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

KEY = "a key for tests"


@dataclass
class Running:
    """A server that answers."""

    url: str
    process: subprocess.Popen[str]
    client: httpx.Client

    def check(self, *codes: str, timeout: float = 30, **more: object) -> list[dict]:
        """Results of `POST /api/check`, whose ids are the places in the batch."""
        snippets = [{"id": f"{place}", "code": code} for place, code in enumerate(codes)]
        body = {"snippets": snippets, "timeout": timeout, **more}
        response = self.post("/api/check", body)
        assert response.status_code == 200, response.text
        return response.json()["results"]

    def post(self, path: str, body: object) -> httpx.Response:
        """JSON in ASCII, so that halves of surrogate pairs travel as Python's clients send them."""
        headers = {"Content-Type": "application/json"}
        return self.client.post(path, content=json.dumps(body), headers=headers)

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        lines = self.client.get("/metrics").text.splitlines()
        return sum(
            float(line.split()[-1]) for line in lines if line.split("{")[0].split()[0] == name
        )

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextmanager
def serving(*options: str, key: str | None = KEY) -> Iterator[Running]:
    """`proofgym lean serve` with the embedded Lean on a free port."""
    arguments = ["lean", "serve", "--port", "0", "--toolchain", "embedded", *options]
    environment = {name: value for name, value in os.environ.items() if "PROOFGYM" not in name}
    process = subprocess.Popen(
        [sys.executable, "-m", "proofgym", *arguments],
        env=environment | ({"PROOFGYM_API_KEY": key} if key else {}),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("http://"), line
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = line.split()[0]
        with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
            yield Running(url, process, client)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
