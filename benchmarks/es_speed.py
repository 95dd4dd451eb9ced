"""How fast ES writes members and rebuilds weights, against the machine's limit and the usual way.

    python benchmarks/es_speed.py [--iterations 500] [--members 30] [--layers 28]

On a GPU: random bfloat16 weights of the shape of Qwen2.5-1.5B. Without one: 100 iterations of 16
members in float32 at the shape of SmolLM2-135M, less or more by the options. In one run:

- `perturb_s`: one member's weights from the base (full rank); `perturb_ratio`: to the time of
  copying the bytes that this must move (base, Δ, result), on the same device.
- `replay_s`: all the updates of a history, full rank; `replay_ratio`: how many times faster than
  the usual way (for each member and tensor, seed a generator, draw normals, add), which is timed
  on 20 member updates and extrapolated.
- `rank1_replay_s`: the same history at rank 1; `rank1_gaussian8_replay_s`: with 8-bit normals.
- `floor_ratio`: replay to its floor, the Philox calls that it needs (one for 4 elements and 32
  members) at the rate that a kernel reaches which does nothing else.
- `curve`: replay seconds at a tenth, a half and all of the history: linear in its length.

The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import qwen_shape
import torch
from timing import GPU, once

from proofgym.evolution.history import Update
from proofgym.evolution.manifest import Manifest, Tensor
from proofgym.evolution.specification import choose
from proofgym.evolution.state import State

SAMPLE = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=500 if GPU else 100)
    parser.add_argument("--members", type=int, default=30 if GPU else 16)
    parser.add_argument("--layers", type=int, default=28 if GPU else 30)
    arguments = parser.parse_args()
    listed = qwen_shape.manifest(arguments.layers) if GPU else smollm2(arguments.layers)
    device = "cuda" if GPU else "cpu"
    base = qwen_shape.weights(listed, device)
    size = sum(tensor.size for tensor in listed)
    print(f"{size / 1e9:.3f}e9 weights, {arguments.iterations} x {arguments.members} members")
    entries = history(arguments.iterations, arguments.members)
    full = make(listed, base, "rademacher", None, arguments.members)
    result: dict[str, Any] = perturbing(full, base)
    result |= replaying(full, entries)
    reference_s = reference(base) / SAMPLE * arguments.iterations * arguments.members
    result["replay_ratio"] = round(reference_s / result["replay_s"], 1)
    result["reference_s"] = round(reference_s, 1)
    if GPU:
        floor_s = philox_floor(size, arguments.iterations)
        result["floor_s"] = round(floor_s, 3)
        result["floor_ratio"] = round(result["replay_s"] / floor_s, 2)
    del full
    for kind, name in (("rademacher", "rank1"), ("gaussian8", "rank1_gaussian8")):
        low = make(listed, base, kind, 1, arguments.members)
        result |= {f"{name}_{what}": value for what, value in low_rank(low, base, entries).items()}
    result["device"] = torch.cuda.get_device_name() if GPU else "cpu"
    for name, value in result.items():
        print(f"{name:26s} {value}")
    print(json.dumps(result))


def smollm2(layers: int) -> Manifest:
    """134.5 M float32 weights at 30 layers."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (49152, 576)}
    for number in range(layers):
        name = f"model.layers.{number}."
        for part, shape in {
            "self_attn.q_proj": (576, 576),
            "self_attn.k_proj": (192, 576),
            "self_attn.v_proj": (192, 576),
            "self_attn.o_proj": (576, 576),
            "mlp.gate_proj": (1536, 576),
            "mlp.up_proj": (1536, 576),
            "mlp.down_proj": (576, 1536),
        }.items():
            shapes[f"{name}{part}.weight"] = shape
        shapes[f"{name}input_layernorm.weight"] = (576,)
        shapes[f"{name}post_attention_layernorm.weight"] = (576,)
    shapes["model.norm.weight"] = (576,)
    return Manifest(tuple(Tensor(name, shape, "float32", True) for name, shape in shapes.items()))


def make(listed: Manifest, base: Any, kind: Any, rank: int | None, members: int) -> State:
    chosen = choose(
        seed=1,
        kind=kind,
        rank=rank,
        antithetic=False,
        population=members,
        sigma=1e-3,
        learning_rate=5e-4,
    )
    if GPU:
        from proofgym.evolution.device import DeviceState

        return DeviceState(listed, chosen, base)
    return State(listed, chosen, base)


def history(iterations: int, members: int) -> list[Update]:
    random = np.random.default_rng(0)
    return [
        Update(
            t, tuple(np.rint(4096 * random.standard_normal(members)).astype(int).tolist()), members
        )
        for t in range(iterations)
    ]


def perturbing(state: State, into: Any) -> dict[str, float]:
    state.write_member(1, 0, into)
    member_s = seconds(lambda: state.write_member(3, 0, into))
    size = sum(tensor.size for tensor in state.manifest)
    width = next(iter(into.values())).element_size()
    # A copy of n bytes moves 2n; a member moves base, Δ (4) and the result for each weight.
    source = torch.empty(size * (2 * width + 4) // 2, dtype=torch.uint8, device=device_of(into))
    target = torch.empty_like(source)
    copy_s = seconds(lambda: target.copy_(source))
    return {
        "perturb_s": round(member_s, 5),
        "copy_s": round(copy_s, 5),
        "perturb_ratio": round(member_s / copy_s, 2),
    }


def replaying(state: State, entries: list[Update]) -> dict[str, Any]:
    once(lambda: state.apply(entries[0]))  # compiles
    rest = entries[1:]
    curve, done = {}, 0
    for stop in (len(rest) // 10, len(rest) // 2, len(rest)):
        curve[stop] = round(once(lambda a=done, b=stop: state.apply(*rest[a:b])), 4)
        done = stop
    parts = list(curve.values())
    total = dict(zip(curve, np.cumsum(parts).round(4).tolist(), strict=True))
    return {"replay_s": round(sum(parts), 3), "curve": total}


def low_rank(state: State, into: Any, entries: list[Update]) -> dict[str, float]:
    member_s = seconds(lambda: state.write_member(3, 0, into))
    once(lambda: state.apply(entries[0]))  # compiles
    replay_s = once(lambda: state.apply(*entries[1:]))
    return {"perturb_s": round(member_s, 5), "replay_s": round(replay_s, 3)}


def reference(base: Any) -> float:
    """The usual way: SAMPLE member updates."""
    tensors = list(base.values())

    def update(seed: int) -> None:
        for tensor in tensors:
            generator = torch.Generator(tensor.device).manual_seed(seed)
            noise = torch.randn(
                tensor.shape, dtype=tensor.dtype, device=tensor.device, generator=generator
            )
            tensor.add_(noise, alpha=1e-6)

    update(0)
    return once(lambda: [update(seed) for seed in range(SAMPLE)])


def philox_floor(size: int, iterations: int) -> float:
    """Seconds of the Philox calls that a replay cannot do without, and nothing else."""
    from proofgym.evolution import triton_kernels

    out = torch.zeros(1, dtype=torch.uint32, device="cuda")
    groups, count = 512, 1 << 14
    rounds = 64

    def run() -> None:
        triton_kernels.draw_only[(count,)](out, rounds, GROUPS=groups)

    run()
    calls = groups * count * rounds
    return seconds(run) / calls * (size / 4 * iterations)


def device_of(tensors: Any) -> torch.device:
    device: torch.device = next(iter(tensors.values())).device
    return device


def seconds(work: Callable[[], Any], repeats: int = 9) -> float:
    once(work)
    return statistics.median(once(work) for _ in range(repeats))


if __name__ == "__main__":
    main()
