"""Texts that no run is trained on, to see what training does to a model's language."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import field_validator

from proofgym.config import Config
from proofgym.errors import ConfigError, RunError, no_file
from proofgym.progress import Progress
from proofgym.tasks.jsonl import check_field, read_rows
from proofgym.tasks.tasks import Tasks
from proofgym.trainer.sample import Sample

if TYPE_CHECKING:
    from proofgym.engines.engine import Engine


class Likelihood(Config):
    """Mean negative log-likelihood of fixed texts before and after training, in nats per token:
    lower is better, and e to its power is the perplexity.

    It sees a change where no attempt at a task succeeds, and draws nothing at random. Every token
    counts but a text's first, which nothing comes before (where the tokenizer puts a token of its
    own there, all of the text counts).
    """

    measures: ClassVar[Literal["likelihood"]] = "likelihood"

    texts: Tasks | tuple[str, ...] | Path
    """The prompts of tasks, some texts, or a JSONL file with a `text` on each line. Each must have
    two tokens at least and fit into the model's context: none is cut."""

    @field_validator("texts", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        if isinstance(value, str):
            return Path(value)
        listed = isinstance(value, tuple | list) and all(isinstance(it, str) for it in value)
        if not (listed or isinstance(value, Tasks | Path)):
            raise ValueError("must be tasks, a tuple of texts or the path of a JSONL file")
        return tuple(value) if listed else value

    def check(self) -> None:
        """Load the texts and refuse empty ones. Raises ConfigError, TaskError."""
        self.load()

    def load(self) -> list[tuple[str, str]]:
        """Place (for people, such as `mine.jsonl, line 3`) and text of each, in order.

        Raises:
            ConfigError: there is none, or one is empty.
            TaskError: the tasks or the file are wrong.
        """
        found = list(self._read())
        if not found:
            raise ConfigError(f"Likelihood.texts = {self.texts!r}: holds no text")
        for place, text in found:
            check_field(place, {"text": text}, "text", str)
            if not text.strip():
                raise ConfigError(f"Likelihood.texts: {place} is empty")
        return found

    def samples(self, engine: Engine) -> list[Sample]:
        """The texts in the model's tokens. Raises ConfigError for one that is too short or long,
        and as `load` does."""
        most = engine.positions
        made = []
        for place, text in self.load():
            ids = tuple(engine.tokenizer.encode(text))
            if len(ids) < 2:
                raise ConfigError(
                    f"Likelihood.texts: {place} has {len(ids)} token, before which nothing comes "
                    "that it could follow from; give longer texts"
                )
            if most is not None and len(ids) > most:
                raise ConfigError(
                    f"Likelihood.texts: {place} has {len(ids)} tokens, the model takes {most}; cut "
                    "it into several texts"
                )
            made.append(Sample(ids[:1], ids[1:], np.ones(len(ids) - 1, bool)))
        return made

    def measure(self, engine: Engine, what: str) -> dict[str, Any]:
        """As an event has it: `nats_per_token` over all texts; `nats` and `tokens` of each, both
        of the tokens that count; `digest` of what was read. Progress is that of `what`.

        Raises:
            ConfigError: as `samples` does.
            RunError: a text has no finite likelihood.
            EngineError: memory runs out.
        """
        from proofgym.trainer.likelihoods import log_likelihoods

        began = time.monotonic()
        samples = self.samples(engine)
        with Progress(what, total=len(samples), unit="texts") as progress:
            nats_S = -log_likelihoods(engine.model, samples, progress.advance)
        if not np.isfinite(nats_S).all():
            raise RunError(
                f"{what}: the model gives a text no finite likelihood; its weights have diverged: "
                "lower the learning rate"
            )
        ids = [[*it.prompt_ids, *it.token_ids] for it in samples]
        tokens = sum(it.count for it in samples)
        return {
            "nats_per_token": round(float(nats_S.sum()) / tokens, 6),
            "nats": [round(value, 4) for value in nats_S.tolist()],
            "tokens": [it.count for it in samples],
            "digest": hashlib.sha256(repr(ids).encode()).hexdigest()[:12],
            "evaluation_seconds": round(time.monotonic() - began, 3),
        }

    def _read(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.texts, Tasks):
            for problem in self.texts.chosen():
                yield f"{problem.place}: task {problem.task.name!r}", problem.task.prompt
        elif isinstance(self.texts, Path):
            if not self.texts.is_file():
                cut = Path(str(self.texts)[:80])
                raise ConfigError(
                    f"Likelihood.texts: {no_file(cut)}; texts themselves are given as a tuple"
                )
            for place, fields in read_rows(self.texts):
                yield place, check_field(place, fields, "text", str)
        else:
            for number, text in enumerate(self.texts, start=1):
                yield f"text {number}", text
