"""Judges problems of reasoning-gym by the score that their own family gives an answer.

Scoring reads untrusted text, so it runs in the child processes of `reward.py`, with a deadline.
Nine families hand the text to `eval` (some through sympy): there, only the letters that a right
answer can consist of get that far.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import re
import resource
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import Field

from proofgym.config import Config
from proofgym.environments.reward import RewardJudge, portable
from proofgym.tasks.tasks import Tasks
from proofgym.types import Status, Task, Verdict

_MEMORY = 4 << 30  # of a scoring process: `9**9**9` is an answer, too
_LONGEST = 20_000  # characters of an answer


class Reasoning(Config):
    """Judge answers to `reasoning_gym(...)` and `countdown(...)`: 1 for a right one, else 0."""

    partial: bool = False
    """Give the family's own score as the reward. It is above 0 for many wrong answers (a wrong
    countdown gets 0.05, an unreadable one 0.01)."""
    timeout: float = Field(10.0, gt=0)
    """Seconds that scoring one answer may take; longer counts as no score."""

    def open(self, workers: int) -> ReasoningJudge:
        """Start with up to `workers` scoring processes."""
        return ReasoningJudge(portable(_Scorer()), self.timeout, workers, self.partial)


class ReasoningJudge(RewardJudge):
    """Scores answers in child processes."""

    def __init__(self, function: bytes, timeout: float, workers: int, partial: bool) -> None:
        super().__init__(function, timeout, workers)
        self._partial = partial

    def judge(self, task: Task, text: str) -> Verdict:
        return with_credit(super().judge(task, text), self._partial)

    def describe(self) -> str:
        return f"reasoning-gym's own scores in child processes, {self._timeout:g} s each"

    def prepare(self, tasks: Tasks) -> None:
        """Refuse tasks of other kinds, and a family that does not accept its own answer in the
        place where the completion must give it."""
        tried = set()
        for problem in tasks.chosen():
            data = problem.task.data
            if "entry" not in data or "answer_in" not in data:
                raise problem.error("is no reasoning_gym task, which Reasoning() judges")
            if problem.proof is None or data["family"] in tried:
                continue
            tried.add(data["family"])
            verdict = self.judge(problem.task, as_completion(problem.proof, data["answer_in"]))
            if verdict.status is not Status.PASSED:
                raise problem.error(
                    f"has a right answer that does not count with answer={data['answer_in']!r} "
                    f"({verdict.message or verdict.status}); answers of several lines need 'tag'"
                )


def as_completion(answer: str, place: str) -> str:
    """A completion that gives this answer in the right place."""
    return {"tag": f"<answer>{answer}</answer>", "boxed": f"\\boxed{{{answer}}}"}.get(place, answer)


def find_answer(text: str, place: str) -> str | None:
    """The answer that a completion gives, or None."""
    match place:
        case "tag":  # a stop string may have cut the end off
            _, found, answer = text.rpartition("<answer>")
            return answer.partition("</answer>")[0].strip() if found else None
        case "boxed":
            return _boxed(text)
        case "last_line":
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            return lines[-1] if lines else None
    return text.strip() or None


def _boxed(text: str) -> str | None:
    r"""What is in the last `\boxed{…}`, braces matched."""
    _, found, rest = text.rpartition("\\boxed{")
    depth = 1
    for place, letter in enumerate(rest if found else ""):
        depth += (letter == "{") - (letter == "}")
        if not depth:
            return rest[:place].strip()
    return None


def with_credit(verdict: Verdict, partial: bool) -> Verdict:
    """The verdict with the family's own score as the reward, where that is wanted."""
    raw = verdict.detail.get("components", {}).get("raw")
    return replace(verdict, reward=raw) if partial and raw is not None else verdict


class _Scorer:
    """Loads reasoning-gym while it is unpickled, so that no call's time pays for it."""

    def __call__(self, task: Task, text: str) -> Verdict:
        raise TypeError("works in a child process only")

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return _load, ()


def _load() -> Callable[[Task, str], Verdict]:
    from proofgym.tasks.reasoning_child import library

    with contextlib.suppress(ImportError):  # then the first call says so
        library()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    return score


def score(task: Task, text: str) -> Verdict:
    """The verdict on one completion. Runs in a child process."""
    data = task.data
    answer = find_answer(text, data["answer_in"])
    if answer is None:
        return Verdict(Status.FAILED, 0.0, f"there is no answer ({data['answer_in']})")
    entry = pickle.loads(data["entry"])
    if why := _unreadable(data["family"], answer, entry):
        status = Status.REJECTED if re.search(_CODE, answer) else Status.FAILED
        return Verdict(status, 0.0, why)
    try:
        raw = float(_dataset(data["family"], repr(data["config"])).score_answer(answer, entry))
    except MemoryError:
        return Verdict(Status.OUT_OF_MEMORY, 0.0, "scoring this answer needs too much memory")
    except Exception as error:  # families parse answers in many ways; `prepare` saw a right one
        return Verdict(Status.FAILED, 0.0, f"unreadable: {type(error).__name__}: {error}"[:300])
    if not math.isfinite(raw):
        return Verdict(Status.FAILED, 0.0, f"the family's score is {raw}")
    status = Status.PASSED if raw >= 1 else Status.FAILED
    return Verdict(status, float(raw >= 1), "", detail={"components": {"raw": raw}})


@cache
def _dataset(family: str, config: str) -> Any:
    from ast import literal_eval

    from proofgym.tasks.reasoning_child import open_dataset

    return open_dataset(family, {**literal_eval(config), "size": 1, "seed": 0})


_CODE = re.compile(r"__|\b(?:import|lambda|eval|exec|open|getattr|globals|compile)\b")
_LITERAL = re.compile(r"[\w\s,.\-\[\]'\"\\]*")
_ARITHMETIC = re.compile(r"(?!.*(?:\*\s*\*|/\s*/))[\d\s+\-*/()]*", re.S)
_ALGEBRA = re.compile(r"[\w\s+\-*/^().,]*")
_FUNCTIONS = frozenset(
    """
    sin cos tan sec csc cot asin acos atan sinh cosh tanh exp log ln sqrt Abs pi
    """.split()  # noqa: SIM905
)
_EVALUATED = {
    **dict.fromkeys(("spiral_matrix", "string_insertion", "binary_matrix", "n_queens"), _LITERAL),
    **dict.fromkeys(("countdown", "puzzle24"), _ARITHMETIC),
    **dict.fromkeys(
        ("simple_integration", "intermediate_integration", "polynomial_multiplication"), _ALGEBRA
    ),
}


def _unreadable(family: str, answer: str, entry: dict[str, Any]) -> str:
    """Why an answer must not reach its family's `score_answer`; empty if it may."""
    if len(answer) > _LONGEST:
        return f"the answer is longer than {_LONGEST} characters"
    allowed = _EVALUATED.get(family)
    if allowed is None:
        return ""
    if not allowed.fullmatch(answer):
        return "the answer holds what no answer of this family can"
    if allowed is _ALGEBRA:
        # A dot after a name would be an attribute; a name is one letter (with digits) or known.
        words = set(re.findall(r"[^\W\d]\w*", answer))
        unknown = [
            word
            for word in words
            if word not in _FUNCTIONS and not re.fullmatch(r"[^\W_]\d*", word)
        ]
        if unknown or re.search(r"[^\W\d]\w*\s*\.|\)\s*\.", answer):
            return f"the answer holds what no answer of this family can: {sorted(unknown)[:3]}"
    if family == "puzzle24":  # it counts any four numbers
        numbers = sorted(map(int, re.findall(r"\d+", answer)))
        if numbers != sorted(map(int, entry["metadata"]["numbers"])):
            return "the answer does not use the given numbers"
    return ""
