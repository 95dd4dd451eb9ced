"""What each family of provers is asked; the wording must be that of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proofgym.errors import ConfigError, nearest
from proofgym.formats.format import Format, Theorem


def chatml(user: str, system: str = "") -> str:
    """One question in the markup of Qwen models."""
    first = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    return f"{first}<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"


def _plain(theorem: Theorem) -> str:
    return f"{theorem.statement} := by\n"


def _kimina(theorem: Theorem) -> str:
    user = (
        "Think about and solve the following problem step by step in Lean 4.\n"
        f"# Problem:{theorem.informal}\n"
        f"# Formal statement:\n```lean4\n{theorem.source(' := by')}\n\n```\n"
    )
    return chatml(user, "You are an expert in mathematics and Lean 4.")


def _continued(instruction: str) -> Callable[[Theorem], str]:
    """A base model's prompt: an open block that it goes on with."""
    return lambda theorem: f"{instruction}:\n\n```lean4\n{theorem.source(' := by')}\n"


_COMPLETE = "Complete the following Lean 4 code"
_COMMENTED = f"{_COMPLETE} with explanatory comments preceding each line of code"
_PLAN = (
    "Before producing the Lean 4 code to formally prove the given theorem, provide a detailed "
    "proof plan outlining the main proof steps and strategies.\n"
    "The plan should highlight key ideas, intermediate lemmas, and proof structures that will "
    "guide the construction of the final formal proof."
)


def _asked(theorem: Theorem, plan: bool) -> str:
    block = f"{_COMPLETE}:\n\n```lean4\n{theorem.source(' := by')}\n  sorry\n```"
    return f"{block}\n\n{_PLAN}" if plan else block


def _deepseek(plan: bool) -> Callable[[Theorem], str]:
    return lambda theorem: f"<｜User｜>{_asked(theorem, plan)}<｜Assistant｜>"


_V15 = "prompts of github.com/deepseek-ai/DeepSeek-Prover-V1.5 (prover/utils.py, quick_start.py)"
_V2 = "model card of deepseek-ai/DeepSeek-Prover-V2-7B"

FORMATS: Mapping[str, Format] = {
    it.name: it
    for it in (
        Format("plain", "base models and this project's own", _plain, False, "this project"),
        Format(
            "kimina",
            "Kimina-Prover-Preview and -Preview-Distill, Kimina-Prover and its distilled models",
            _kimina,
            True,
            "model card of AI-MO/Kimina-Prover-Preview-Distill-1.5B",
        ),
        Format(
            "deepseek-prover-v1.5",
            "DeepSeek-Prover-V1.5, STP",
            _continued(_COMPLETE),
            False,
            _V15,
        ),
        Format(
            "deepseek-prover-v1.5-cot",
            "the same, with comments in the proof",
            _continued(_COMMENTED),
            False,
            _V15,
        ),
        Format("deepseek-prover-v2", "DeepSeek-Prover-V2", _deepseek(plan=False), True, _V2),
        Format(
            "deepseek-prover-v2-cot",
            "the same, with a plan before the proof",
            _deepseek(plan=True),
            True,
            _V2,
        ),
        Format(
            "goedel-prover-sft",
            "Goedel-Prover-SFT",
            _continued(_COMMENTED),
            False,
            "eval/step1_inference.py of github.com/Goedel-LM/Goedel-Prover",
        ),
        Format(
            "goedel-prover-v2",
            "Goedel-Prover-V2",
            lambda theorem: chatml(_asked(theorem, plan=True)),
            True,
            "model card of Goedel-LM/Goedel-Prover-V2-8B",
        ),
    )
}


def format_named(name: str) -> Format:
    """The format of this name. Raises ConfigError, with the nearest there is."""
    if name not in FORMATS:
        raise ConfigError(f"there is no prompt format {name!r}; {nearest(name, FORMATS)}")
    return FORMATS[name]
