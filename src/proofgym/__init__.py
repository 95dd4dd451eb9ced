"""proofgym trains language models against a verifier.

A job file names a model, tasks, a reward, an algorithm and a cluster; `proofgym train FILE` runs
it. Names are imported when first used, so that `import proofgym` is instant.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofgym.algorithms.es import ES
    from proofgym.algorithms.grpo import GRPO
    from proofgym.algorithms.supervised import Supervised
    from proofgym.budget import Budget
    from proofgym.clusters.local import Local
    from proofgym.comparison import Comparison, Sweep
    from proofgym.environments.chat import Chat, Turn
    from proofgym.environments.episodes import Episodes
    from proofgym.environments.lean import Lean
    from proofgym.environments.lean_feedback import lean_feedback
    from proofgym.environments.python_tests import Python
    from proofgym.environments.reasoning import Reasoning
    from proofgym.environments.remote_lean import RemoteLean
    from proofgym.environments.remote_sandbox import Ran, RemoteSandbox
    from proofgym.environments.reward import Reward
    from proofgym.environments.tools import ToolCall
    from proofgym.errors import BudgetExceeded
    from proofgym.job import Job, Model
    from proofgym.likelihood import Likelihood
    from proofgym.measurement import Measure
    from proofgym.probe import Probe
    from proofgym.sft import SFT
    from proofgym.tasks.order import Order
    from proofgym.tasks.tasks import Tasks
    from proofgym.trainer.options import LoRA
    from proofgym.types import Completion, Sampling, Status, Task, Verdict

# OpenMP threads that spin while they wait starve each other and the verifiers on the same cores.
# It is read when torch is loaded, so it must be set before.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# oneDNN, and torch above it, each keep the code made for the last 1024 shapes of a product: 0.4 MB
# a shape, and the heap cannot give back what is freed between. Nearly every decoding step has
# another number of rows, and with that new shapes: the demo took 2 GB instead of 1. So many suffice
# for a step. Both are read at the first product, so they must be set before.
for _cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_cache, "64")

_HOME = {
    "ES": "proofgym.algorithms.es",
    "GRPO": "proofgym.algorithms.grpo",
    "LoRA": "proofgym.trainer.options",
    "Budget": "proofgym.budget",
    "Comparison": "proofgym.comparison",
    "Measure": "proofgym.measurement",
    "Supervised": "proofgym.algorithms.supervised",
    "Sweep": "proofgym.comparison",
    "Local": "proofgym.clusters.local",
    "BudgetExceeded": "proofgym.errors",
    "Chat": "proofgym.environments.chat",
    "Turn": "proofgym.environments.chat",
    "Episodes": "proofgym.environments.episodes",
    "Ran": "proofgym.environments.remote_sandbox",
    "RemoteSandbox": "proofgym.environments.remote_sandbox",
    "ToolCall": "proofgym.environments.tools",
    "Lean": "proofgym.environments.lean",
    "lean_feedback": "proofgym.environments.lean_feedback",
    "Python": "proofgym.environments.python_tests",
    "Reasoning": "proofgym.environments.reasoning",
    "RemoteLean": "proofgym.environments.remote_lean",
    "Reward": "proofgym.environments.reward",
    "Job": "proofgym.job",
    "Likelihood": "proofgym.likelihood",
    "Model": "proofgym.job",
    "Probe": "proofgym.probe",
    "SFT": "proofgym.sft",
    "Order": "proofgym.tasks.order",
    "Tasks": "proofgym.tasks.tasks",
    "Completion": "proofgym.types",
    "Sampling": "proofgym.types",
    "Status": "proofgym.types",
    "Task": "proofgym.types",
    "Verdict": "proofgym.types",
}

__all__ = [
    "ES",
    "GRPO",
    "SFT",
    "Budget",
    "BudgetExceeded",
    "Chat",
    "Comparison",
    "Completion",
    "Episodes",
    "Job",
    "Lean",
    "Likelihood",
    "LoRA",
    "Local",
    "Measure",
    "Model",
    "Order",
    "Probe",
    "Python",
    "Ran",
    "Reasoning",
    "RemoteLean",
    "RemoteSandbox",
    "Reward",
    "Sampling",
    "Status",
    "Supervised",
    "Sweep",
    "Task",
    "Tasks",
    "ToolCall",
    "Turn",
    "Verdict",
    "lean_feedback",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from proofgym.errors import nearest

        raise AttributeError(f"proofgym has no {name!r}; {nearest(name, __all__)}")
    return getattr(import_module(_HOME[name]), name)
