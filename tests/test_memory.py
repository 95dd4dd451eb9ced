"""Memory that runs out is said in one line, whoever noticed it."""

from __future__ import annotations

import math

import pytest
import torch
from tiny_models import loaded

from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import EngineError, ModelError
from proofgym.memory import available, saying_when_full
from proofgym.models import load_model
from proofgym.types import Request, Sampling

FULL = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation'"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to …"),
    MemoryError(),
]


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
def test_it_is_known_by_all_its_names(error):
    with (
        pytest.raises(ModelError, match="too much") as raised,
        saying_when_full(ModelError("too much")),
    ):
        raise error
    assert raised.value.__cause__ is error


def test_other_errors_stay_what_they_are():
    full = saying_when_full(ModelError("too much"))
    with pytest.raises(RuntimeError, match="illegal memory access"), full:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


def test_a_real_allocation_that_cannot_be_made():
    with pytest.raises(ModelError, match="too much"), saying_when_full(ModelError("too much")):
        torch.empty(2**60, dtype=torch.uint8)


def test_a_model_that_finds_no_room(tiny_model, monkeypatch):
    def full(self, to):
        if to == "cuda":
            raise FULL[1]
        return torch.nn.Module.to(self, to)

    monkeypatch.setattr("transformers.PreTrainedModel.to", full)
    with pytest.raises(ModelError, match="out of memory on cuda") as raised:
        load_model(str(tiny_model), device="cuda")
    assert "\n" not in str(raised.value)


def test_an_engine_says_what_to_lower(monkeypatch):
    engine = TransformersEngine(loaded(), max_batch=4)
    monkeypatch.setattr(engine._decoder, "prompt", lambda *_: (_ for _ in ()).throw(FULL[1]))
    with pytest.raises(EngineError, match=r"lower max_batch \(now 4\)"):
        list(engine.generate([Request((0,), "a")], Sampling(max_tokens=2)))


def test_what_is_left_is_the_least_of_what_machine_and_container_have(tmp_path):
    assert available(tmp_path) == math.inf
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    5 kB\n")
    assert available(tmp_path) == 5 * 1024
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.current").write_text("1000\n")
    (group / "memory.max").write_text("max\n")
    assert available(tmp_path) == 5 * 1024
    (group / "memory.max").write_text("4000\n")
    assert available(tmp_path) == 3000
    assert 2**20 < available() < 2**50
