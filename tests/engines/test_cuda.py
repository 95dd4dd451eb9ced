"""The same engine and fine-tuning on a GPU."""

from __future__ import annotations

import pytest
import torch
from test_feed import converse
from tiny_models import FAMILIES, loaded, save

from proofgym.engines.transformers import TransformersEngine
from proofgym.models import load_model
from proofgym.sft import SFT
from proofgym.types import Request, Sampling

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

WANTED = [Request((index,), ("theorem a", "p ∧ q", "h")[index % 3]) for index in range(40)]


@pytest.mark.parametrize("family", FAMILIES)
def test_float32_samples_are_those_of_the_cpu(family):
    sampling = Sampling(max_tokens=20, stop=("e",))
    here = dict(TransformersEngine(loaded(family)).generate(WANTED, sampling))
    tiny = loaded(family)
    tiny.model.cuda()
    for request, completion in TransformersEngine(tiny, max_batch=16).generate(WANTED, sampling):
        assert completion.token_ids == here[request].token_ids
        assert completion.logprobs == pytest.approx(here[request].logprobs, abs=1e-4)


def test_later_turns_are_those_of_the_cpu():
    first = [Request((index,), ("theorem a", "p ∧ q", "h")[index % 3]) for index in range(40)]
    here, _ = converse(TransformersEngine(loaded(), max_batch=16), first, 4)
    tiny = loaded()
    tiny.model.cuda()
    engine = TransformersEngine(tiny, max_batch=16)
    for _ in range(2):  # the second time with the graphs of the first
        there, _ = converse(engine, first, 4)
        assert {key: it.token_ids for key, it in there.items()} == {
            key: it.token_ids for key, it in here.items()
        }


def test_bfloat16_samples(tmp_path):
    on_gpu = load_model(str(save(tmp_path / "tiny")), dtype="bfloat16", device="cuda")
    engine = TransformersEngine(on_gpu, max_batch=16)
    for _, completion in engine.generate(WANTED, Sampling(max_tokens=20)):
        scored = engine.score(completion.prompt_ids, completion.token_ids)
        assert scored == pytest.approx(completion.logprobs, abs=0.1)


def test_an_adapter_trained_there_gives_the_same_weights_here(tmp_path):
    directory = save(tmp_path / "tiny")
    examples = [(f"theorem {name} : ", f"exact {name}") for name in "pqrs"] * 4
    fitted = SFT(epochs=4, learning_rate=1e-2, validation=0.2).fit(
        load_model(str(directory), device="cuda"), examples
    )
    assert fitted.curve[-1]["loss"] < fitted.curve[0]["loss"] or len(fitted.curve) == 1
    fitted.save_adapter(tmp_path / "adapter")
    here = load_model(str(directory), adapter=tmp_path / "adapter")
    assert here.digest == fitted.loaded.digest
