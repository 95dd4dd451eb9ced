"""The kernel that attends to a cache, in Triton's interpreter or on a GPU."""

from __future__ import annotations

import pytest
import torch
from tiny_models import FAMILIES, loaded

from proofgym.engines import decoder, transformers
from proofgym.engines.decode_attention import attend_new
from proofgym.types import Request, Sampling

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
TOLERANCE = {torch.float32: 1e-6, torch.float16: 2e-3}
if GPU:  # the interpreter's products do not know it
    TOLERANCE[torch.bfloat16] = 1e-2
WANTED = [Request((index,), ("theorem a", "p ∧ q", "h")[index % 3]) for index in range(6)]


def made(rows, heads, queries, width, length, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.randn(*shape, generator=generator).to(dtype).to(DEVICE)

    # As in use: views of larger blocks, and heads that lie side by side in a projection.
    query = random(rows, 1, heads * queries, width).transpose(1, 2)
    key, value = (random(rows, 1, heads, width).transpose(1, 2)[:, :, 0] for _ in range(2))
    keys, values = (random(rows + 3, heads, length + 5, width)[:rows] for _ in range(2))
    return query.reshape(rows, heads, queries, width), key, value, keys, values


def reference(query, key, value, keys, values, positions, scaling):
    keys, values = keys.float().clone(), values.float().clone()
    for row, position in enumerate(positions.tolist()):
        keys[row, :, position], values[row, :, position] = key[row].float(), value[row].float()
    scores = query.float() @ keys.transpose(-1, -2) * scaling
    unseen = torch.arange(keys.shape[2], device=keys.device) > positions[:, None]
    weights = scores.masked_fill(unseen[:, None, None], float("-inf")).softmax(-1)
    return weights @ values


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("rows", "heads", "queries", "width"),
    [(5, 3, 3, 64), (3, 2, 6, 128), (4, 2, 1, 16), (2, 1, 20, 24)],
)
def test_it_attends_to_what_the_row_has_written(rows, heads, queries, width, dtype):
    length = 150
    query, key, value, keys, values = made(rows, heads, queries, width, length, dtype)
    positions = torch.tensor([0, 149, 63, 64, 1], device=DEVICE)[:rows]
    before = keys.clone(), values.clone()
    keys[:, :, 150:] = values[:, :, 150:] = float("nan")  # never read
    found = attend_new(query, key, value, keys, values, positions, width**-0.5)
    wanted = reference(query, key, value, *before, positions, width**-0.5)
    size = wanted.abs().max()
    assert (found.float() - wanted).abs().max() <= TOLERANCE[dtype] * size
    slots = torch.arange(rows, device=DEVICE)
    assert torch.equal(keys[slots, :, positions], key)
    assert torch.equal(values[slots, :, positions], value)
    for cache, kept in zip((keys, values), before, strict=True):
        cache[slots, :, positions] = kept[slots, :, positions]
        assert torch.equal(cache[:, :, :150], kept[:, :, :150])


def test_a_row_does_not_depend_on_the_others():
    query, key, value, keys, values = made(6, 2, 3, 64, 90, torch.float32)
    positions = torch.tensor([3, 80, 64, 0, 12, 33], device=DEVICE)
    together = attend_new(query, key, value, keys, values, positions, 0.1)
    for row in range(6):
        one = slice(row, row + 1)
        alone = attend_new(
            query[one], key[one], value[one], keys[one], values[one], positions[one], 0.1
        )
        assert torch.equal(alone, together[one])


def completions(family):
    engine = transformers.TransformersEngine(loaded(family), max_batch=8)
    return dict(engine.generate(WANTED, Sampling(max_tokens=5)))


@pytest.mark.parametrize("family", FAMILIES)
def test_an_engine_says_the_same_with_it(family, pipelined, monkeypatch):
    if GPU or not pipelined:
        return
    masked = completions(family)
    monkeypatch.setattr(decoder, "BY_KERNEL", {"cpu"})
    for request, completion in completions(family).items():
        assert completion.token_ids == masked[request].token_ids
        assert completion.logprobs == pytest.approx(masked[request].logprobs, abs=1e-4)


def test_what_the_kernel_cannot_do_is_refused():
    query, key, value, keys, values = made(3, 2, 4, 16, 20, torch.float32)
    positions = torch.tensor([1, 2, 3], device=DEVICE)

    def attend(**changed):
        given = {"query": query, "key": key, "value": value, "keys": keys, "values": values}
        return attend_new(**{**given, "positions": positions, "scaling": 1.0, **changed})

    attend()
    across = keys.transpose(-1, -2).contiguous().transpose(-1, -2)
    for changed in (
        {"keys": across},
        {"positions": torch.arange(6, device=DEVICE)[::2]},
        {"value": value[..., :8]},
        {"key": key[:2]},
        {"values": values[:, :, :10]},
    ):
        with pytest.raises(ValueError, match=r"cache|value|piece"):
            attend(**changed)
    if not GPU:
        with pytest.raises(ValueError, match="bfloat16"):
            attend(query=query.bfloat16())
