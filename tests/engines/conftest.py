"""Every engine test runs both ways: step by step, and with steps launched ahead as on a GPU."""

from __future__ import annotations

import pytest

from proofgym.engines import transformers


@pytest.fixture(params=["step by step", "pipelined"], autouse=True)
def pipelined(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    ahead = request.param == "pipelined"
    if ahead:
        monkeypatch.setattr(transformers, "PIPELINED", {"cpu", "cuda"})
    return ahead
