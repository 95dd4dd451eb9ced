"""The example of docs/environments.md is a job that runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

from proofgym.job_file import load_job

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"


def test_the_example_trains(tiny_model, tmp_path):
    example = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)[0]
    tasks = tmp_path / "numbers.jsonl"
    lines = [
        {"name": n, "topic": "t", "difficulty": 1, "prompt": "guess: ", "number": ord(n) - 96}
        for n in "abcd"
    ]
    tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = tmp_path / "job.py"
    path.write_text(example.replace("numbers.jsonl", str(tasks)))
    settings = [f"model.name={tiny_model}", "algorithm.prompts=2", "algorithm.population=4"]
    run = load_job(path, [*settings, "iterations=2"]).run(tmp_path / "runs", source=path)
    events = [event for event in run.events() if event["event"] == "iteration"]
    assert len(events) == 2
    assert events[0]["unscored"] == 0
    assert set(events[0]["components"]) == {"found", "soon"}
    assert 1 < events[0]["turns"] <= 4
    line = next(iter(run.rollouts(0)))
    assert {"turns", "components"} <= set(line)
    assert line["turns"][0]["messages"] == [["user", "guess: "]]
    job = run.read_json("job.json")["job"]
    assert job["environment"]["max_tokens"] == 256
