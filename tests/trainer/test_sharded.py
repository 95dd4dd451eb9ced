"""Two processes train as one does: the same gradients, weights, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_models
import torch
from test_rows import sample

from proofgym.algorithms.losses import PolicyLoss
from proofgym.trainer.options import LoRA, TrainerOptions
from proofgym.trainer.sharded import ShardedTrainer
from proofgym.trainer.trainer import Trainer

LOSS = PolicyLoss(kl=0.1)


def samples(reference=None):
    draw = np.random.default_rng(1)
    found = [
        sample(prompt, [(int(it), bool(it % 3)) for it in draw.integers(1, 300, 6)])
        for prompt in ((5, 6, 7, 8), (9,), (11, 12))
        for _ in range(3)
    ]
    for place, item in enumerate(found):
        item.fill("advantage", (-1) ** place)
        item.fill("weight", 1 / 30)
        item.fill("share", 1 / 30)
        if reference:
            item.values["reference"] = reference[place]
    return found


def run(kind, options, **more):
    """Three steps, a checkpoint, two steps more, back to the checkpoint, one step again."""
    model = tiny_models.build_model()
    trainer = kind(model, options, reference=True, **more)
    reference = trainer.logprobs(samples(), reference=True)
    reports = [trainer.step(samples(reference), LOSS) for _ in range(3)]
    state = {name: value.clone() for name, value in trainer.state().items()}
    reports += [trainer.step(samples(reference), LOSS) for _ in range(2)]
    trainer.load(state, 3)
    reports.append(trainer.step(samples(reference), LOSS))
    assert reports[-1] == pytest.approx(reports[3], rel=1e-4, abs=1e-6)
    trainer.publish()
    scored = trainer.logprobs(samples())
    trainer.close()
    return reports, model.state_dict(), scored


@pytest.mark.parametrize("lora", [None, LoRA(rank=4)], ids=["full", "lora"])
def test_two_ranks_do_what_one_does(lora):
    options = TrainerOptions(lora=lora, learning_rate=1e-3, micro_tokens=20)
    alone, weights, scores = run(Trainer, options)
    reports, shared, scored = run(ShardedTrainer, options, ranks=2)
    for mine, theirs in zip(reports, alone, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-4, abs=1e-6)
    for name, weight in weights.items():
        assert torch.allclose(shared[name], weight, atol=2e-5), name
    for ours, wanted in zip(scored, scores, strict=True):
        assert ours == pytest.approx(wanted, abs=1e-3)
