"""How fast the members of a population read what the policy wrote, `ES(objective="likelihood")`.

    python benchmarks/member_likelihoods.py [--members 64] [--prompts 32] [--samples 16]

SmolLM2-135M, prompts of 44 tokens, completions of 16 (the means of `lean_core`), random tokens, all
of them with a weight:

- `factored`: rank 1, all members in the rows of one pass;
- `materialised`: full rank, each member's weights written, then read with;
- `plain`: the same passes over the same rows with the policy's weights for every member: what
  factored members would take if their corrections cost nothing;
- `floor` (on a GPU): the matrix products of the model alone for these tokens, at the rate of one
  large product.

The last line is JSON: `members_per_s` (factored), `tokens_per_s` (tokens that the model reads,
prompts once for all of their completions), `vs_plain`, `materialised_vs_plain`, `vs_floor`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from timing import GPU, once

from proofgym.clusters.local import Local
from proofgym.evolution import manifest, replay, specification, ways
from proofgym.evolution.likelihood import Reader
from proofgym.evolution.state import State, named
from proofgym.job import Model
from proofgym.trainer.rows import lay_out
from proofgym.trainer.sample import Sample

PROMPT, COMPLETION = 44, 16


class Plain:
    """Every member is the policy."""

    uses = 0

    def __init__(self, members: int) -> None:
        self.size = members

    @contextmanager
    def lay(self, iteration: int, members: Any) -> Iterator[None]:
        yield None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=64 if GPU else 4)
    parser.add_argument("--prompts", type=int, default=32 if GPU else 4)
    parser.add_argument("--samples", type=int, default=16 if GPU else 8)
    parser.add_argument("--micro-tokens", type=int, default=32_768)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    dtype = "bfloat16" if GPU else "float32"
    made = Local().load(Model("smollm2-135m", dtype=dtype)).model
    texts = samples(chosen.prompts, chosen.samples, made.config.vocab_size)
    rows = lay_out(texts, made.config.hidden_size)
    tokens = sum(len(row.ids) for row in rows) * chosen.members
    what = f"{chosen.members} members x {len(texts)} completions"
    print(f"{what}: {tokens:,} tokens in {len(rows) * chosen.members} rows")

    reader = Reader(made, chosen.micro_tokens)

    def timed(way: Any) -> float:
        def read() -> np.ndarray:
            return reader.weighted_likelihoods(way, 0, range(chosen.members), texts, 1.0)

        assert len(set(read())) == (1 if isinstance(way, Plain) else chosen.members)
        return median(read, chosen.rounds)

    seconds = {"plain": timed(Plain(chosen.members))}
    for name, rank in (("factored", 1), ("materialised", None)):
        way = ways.make(name, ways.Lent(made, state(made, chosen.members, rank)), None)
        seconds[name] = timed(way)
        way.detach()
    if GPU:
        seconds["floor"] = floor(
            made, tokens, chosen.members * sum(len(row.columns) for row in rows)
        )
    for name, spent in seconds.items():
        print(f"{name:13s} {spent:8.3f} s  {tokens / spent:12,.0f} tokens/s")
    print(
        json.dumps(
            {
                "members_per_s": round(chosen.members / seconds["factored"], 2),
                "tokens_per_s": round(tokens / seconds["factored"]),
                "vs_plain": round(seconds["plain"] / seconds["factored"], 3),
                "materialised_vs_plain": round(seconds["plain"] / seconds["materialised"], 3),
                "vs_floor": round(seconds["floor"] / seconds["factored"], 3) if GPU else None,
                "device": torch.cuda.get_device_name() if GPU else "cpu",
            }
        )
    )


def samples(prompts: int, each: int, vocabulary: int) -> list[Sample]:
    draw = np.random.default_rng(0)
    made = []
    for _ in range(prompts):
        prompt = tuple(draw.integers(0, vocabulary, PROMPT).tolist())
        for _ in range(each):
            told = tuple(draw.integers(0, vocabulary, COMPLETION).tolist())
            made.append(Sample(prompt, told, np.ones(COMPLETION, bool)))
            made[-1].fill("weight", float(draw.normal()))
    return made


def state(made: Any, members: int, rank: int | None) -> State:
    chosen = specification.choose(
        seed=1,
        kind="rademacher",
        rank=rank,
        antithetic=True,
        population=members,
        sigma=2**-8,
        learning_rate=2**-9,
    )
    tensors = manifest.build(made, ("*",), chosen)
    return replay.make_state(tensors, chosen, named(made, tensors))


def floor(made: Any, tokens: int, drawn: int) -> float:
    """Seconds of the products for so many tokens and logits, by the rate of one large product."""
    body = sum(
        it.numel() for name, it in made.named_parameters() if it.dim() == 2 and "layers" in name
    )
    head = made.get_output_embeddings().weight.numel()
    left, right = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        left @ right
    return 2 * (body * tokens + head * drawn) * median(lambda: left @ right, 20) / (2 * 8192**3)


def median(run: Callable[[], Any], rounds: int) -> float:
    return float(np.median([once(run) for _ in range(rounds)]))


if __name__ == "__main__":
    main()
