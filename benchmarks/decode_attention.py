"""How fast a decoding step's attention is on a GPU: the kernel against the library's attention.

    python benchmarks/decode_attention.py [--rows 4096] [--length 128]

For the heads of SmolLM2-135M and of Qwen2.5-1.5B, bfloat16, rows whose positions are spread evenly
over the cache, which no cache of the GPU holds:

- `kernel`: one launch stores the new keys and values and attends to what each row has written;
- `library`: `index_put` of both, and `scaled_dot_product_attention` with a mask over all positions;
- `floor`: copying as many bytes as the rows have written, keys and values.

Each is the median of CUDA graphs of many launches. The results are compared first. The last line is
JSON: for each shape `kernel_us`, `vs_library` and `vs_floor` (the kernel's time over the floor's).
Without a GPU nothing is measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import torch
from timing import GPU
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from proofgym.engines.decode_attention import attend_new

SHAPES = {"smollm2-135m": (3, 3, 64), "qwen2.5-1.5b": (2, 6, 128)}
"""Key heads, queries of each, width."""
LAUNCHES = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--length", type=int, default=128)
    chosen = parser.parse_args()
    if not GPU:
        print("nothing measured: this needs a CUDA device")
        print(json.dumps({"device": None}))
        return
    figures = {}
    for name, shape in SHAPES.items():
        figures[name] = measure(*shape, chosen.rows, chosen.length)
        print(f"{name:14s} {figures[name]}")
    print(json.dumps(figures | {"device": torch.cuda.get_device_name()}))


def measure(heads: int, queries: int, width: int, rows: int, length: int) -> dict[str, float]:
    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    query, key, value = random(rows, heads, queries, width), *(random(rows, heads, width),) * 2
    keys, values = random(rows, heads, length, width), random(rows, heads, length, width)
    positions = torch.arange(rows, device="cuda") * (length - 1) // max(1, rows - 1)
    unseen = torch.arange(length, device="cuda") > positions[:, None]
    mask = torch.zeros_like(unseen, dtype=torch.bfloat16).masked_fill_(unseen, float("-inf"))
    slots, scaling = torch.arange(rows, device="cuda"), width**-0.5

    def kernel() -> Tensor:
        return attend_new(query, key, value, keys, values, positions, scaling)

    def library() -> Tensor:
        keys[slots, :, positions], values[slots, :, positions] = key, value
        return scaled_dot_product_attention(
            query, keys, values, attn_mask=mask[:, None, None], scale=scaling
        )

    gap = (kernel().float() - library().float()).abs().max()
    if gap > 0.02:
        raise SystemExit(f"the two differ by {gap}")
    written = int((positions + 1).sum()) * heads * width
    source = random(2 * written)
    target = torch.empty_like(source)
    own, others, copy = (timed(it) for it in (kernel, library, lambda: target.copy_(source)))
    floor = copy / 2  # a copy writes as much as it reads
    return {
        "kernel_us": round(1e6 * own, 2),
        "vs_library": round(others / own, 2),
        "vs_floor": round(own / floor, 2),
    }


def timed(work: Callable[[], Any]) -> float:
    """Seconds of one launch."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            work()
    seconds = []
    for _ in range(20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) / 1000 / LAUNCHES)
    return sorted(seconds)[len(seconds) // 2]


if __name__ == "__main__":
    main()
