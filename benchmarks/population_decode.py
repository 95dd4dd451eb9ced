"""How fast a whole population decodes, against one model, a loop over members, and `generate`.

    python benchmarks/population_decode.py [--members 32] [--prompts 16] [--tokens 64]

A rank-1 population over all weights of the layers, and no end token, so that all ways produce the
same number of tokens. On a GPU: random bfloat16 weights of Qwen2.5-1.5B's
shape; without one: SmolLM2-135M's shape in float32. In one run, tokens a second of

- the population: members x prompts rows in one batch, each with its member's correction;
- `plain`: the same engine and batch without a population (`vs_plain` is the population's share);
- `loop`: member by member, its weights written first (`vs_loop` times faster; from 4 members);
- `transformers`: `generate` of the same batch (`vs_transformers` times faster).

The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from timing import GPU, once

from proofgym.algorithms.es import ES
from proofgym.engines.transformers import TransformersEngine
from proofgym.evolution.state import named
from proofgym.models import LoadedModel, load_model, weights_digest
from proofgym.types import Request, Sampling, Task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--prompts", type=int, default=16 if GPU else 8)
    parser.add_argument("--tokens", type=int, default=64 if GPU else 16)
    chosen = parser.parse_args()
    loaded = make_model()
    engine = TransformersEngine(loaded, max_batch=chosen.members * chosen.prompts)
    sampling = Sampling(max_tokens=chosen.tokens)
    tasks = [Task(f"t{number}", prompt(number)) for number in range(chosen.prompts)]
    algorithm = ES(population=chosen.members, parameters=("*.layers.*.weight", "!*norm*"))
    with tempfile.TemporaryDirectory() as scratch:
        run = algorithm.build(loaded.model, seed=0, directory=Path(scratch), base_digest="none")
        (batch,) = run.batches(tasks)
        total = len(batch.requests) * chosen.tokens
        run._factored.prepare(0)

        def population() -> None:
            with run._factored:
                drain(engine, batch.requests, sampling, run._factored)

        rates = {"population": total / seconds(population)}
        # Every row on its own, as the members' are: equal prompts would share nothing else.
        alone = [Request((*it.key, it.member), it.prompt) for it in batch.requests]
        rates["plain"] = total / seconds(lambda: drain(engine, alone, sampling, None))
        tensors = named(loaded.model, run.state.manifest)
        loop_s = seconds(lambda: loop(engine, run, tensors, batch.requests, sampling), repeats=1)
        rates["loop"] = total / (loop_s * chosen.members / LOOPED)
        rates["transformers"] = total / seconds(lambda: generate(loaded, alone, chosen.tokens))
        run.close()
    for name, rate in rates.items():
        print(f"{name:14s}{rate:12.0f} tokens/s")
    result: dict[str, Any] = {"tokens_per_s": round(rates["population"])}
    result |= {
        f"vs_{name}": round(rates["population"] / rates[name], 2)
        for name in ("loop", "plain", "transformers")
    }
    result["device"] = torch.cuda.get_device_name() if GPU else "cpu"
    print(json.dumps(result))


LOOPED = 4


def make_model() -> LoadedModel:
    """Random weights: only shapes matter here. No token ends a completion."""
    sizes = (
        {
            "hidden_size": 1536,
            "intermediate_size": 8960,
            "num_hidden_layers": 28,
            "vocab_size": 151936,
        }
        if GPU
        else {
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "vocab_size": 49152,
        }
    )
    heads = (12, 2) if GPU else (9, 3)
    config = transformers.Qwen2Config(
        **sizes,
        num_attention_heads=heads[0],
        num_key_value_heads=heads[1],
        tie_word_embeddings=True,
        eos_token_id=None,
        bos_token_id=None,
    )
    torch.manual_seed(0)
    with torch.device("cuda" if GPU else "cpu"):
        model = transformers.Qwen2ForCausalLM(config)
    model = model.to(torch.bfloat16 if GPU else torch.float32).eval().requires_grad_(False)
    tokenizer = load_model("lean-tiny").tokenizer
    digest = weights_digest(model)
    return LoadedModel(model, tokenizer, digest, digest, "random weights")


def prompt(number: int) -> str:
    return f"theorem t{number} (p q : Prop) (h : p ∧ q) : q ∧ p := by\n  exact"


def drain(engine: TransformersEngine, requests: Any, sampling: Sampling, population: Any) -> None:
    count = sum(len(it.token_ids) for _, it in engine.generate(requests, sampling, population))
    if count != len(requests) * sampling.max_tokens:
        raise SystemExit(f"{count} tokens came out: something ended early")


def loop(engine: Any, run: Any, tensors: Any, requests: Any, sampling: Sampling) -> None:
    for member in range(LOOPED):
        run.state.write_member(member, 0, tensors)
        drain(engine, [it for it in requests if it.member == member], sampling, None)
    run.state.write_current(tensors)


@torch.no_grad()
def generate(loaded: LoadedModel, requests: Any, tokens: int) -> None:
    ids = [loaded.tokenizer(it.prompt).input_ids for it in requests]
    width = max(map(len, ids))
    device = loaded.model.device
    padded = torch.tensor([[0] * (width - len(row)) + row for row in ids], device=device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids], device=device)
    loaded.model.generate(
        padded,
        attention_mask=mask,
        max_new_tokens=tokens,
        min_new_tokens=tokens,
        do_sample=True,
        pad_token_id=0,
    )


def seconds(work: Callable[[], Any], repeats: int = 2) -> float:
    """The fastest of `repeats`, after one to warm up."""
    once(work)
    return min(once(work) for _ in range(repeats))


if __name__ == "__main__":
    main()
