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
    from proofgym.clusters.local import Local
    from proofgym.environments.chat import Chat, Turn
    from proofgym.environments.episodes import Episodes
    from proofgym.environments.lean import Lean
    from proofgym.environments.remote_lean import RemoteLean
    from proofgym.environments.remote_sandbox import Ran, RemoteSandbox
    from proofgym.environments.reward import Reward
    from proofgym.environments.tools import ToolCall
    from proofgym.errors import BudgetExceeded
    from proofgym.job import Job, Model
    from proofgym.sft import SFT
    from proofgym.tasks.tasks import Tasks
    from proofgym.trainer.options import LoRA
    from proofgym.types import Completion, Sampling, Status, Task, Verdict

# OpenMP threads that spin while they wait starve each other and the verifiers on the same cores.
# It is read when torch is loaded, so it must be set before.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_HOME = {
    "ES": "proofgym.algorithms.es",
    "GRPO": "proofgym.algorithms.grpo",
    "LoRA": "proofgym.trainer.options",
    "Local": "proofgym.clusters.local",
    "BudgetExceeded": "proofgym.errors",
    "Chat": "proofgym.environments.chat",
    "Turn": "proofgym.environments.chat",
    "Episodes": "proofgym.environments.episodes",
    "Ran": "proofgym.environments.remote_sandbox",
    "RemoteSandbox": "proofgym.environments.remote_sandbox",
    "ToolCall": "proofgym.environments.tools",
    "Lean": "proofgym.environments.lean",
    "RemoteLean": "proofgym.environments.remote_lean",
    "Reward": "proofgym.environments.reward",
    "Job": "proofgym.job",
    "Model": "proofgym.job",
    "SFT": "proofgym.sft",
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
    "BudgetExceeded",
    "Chat",
    "Completion",
    "Episodes",
    "Job",
    "Lean",
    "LoRA",
    "Local",
    "Model",
    "Ran",
    "RemoteLean",
    "RemoteSandbox",
    "Reward",
    "Sampling",
    "Status",
    "Task",
    "Tasks",
    "ToolCall",
    "Turn",
    "Verdict",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from proofgym.errors import nearest

        raise AttributeError(f"proofgym has no {name!r}; {nearest(name, __all__)}")
    return getattr(import_module(_HOME[name]), name)
