"""How fast GRPO generates and trains, against TRL's GRPOTrainer on the same prompts and model.

    python benchmarks/grpo_speed.py [--prompts 4] [--group 8] [--tokens 16] [--steps 2] [--lora]

The prompts are theorems of lean_core. In one run, with the same weights and dtype:

- generate: every prompt `group` times, `tokens` new tokens each, no end token, by our engine and by
  TRL's own generation (`transformers.generate`);
- train: one optimiser step (AdamW, all weights or a rank-16 LoRA) on identical completions, whose
  lengths are those of the reference proofs; TRL takes the whole batch in one pass, without gradient
  checkpointing, in its real training loop.

Weights are float32 on a CPU and bfloat16 on a GPU; ours train with float32 master weights, TRL as
it does by itself with `bf16`. `vs_trl` is TRL's time for both over ours; `tokens_per_s` counts
completion tokens. --qwen: random weights of Qwen2.5-1.5B's shape. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from typing import Any

import proofgym  # noqa: F401  says how torch's threads wait, so it must come before torch

# isort: split
import torch
from timing import GPU, once

from proofgym.algorithms.grpo import GRPO
from proofgym.algorithms.losses import PolicyLoss
from proofgym.clusters.local import Local
from proofgym.engines.transformers import TransformersEngine
from proofgym.job import Model
from proofgym.tasks import lean_core
from proofgym.trainer.options import LoRA
from proofgym.trainer.sample import Sample
from proofgym.trainer.trainer import Trainer
from proofgym.types import Request, Sampling


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=32 if GPU else 4)
    parser.add_argument("--group", type=int, default=16 if GPU else 8)
    parser.add_argument("--tokens", type=int, default=64 if GPU else 16)
    parser.add_argument("--steps", type=int, default=5 if GPU else 2)
    parser.add_argument("--lora", action="store_true", help="Train a LoRA, not all weights.")
    parser.add_argument("--qwen", action="store_true", help="The 1.5B shape, random weights.")
    chosen = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    prompts = choose_prompts(chosen.prompts)
    figures = {"ours": ours(chosen, prompts), "trl": theirs(chosen, prompts)}
    report(figures, chosen)


def load(chosen: argparse.Namespace) -> Any:
    if chosen.qwen:
        from population_decode import make_model

        return make_model()
    return Local().load(Model(name="smollm2-135m", dtype="bfloat16" if GPU else "float32"))


def choose_prompts(count: int) -> list[tuple[str, str]]:
    """Theorems with reference proofs, spread over the split."""
    tasks = lean_core("train")
    proofs = tasks.reference_proofs()
    every = tasks.load()
    return [(task.prompt, proofs[task.name]) for task in every[:: len(every) // count][:count]]


def make_samples(tokenizer: Any, prompts: Sequence[tuple[str, str]], group: int) -> list[Sample]:
    """Completions of the proofs' lengths and a little less, as real groups have them; half good."""
    import numpy as np

    samples = []
    for prompt, proof in prompts:
        ids = [*tokenizer.encode(proof, add_special_tokens=False), tokenizer.eos_token_id]
        for number in range(group):
            kept = tuple(ids[: max(1, len(ids) - number % 3)])
            sample = Sample(tuple(tokenizer.encode(prompt)), kept, np.ones(len(kept), bool))
            sample.fill("advantage", 1.0 if number % 2 else -1.0)
            samples.append(sample)
    total = sum(sample.count for sample in samples)
    for sample in samples:
        sample.fill("weight", 1 / total)
        sample.fill("share", 1 / total)
    return samples


def ours(chosen: argparse.Namespace, prompts: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Seconds to generate and to train, and the tokens of each."""
    loaded = load(chosen)
    rows = len(prompts) * chosen.group
    engine = TransformersEngine(loaded, max_batch=rows)
    engine._ends = frozenset()  # all ways produce the same number of tokens
    requests = [
        Request((0, place, sample), prompt)
        for place, (prompt, _) in enumerate(prompts)
        for sample in range(chosen.group)
    ]
    sampling = Sampling(max_tokens=chosen.tokens)
    generate = best("generate", lambda: list(engine.generate(requests, sampling)), chosen.steps)
    samples = make_samples(loaded.tokenizer, prompts, chosen.group)
    options = GRPO(learning_rate=1e-6, lora=LoRA(rank=16) if chosen.lora else None)
    trainer = Trainer(loaded.model, options)

    def step() -> None:
        trainer.step(samples, PolicyLoss())
        trainer.publish()

    train = best("train", step, chosen.steps)
    return {
        "generate_s": generate,
        "train_s": train,
        "generated": rows * chosen.tokens,
        "trained": sum(sample.count for sample in samples),
    }


def theirs(chosen: argparse.Namespace, prompts: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The same of TRL."""
    import datasets
    import trl
    from transformers import TrainerCallback

    loaded = load(chosen)
    model, tokenizer = loaded.model.requires_grad_(True), loaded.tokenizer
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    samples = make_samples(tokenizer, prompts, chosen.group)
    waiting: dict[str, list[Sample]] = {}

    def rollout(texts: Sequence[str], trainer: Any) -> dict[str, Any]:
        if not any(waiting.values()):
            for place, (text, _) in enumerate(prompts):
                waiting[text] = samples[place * chosen.group :][: chosen.group]
        mine = [waiting[text].pop() for text in texts]
        return {
            "prompt_ids": [list(it.prompt_ids) for it in mine],
            "completion_ids": [list(it.token_ids) for it in mine],
            "logprobs": [[0.0] * it.count for it in mine],
        }

    seconds: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.began = now()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            seconds.append(now() - self.began)

    peft = None
    if chosen.lora:
        from peft import LoraConfig

        peft = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")
    with tempfile.TemporaryDirectory() as scratch:
        config = trl.GRPOConfig(
            output_dir=scratch,
            per_device_train_batch_size=len(samples),
            num_generations=chosen.group,
            max_completion_length=chosen.tokens,
            max_steps=chosen.steps + 1,
            learning_rate=1e-6,
            use_cpu=not GPU,
            bf16=GPU,
            gradient_checkpointing=False,
            report_to="none",
            disable_tqdm=True,
            save_strategy="no",
            logging_strategy="no",
        )
        trainer = trl.GRPOTrainer(
            model=model,
            args=config,
            reward_funcs=lambda completions, **_: [float(n % 2) for n in range(len(completions))],
            train_dataset=datasets.Dataset.from_list([{"prompt": text} for text, _ in prompts]),
            processing_class=tokenizer,
            peft_config=peft,
            rollout_func=rollout,
            callbacks=[Clock()],
        )
        trainer.generation_config.eos_token_id = None
        texts = [text for text, _ in prompts for _ in range(chosen.group)]
        ids = tokenizer(texts)["input_ids"]
        generate = best(
            "TRL generate",
            lambda: trainer._generate_single_turn(ids, None, {}, chosen.group),
            chosen.steps,
        )
        trainer.train()
    return {
        "generate_s": generate,
        "train_s": min(seconds[1:]),
        "generated": len(samples) * chosen.tokens,
        "trained": sum(sample.count for sample in samples),
    }


def now() -> float:
    if GPU:
        torch.cuda.synchronize()
    return time.perf_counter()


def best(what: str, work: Any, times: int) -> float:
    """Seconds of the fastest run, after one to warm up."""
    found = [once(work) for _ in range(times + 1)]
    print(f"{what}: {', '.join(f'{it:.2f}' for it in found)} s", file=sys.stderr, flush=True)
    return min(found[1:])


def report(figures: dict[str, dict[str, float]], chosen: argparse.Namespace) -> None:
    for name, it in figures.items():
        print(
            f"{name:5} generate {it['generate_s']:7.3f} s "
            f"({it['generated'] / it['generate_s']:8.0f} tokens/s)   train {it['train_s']:7.3f} s "
            f"({it['trained'] / it['train_s']:8.0f} tokens/s)"
        )
    mine, other = figures["ours"], figures["trl"]
    whole = mine["generate_s"] + mine["train_s"]
    print(
        json.dumps(
            {
                "vs_trl": round((other["generate_s"] + other["train_s"]) / whole, 2),
                "vs_trl_train": round(other["train_s"] / mine["train_s"], 2),
                "vs_trl_generate": round(other["generate_s"] / mine["generate_s"], 2),
                "tokens_per_s": round(mine["generated"] / whole),
                "phases": {
                    "generate": round(mine["generate_s"] / whole, 3),
                    "train": round(mine["train_s"] / whole, 3),
                },
                "lora": chosen.lora,
                "device": torch.cuda.get_device_name() if GPU else "cpu",
            }
        )
    )


if __name__ == "__main__":
    main()
