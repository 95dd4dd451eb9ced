"""What a line of a rollout gives back: above all the metrics of its iteration."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from proofgym.loop import iteration_metrics
from proofgym.rollout_lines import from_line, to_line
from proofgym.types import Completion, Request, Rollout, Status, Task, Verdict

scores = st.none() | st.floats(-10, 10)
attempts = st.lists(st.tuples(st.floats(0, 1e4), scores, scores), min_size=1, max_size=30)


@settings(max_examples=200, deadline=None)
@given(attempts)
def test_metrics_made_again_from_lines_are_the_same(attempts):
    """After a crash an iteration's metrics come from its lines: no rounding may show."""
    rollouts = [
        rollout(number, seconds, reward, part)
        for number, (seconds, reward, part) in enumerate(attempts)
    ]
    lines = [json.loads(json.dumps(to_line(item))) for item in rollouts]
    tasks = [item.task for item in rollouts]
    assert iteration_metrics([from_line(line, tasks) for line in lines]) == iteration_metrics(
        rollouts
    )


def rollout(number, seconds, reward, part):
    status = Status.INFRASTRUCTURE if reward is None else Status.PASSED
    detail = {} if part is None else {"components": {"part": part}}
    if reward is None:
        detail["fault"] = "raised"
    return Rollout(
        iteration=3,
        task=Task(f"t{number % 3}", "prompt"),
        request=Request((3, number % 3, number), "prompt", 0),
        turns=(Completion((), (1, 2), (-0.5, -0.25), "text", "stop"),),
        verdict=Verdict(status, reward, "message", seconds, detail),
    )
