"""What every run needs, imported once by the process that runs are forked from.

Imports alone: nothing here may start a thread or touch a GPU, which would not survive the fork.
"""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):  # a run that needs what is missing says so itself
    import numba  # noqa: F401
    import torch  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM  # noqa: F401

    import proofgym.engines.transformers
    import proofgym.models
    import proofgym.trainer.trainer
    import proofgym.training  # noqa: F401
