"""A tiny real job with held-out tasks, and a comparison of it."""

from __future__ import annotations

import json

import pytest

JOB = '''
from proofgym import ES, GRPO, Budget, Comparison, Job, Local, Model, Sampling, Supervised, Sweep
from proofgym.tasks import from_jsonl

def wanted(task, text):
    """Passes where the wanted letter was written."""
    return float("e" in text)

job = Job(
    model=Model({model!r}),
    tasks=from_jsonl({folder!r} + "/train.jsonl"),
    evaluation=from_jsonl({folder!r} + "/heldout.jsonl"),
    reward=wanted,
    algorithm=ES(population=8, prompts=4, sigma=2**-6, learning_rate=2**-5),
    sampling=Sampling(max_tokens=6),
    cluster=Local(workers=2, threads=1, device="cpu"),
)
'''

COMPARISON = """
experiment = Comparison(
    name="tiny",
    job=job,
    variants={
        "es": {},
        "grpo": {"algorithm": GRPO(prompts=4, group=4, learning_rate=1e-2, checkpoint_every=1)},
    },
    seeds=(0, 1),
    budget=Budget(tokens=900),
    at=(0, 0.5, 1),
    samples=2,
)
"""


@pytest.fixture(scope="module")
def folder(tiny_model, tmp_path_factory):
    """Holds the tasks; `write(text)` adds a file beside them."""
    place = tmp_path_factory.mktemp("comparison")
    for split, first, count in (("train", 0, 8), ("heldout", 100, 6)):
        lines = [
            {
                "name": f"{split}{i}",
                "prompt": f"say {i}: ",
                "topic": "odd" if i % 2 else "even",
                "difficulty": 1 + i % 3,
                "proof": "eee",
            }
            for i in range(first, first + count)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (place / f"{split}.jsonl").write_text(text)
    return place


@pytest.fixture(scope="module")
def write(folder, tiny_model, tmp_path_factory):
    """Write an experiment's file in a folder of its own; returns its path."""

    def write(text: str = COMPARISON):
        path = tmp_path_factory.mktemp("experiment") / "experiment.py"
        path.write_text(JOB.format(model=str(tiny_model), folder=str(folder)) + text)
        return path

    return write
