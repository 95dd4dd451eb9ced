"""How far training has moved a model."""

from __future__ import annotations

import math
from typing import Any

import torch


class WeightChange:
    """Keeps a model's weights as they are when this is made, in the host's memory."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._start = {
            name: weight.detach().to("cpu", copy=True) for name, weight in model.named_parameters()
        }

    @torch.no_grad()
    def now(self) -> dict[str, float]:
        """`relative`, ‖W − W₀‖ / ‖W₀‖ over all parameters together (Euclidean norms, in float64),
        and `tensors`, how many hold anything else than at the start."""
        moved, whole, tensors = 0.0, 0.0, 0
        for name, weight in self._model.named_parameters():
            start = self._start[name].to(weight.device)
            whole += _square(start)
            if not torch.equal(start, weight):
                moved += _square(weight.float() - start.float())
                tensors += 1
        return {"relative": math.sqrt(moved / whole) if whole else 0.0, "tensors": tensors}


def _square(tensor: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float64)) ** 2
