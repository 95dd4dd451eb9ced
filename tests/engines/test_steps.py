"""Decoding steps are compiled once, whatever the sizes of later ones."""

from __future__ import annotations

import pytest
import torch
from tiny_models import build_model

from proofgym.engines import decoder as decoder_module
from proofgym.engines.cache import RowCache
from proofgym.engines.decoder import Decoder, _step_layer, draw
from proofgym.engines.steps import Steps
from proofgym.types import Sampling


@pytest.fixture
def decoder() -> Decoder:
    """Its heads are as long as the shortest span that graphs are made for."""
    return Decoder(build_model(head_dim=64).half())


@pytest.mark.parametrize("by_kernel", [False, True])
def test_no_size_is_compiled_twice(
    decoder: Decoder, by_kernel: bool, pipelined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pipelined:
        return
    sizes = [(8, 64), (128, 128), (96, 192), (128, 256)]
    if by_kernel:
        monkeypatch.setattr(decoder_module, "BY_KERNEL", {"cpu"})
        sizes = [(8, 64), (24, 128)]  # as an interpreter has time for
    torch._dynamo.reset()
    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    decoder.step_layer = torch.compile(_step_layer, dynamic=True, backend=backend)
    decoder.draw = torch.compile(draw, dynamic=True, backend=backend)
    prompt = torch.zeros(1, 2, 5, 64, dtype=torch.float16)
    for rows, length in sizes:
        cache = RowCache(rows, length, len(decoder.layers))
        for layer in range(len(decoder.layers)):
            cache.fill(layer, 0, prompt, prompt)
        steps = Steps(decoder, cache, Sampling(), None)
        for count in (rows, rows // 2, 8):
            for span in range(64, length + 1, 64):
                steps._warm(count, span)
    assert len(compiled) == 2  # a layer, and the draw


def test_a_first_step_leaves_the_rows_as_they_are(decoder: Decoder) -> None:
    cache = RowCache(8, 64, len(decoder.layers))
    prompts = torch.randn(8, 2, 60, 64).half()
    for layer in range(len(decoder.layers)):
        cache.fill(layer, 0, prompts, prompts)
    steps = Steps(decoder, cache, Sampling(), None)
    steps.place(0, [1, 2, 3], [60, 40, 63], [0, 0, 0])
    before = [cache.view(layer, 3, 64)[0].clone() for layer in range(len(decoder.layers))]
    steps._warm(8, 64)
    assert steps._newest_R[:3].tolist() == [1, 2, 3]
    assert steps._positions_R[:3].tolist() == [60, 40, 63]
    for layer, keys in enumerate(before):
        for row, position in enumerate((60, 40, 63)):
            after = cache.view(layer, 3, 64)[0][row, :, :position]
            assert torch.equal(after, keys[row, :, :position])


def test_rows_move_with_all_layers(decoder: Decoder) -> None:
    for heads in ((2, 2), (2, 3)):  # layers of one shape, and of two
        cache = RowCache(6, 32, 2)
        for layer, count in enumerate(heads):
            keys = torch.randn(6, count, 9, 4)
            cache.fill(layer, 0, keys, keys + 1)
        before = [[it.clone() for it in cache.view(layer, 6, 9)] for layer in range(2)]
        cache.move([4, 5, 4], [0, 2, 3], 7)
        for layer in range(2):
            for old, new in zip(before[layer], cache.view(layer, 6, 9), strict=True):
                assert torch.equal(new[[0, 2, 3], :, :7], old[[4, 5, 4], :, :7])
                assert torch.equal(new[[0, 2, 3], :, 7:], old[[0, 2, 3], :, 7:])
                assert torch.equal(new[[1, 4, 5]], old[[1, 4, 5]])
