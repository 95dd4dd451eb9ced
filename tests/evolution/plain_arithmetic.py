"""The arithmetic of docs/noise.md a second time, one element at a time, to check the first."""

import functools

import numpy as np
import torch

from proofgym.evolution import noise, philox
from proofgym.evolution.manifest import Manifest, Tensor
from proofgym.evolution.specification import Specification

SHAPES = {"matrix": (7, 5), "vector": (9,), "kernel": (3, 2, 5), "scalar": (), "row": (1, 6)}


def specification(**changes):
    fields = {
        "seed": 3,
        "kind": "rademacher",
        "rank": None,
        "antithetic": True,
        "population": 8,
        "scale": -24,
        "k": 1234,
    }
    return Specification(**{**fields, **changes})


def manifest(dtype="float32", shapes=SHAPES):
    return Manifest(
        tuple(
            Tensor(name, shape, dtype, True, place % 2)
            for place, (name, shape) in enumerate(shapes.items())
        )
    )


def base(listed, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {
        tensor.name: (0.1 * torch.randn(tensor.shape, generator=generator)).to(
            getattr(torch, tensor.dtype)
        )
        for tensor in listed
    }


def word(seed, purpose, name, iteration, block, element):
    """The random word of one element, from one counter."""
    group = element // 4
    counter = [group & 0xFFFFFFFF, group >> 32, iteration, block]
    words = philox.philox(np.array(counter, np.uint32)[:, None], philox.key(seed, purpose, name))
    return int(words[element % 4, 0])


@functools.cache
def sign(seed, purpose, name, iteration, index, element):
    return 1 - 2 * (word(seed, purpose, name, iteration, index // 32, element) >> (index % 32) & 1)


@functools.cache
def normal(seed, purpose, name, iteration, index, element):
    drawn = word(seed, purpose, name, iteration, index // 4, element)
    return int(noise.GAUSSIAN8[drawn >> (8 * (index % 4)) & 255])


@functools.cache
def epsilon(chosen, tensor, iteration, member):
    """ε of one member, shape of the tensor, int64."""
    index, sense = noise.direction(member, chosen.antithetic)
    if not chosen.rank:
        key = philox.key(chosen.seed, "noise", tensor.name)
        drawn = noise.draw(chosen.kind, key, iteration, index, 0, tensor.size)
        return sense * drawn.astype(np.int64).reshape(tensor.shape)

    def values(one, purpose, size):
        return np.array(
            [
                [
                    one(chosen.seed, purpose, tensor.name, iteration, index, r * size + j)
                    for j in range(size)
                ]
                for r in range(chosen.rank)
            ]
        )

    rows, columns = tensor.matrix
    kind = {"rademacher": sign, "gaussian8": normal}[chosen.kind]
    if len(tensor.shape) < 2:
        return sense * values(kind, "noise", columns).sum(axis=0).reshape(tensor.shape)
    left, right = values(sign, "left", rows), values(kind, "right", columns)
    return sense * (left.T @ right).reshape(tensor.shape)


def update(chosen, tensor, entry):
    return sum(
        c * epsilon(chosen, tensor, entry.iteration, member)
        for member, c in enumerate(entry.coefficients)
    )


def weight(chosen, tensor, start, delta):
    """round_dtype(f32(W_0) + s·f32(delta)), by torch."""
    moved = torch.from_numpy(np.asarray(delta)).to(torch.float32) * chosen.step
    return (start.float() + moved).to(start.dtype)
