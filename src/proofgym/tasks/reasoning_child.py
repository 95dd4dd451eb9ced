"""The child process of `reasoning_maker.py`: one JSON object a line, in and out."""

from __future__ import annotations

import base64
import json
import pickle
import random
import sys
import warnings
from typing import Any

import numpy as np

_TRIES = 20  # problems drawn for each one wanted, before the family counts as exhausted


def main() -> None:
    replies = sys.stdout
    sys.stdout = sys.stderr  # some families print while they work
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """{"rows": …, "why": there are not more}, {"families": the names}, or {"wrong": why}."""
    families = library().factory.DATASETS
    if request["family"] not in families:
        return {"families": sorted(families)}
    try:
        return _rows(request)
    except (TypeError, AssertionError, ValueError, KeyError) as error:
        return {"wrong": f"{type(error).__name__}: {error}"}


def _rows(request: dict[str, Any]) -> dict[str, Any]:
    seen = {text.strip() for text in request["without"]}
    levels = request["levels"] or [None]
    rows: list[dict[str, Any]] = []
    why = ""
    for number, level in enumerate(levels):
        share = -(-(request["size"] - len(rows)) // (len(levels) - number))
        first = request["seed"] + number * _TRIES * request["size"]
        more, error = _some(request, level, share, seen, first)
        rows, why = rows + more, error or why
    return {"rows": rows, "why": why and f" ({why})"}


def _some(
    request: dict[str, Any], level: int | None, count: int, seen: set[str], seed: int
) -> tuple[list[dict[str, Any]], str]:
    """So many rows of a level, if there are, and the last reason why one could not be made."""
    config = {**_of_level(request["family"], level), **request["config"]}
    most = _TRIES * count
    dataset = open_dataset(request["family"], {**config, "seed": seed, "size": most})
    rows: list[dict[str, Any]] = []
    why = ""
    for index in range(most):
        if len(rows) == count:
            break
        _seed_all(seed + index)
        try:
            entry = dataset[index]
        except Exception as error:  # some families cannot make a problem of every number
            why = f"{type(error).__name__}: {error}"
            continue
        if entry["question"].strip() not in seen:
            seen.add(entry["question"].strip())
            rows.append(_row(entry, config, level))
    return rows, why


def _row(entry: dict[str, Any], config: dict[str, Any], level: int | None) -> dict[str, Any]:
    return {
        "question": entry["question"],
        "answer": None if entry["answer"] is None else str(entry["answer"]),
        "entry": base64.b64encode(pickle.dumps(entry)).decode(),
        "config": config,
        "level": level,
    }


def _seed_all(seed: int) -> None:
    """This process's global generators, which some families (`list_functions`) use."""
    random.seed(seed)
    np.random.seed(seed % 2**32)


def library() -> Any:
    """The package reasoning_gym. Raises ImportError.

    Where no bytecode is kept, every process compiles it and what it imports, and Python would warn
    each time of code that is not ours to mend.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        import reasoning_gym

    return reasoning_gym


def open_dataset(family: str, config: dict[str, Any]) -> Any:
    """A family with this configuration. Raises TypeError or AssertionError for a wrong one."""
    return library().create_dataset(family, **config)


def _of_level(family: str, level: int | None) -> dict[str, Any]:
    """The configuration of a level of the family's curriculum, as plain values."""
    if level is None:
        return {}
    from dataclasses import asdict

    from reasoning_gym.coaching.base_curriculum import DefaultCurriculumContext, RangeAttributeMode
    from reasoning_gym.factory import create_curriculum, has_curriculum

    if not has_curriculum(family):
        raise ValueError(f"{family} has no levels; use config=")
    curriculum = create_curriculum(family)
    most = max((len(it.levels) for it in curriculum.attributes.values()), default=1) - 1
    if level > most:
        raise ValueError(f"levels of {family} go from 0 to {most}, not to {level}")
    curriculum.set_global_level(level)
    context = DefaultCurriculumContext(mode=RangeAttributeMode.UPPER_BOUND)
    config = asdict(curriculum.generate_configuration(context=context))
    return {key: value for key, value in config.items() if key not in ("seed", "size")}


if __name__ == "__main__":
    main()
