"""Loss and gradients equal TRL's GRPOTrainer on identical batches, for each variant TRL has."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_models
import torch

from proofgym.algorithms.grpo import GRPO
from proofgym.algorithms.grpo_run import GRPORun
from proofgym.trainer.checkpoints import Checkpoints
from proofgym.trainer.trainer import Trainer
from proofgym.types import Completion, Request, Rollout, Sampling, Status, Task, Verdict

trl = pytest.importorskip("trl")
datasets = pytest.importorskip("datasets")

MOST, GROUP = 12, 4
PROMPTS = ((5, 9, 40), (17, 3, 200, 31, 8), (2,))
#: What both are told, as (our fields, TRL's fields).
VARIANTS = {
    "grpo": ({"aggregation": "sequence_mean"}, {"loss_type": "grpo"}),
    "dapo": ({"clip_high": 0.28}, {"loss_type": "dapo", "epsilon_high": 0.28}),
    "bnpo": ({}, {"loss_type": "bnpo"}),
    "dr_grpo": (
        {"aggregation": "constant", "advantage": "dr_grpo"},
        {"loss_type": "dr_grpo", "scale_rewards": "none"},
    ),
    "batch_scaled": (
        {"advantage": "batch_scaled"},
        {"loss_type": "dapo", "scale_rewards": "batch"},
    ),
    "gspo": (
        {"aggregation": "sequence_mean", "ratio": "sequence", "clip_low": 0.01, "clip_high": 0.02},
        {
            "loss_type": "grpo",
            "importance_sampling_level": "sequence",
            "epsilon": 0.01,
            "epsilon_high": 0.02,
        },
    ),
    "cispo": (
        {"objective": "cispo", "clip_high": 0.3},
        {"loss_type": "cispo", "epsilon_high": 1.3},
    ),
    "dual_clip": ({"clip_dual": 1.5}, {"loss_type": "dapo", "delta": 1.5}),
    "kl": ({"kl": 0.3}, {"loss_type": "dapo", "use_bias_correction_kl": False}),
    "entropy": ({"entropy": 0.2}, {"loss_type": "dapo", "entropy_coef": 0.2}),
    "overlong": (
        {"mask_overlong": True},
        {"loss_type": "dapo", "mask_truncated_completions": True},
    ),
    "temperature": ({}, {"loss_type": "dapo", "temperature": 0.7}),
    "importance": ({"importance_cap": 1.2}, {"loss_type": "dapo"}),
}


def batch(seed: int = 0) -> list[Rollout]:
    """Real shapes: prompts and completions of many lengths, some of them cut off, one zero-variance
    group."""
    draw = np.random.default_rng(seed)
    rollouts = []
    for position, prompt in enumerate(PROMPTS):
        for sample in range(GROUP):
            cut_off = draw.random() < 0.3
            length = MOST if cut_off else int(draw.integers(1, MOST))
            ids = [int(it) for it in draw.integers(1, 300, length - (not cut_off))]
            ids += [] if cut_off else [0]  # the end token
            reward = 1.0 if position == 2 else float(np.round(draw.random(), 2))
            engine = tuple(-draw.random(length) * 6)
            completion = Completion(prompt, tuple(ids), engine, "", "length" if cut_off else "stop")
            rollouts.append(
                Rollout(
                    0,
                    Task(f"t{position}", ""),
                    Request((0, position, sample), ""),
                    (completion,),
                    Verdict(Status.PASSED, reward),
                )
            )
    return rollouts


def theirs(rollouts, fields, tmp_path):
    """TRL's trainer, and the inputs that it makes of the batch."""
    model = tiny_models.build_model().train().requires_grad_(True)
    tokenizer = tiny_models.build_tokenizer()
    tokenizer.pad_token = "<eos>"
    order = iter(rollouts)

    def rollout(prompts, trainer):
        mine = [next(order).turns[0] for _ in prompts]
        return {
            "prompt_ids": [list(turn.prompt_ids) for turn in mine],
            "completion_ids": [list(turn.token_ids) for turn in mine],
            "logprobs": [list(turn.logprobs) for turn in mine],
        }

    config = trl.GRPOConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=len(rollouts),
        num_generations=GROUP,
        max_completion_length=MOST,
        use_cpu=True,
        bf16=False,
        fp16=False,
        gradient_checkpointing=False,
        report_to="none",
        disable_tqdm=True,
        **fields,
    )
    trainer = trl.GRPOTrainer(
        model=model,
        args=config,
        reward_funcs=lambda completions, **_: [item.verdict.reward for item in rollouts],
        train_dataset=datasets.Dataset.from_list([{"prompt": "a"}] * 8),
        processing_class=tokenizer,
        rollout_func=rollout,
    )
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    inputs = trainer._generate_and_score_completions([{"prompt": "a"} for _ in rollouts])
    return trainer, inputs


def ours(fields, sampling, model, tmp_path):
    config = GRPO(prompts=3, group=GROUP, **{"importance_cap": None, **fields})
    trainer = Trainer(
        model,
        config,
        temperature=sampling.temperature,
        reference=config.kl > 0,
        entropy=config.entropy > 0,
    )
    origin = {"control": None, "seed": 0}
    return GRPORun(config, trainer, Checkpoints(tmp_path / "c", 1, 0), sampling, origin)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("name", VARIANTS)
def test_loss_and_gradients_are_those_of_trl(name, share, tmp_path):
    mine, their = VARIANTS[name]
    rollouts = batch()
    trainer, inputs = theirs(rollouts, their, tmp_path)
    model = tiny_models.build_model()
    sampling = Sampling(max_tokens=MOST, temperature=their.get("temperature", 1.0))
    run = ours(mine | {"share_prompts": share}, sampling, model, tmp_path)

    attempts, _ = run._scored(rollouts)
    prepared = run._prepare(attempts)
    samples = run._weighted(prepared)
    draw = np.random.default_rng(1)
    with torch.no_grad():
        size = inputs["completion_ids"].shape
        current, _, _ = trainer._get_per_token_logps_and_entropies(
            trainer.model,
            torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
            torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
            size[1],
        )
    old = current + torch.from_numpy(draw.normal(0, 0.3, size)).float()
    inputs["old_per_token_logps"] = old
    if "kl" in mine:
        trainer.beta = mine["kl"]  # told at the start, it would look for the model on a hub
        inputs["ref_per_token_logps"] = (
            current + torch.from_numpy(draw.normal(0, 0.3, size)).float()
        )
    if name == "importance":
        trainer.use_vllm = trainer.vllm_importance_sampling_correction = True
        ratio = (old - inputs["sampling_per_token_logps"]).exp().clamp(max=1.2)
        inputs["importance_sampling_ratio"] = ratio
    for row, parts in enumerate(prepared):
        for sample in parts:
            sample.values["old"] = old[row, : sample.count].numpy()
            if "kl" in mine:
                sample.values["reference"] = inputs["ref_per_token_logps"][
                    row, : sample.count
                ].numpy()

    expected = trainer._compute_loss(trainer.model, inputs)
    expected.backward()
    value = 0.0
    for rows, _ in run.trainer._batches(samples):
        part, _ = run._loss(run.trainer._tokens(run.trainer.policy.scorer, rows, samples))
        part.backward()
        value += float(part.detach())

    assert value == pytest.approx(float(expected.detach()), rel=1e-5, abs=1e-7)
    twin = dict(trainer.model.named_parameters())
    for tensor, parameter in run.trainer.policy.trained.items():
        wanted = twin[tensor].grad
        scale = float(wanted.abs().max())
        assert scale > 0
        assert float((parameter.grad - wanted).abs().max()) <= 1e-5 * scale, tensor
    run.trainer.close()


def test_the_advantages_are_those_of_trl(tmp_path):
    rollouts = batch(3)
    for mine, their in (
        ("grpo", "group"),
        ("dr_grpo", "none"),
        ("batch_scaled", "batch"),
    ):
        _, inputs = theirs(rollouts, {"scale_rewards": their}, tmp_path)
        model = tiny_models.build_model()
        run = ours({"advantage": mine}, Sampling(max_tokens=MOST), model, tmp_path)
        attempts, _ = run._scored(rollouts)
        found = [attempt.advantage for attempt in attempts]
        assert found == pytest.approx(inputs["advantages"].tolist(), rel=1e-5, abs=1e-6)
