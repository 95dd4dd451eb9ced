"""Supervised fine-tuning: the short warm start that makes a small model a learner.

The loss is the cross-entropy of completion tokens and the end token, given the prompt. Steps are
the trainer's (`trainer/`); here are the data, the plateau, and the form that results are kept in.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from proofgym.algorithms.losses import cross_entropy
from proofgym.config import Config
from proofgym.errors import ModelError, RunError
from proofgym.random import permutation
from proofgym.trainer.options import LoRA, TrainerOptions
from proofgym.trainer.sample import Sample, even, reference

if TYPE_CHECKING:
    from torch import Tensor

    from proofgym.models import LoadedModel
    from proofgym.trainer.trainer import Trainer

#: (prompt, completion, number of the copy) -> a varied pair.
Vary = Callable[[str, str, int], tuple[str, str]]

_KEPT = ("step", "loss", "validation_loss")


#: A point of the loss curve: step, steps, loss, validation_loss (where there is a validation
#: split), learning_rate, examples_per_second, seconds_left. Losses are nats a completion token.
Point = dict[str, float]


class SFT(Config):
    """Supervised fine-tuning, of low-rank adapters or of all weights, with AdamW."""

    rank: int | None = Field(8, ge=1, le=256)
    """Rank of the LoRA factors on every linear layer (Hu et al., 2021); None trains all weights."""
    alpha: float = Field(16.0, gt=0)
    """The low-rank change is scaled by alpha / rank."""
    learning_rate: float = Field(5e-4, gt=0, allow_inf_nan=False)
    """Peak; about 5e-4 for adapters, 2e-5 to 5e-5 for all weights."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate falls after the warm-up, down to a tenth of the peak."""
    warmup: float = Field(0.05, ge=0, lt=1)
    """Share of the steps in which the learning rate rises from 0."""
    epochs: float = Field(3.0, gt=0)
    """Passes over the examples, unless early stopping ends them."""
    batch: int = Field(16, ge=1)
    """Examples in a step."""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's decoupled decay."""
    clip: float = Field(1.0, gt=0)
    """Largest norm of a step's gradient."""
    validation: float = Field(0.05, ge=0, lt=1)
    """Share of the examples held out to see when to stop; 0 never stops early."""
    patience: int = Field(3, ge=1)
    """Stop after so many measurements without a better validation loss, and keep the best."""
    every: int = Field(20, ge=1)
    """Steps between measurements, each a point of the loss curve."""
    copies: int = Field(0, ge=0)
    """Varied copies added of each training example (renamed theorems; see `fit`)."""

    def fit(
        self,
        loaded: LoadedModel,
        examples: Sequence[tuple[str, str]],
        *,
        seed: int = 0,
        report: Callable[[Point], None] = lambda point: None,
        vary: Vary | None = None,
    ) -> Fitted:
        """Train on (prompt, completion) pairs; `loaded.model` then holds the trained weights.

        They are what loading the saved adapter gives, bit for bit. Order, validation split and
        the factors' first values follow from `seed`. `report` gets each point of the curve.
        `vary(prompt, completion, copy)` makes the `copies` of a training example; the validation
        split holds no copy of anything. Raises ModelError if the model or the examples cannot be
        used.
        """
        if loaded.digest != loaded.base_digest:
            raise ModelError(
                f"{loaded.source} is not in its stored form; load it without an adapter and with "
                "the dtype that it is stored in (float32 for packaged models) to fine-tune it"
            )
        if not examples:
            raise ModelError("SFT was given no examples; name tasks that have reference proofs")
        if self.copies and vary is None:
            raise ModelError("SFT.copies needs `vary`, which says how a copy is made")
        order = permutation(len(examples), seed, "sft split")
        held_out = int(len(examples) * self.validation)
        validation = tokenise(loaded, [examples[index] for index in order[:held_out]])
        kept = [examples[index] for index in order[held_out:]]
        copies = list(self._copies(kept, vary)) if vary else []
        training = tokenise(loaded, kept + copies)
        session = _Session(self, loaded, training, validation, seed)
        curve = session.run(report)
        return session.finish(curve, len(examples))

    def _copies(self, examples: Sequence[tuple[str, str]], vary: Vary) -> Iterator[tuple[str, str]]:
        for copy in range(self.copies):
            for place, (prompt, text) in enumerate(examples):
                yield vary(prompt, text, copy * len(examples) + place)


@dataclass(slots=True)
class Fitted:
    """A trained model, and what it takes to make it again from the base."""

    loaded: LoadedModel
    curve: list[Point]
    validation: float | None
    """Final validation loss, of the weights as they would be loaded."""
    record: dict[str, Any]
    factors: dict[str, tuple[Tensor, Tensor, float]] | None = field(repr=False, default=None)
    """Adapter factors by tensor name; None if all weights were trained."""

    @property
    def model(self) -> Any:
        return self.loaded.model

    def save_adapter(self, directory: str | Path, command: str = "") -> str:
        """Write the adapter (a few MB), whole or not at all; returns its digest.

        `command` is what made it, kept for readers. Raises ModelError.
        """
        from proofgym.adapter import write_adapter

        if self.factors is None:
            raise ModelError("all weights were trained: use save_model, or set SFT.rank")
        return write_adapter(Path(directory), self.factors, {**self.record, "command": command})

    def save_model(self, directory: str | Path, command: str = "") -> None:
        """Write the whole model in the Hugging Face layout, whole or not at all.

        `command` is what made it, kept for readers with the loss curve. Raises ModelError.
        """
        from proofgym.model_cache import write_directory, write_record
        from proofgym.models import save

        if Path(directory).exists():
            raise ModelError(f"{directory} exists; give another place or remove it")
        record = {**self.record, "command": command, "weights_digest": self.loaded.digest}
        with write_directory(Path(directory)) as scratch:
            save(self.loaded.model, self.loaded.tokenizer, scratch)
            write_record(scratch, record)


def tokenise(loaded: LoadedModel, examples: Sequence[tuple[str, str]]) -> list[Sample]:
    """Every prompt and its completion with the end token, tokenised apart. Raises ModelError."""
    if loaded.tokenizer.eos_token_id is None:
        raise ModelError(f"{loaded.source}: its tokenizer has no end-of-sequence token")
    samples = [reference(prompt, text, loaded.tokenizer) for prompt, text in examples]
    most = getattr(loaded.model.config, "max_position_embeddings", None) or math.inf
    for index, sample in enumerate(samples):
        if not sample.prompt_ids:
            raise ModelError(f"SFT example {index} has no prompt; remove it")
        if sample.length > most:
            raise ModelError(
                f"SFT example {index} has {sample.length} tokens, the model takes {most}; remove it"
            )
    return samples


def batches(samples: Sequence[Sample], size: int, seed: int, epoch: int) -> Iterator[list[Sample]]:
    """Each once, in a seeded order, those of like length together so that little is padding."""
    order = permutation(len(samples), seed, "sft order", epoch)
    pool = size * 16
    groups = []
    for start in range(0, len(order), pool):
        near = sorted(order[start : start + pool], key=lambda index: samples[index].length)
        groups += [near[first : first + size] for first in range(0, len(near), size)]
    for group in permutation(len(groups), seed, "sft batches", epoch):
        yield [samples[index] for index in groups[group]]


class _Session:
    """One run of `SFT.fit`."""

    def __init__(
        self,
        config: SFT,
        loaded: LoadedModel,
        training: list[Sample],
        validation: list[Sample],
        seed: int = 0,
    ) -> None:
        from proofgym.trainer.trainer import Trainer

        self.config, self.loaded, self.seed = config, loaded, seed
        self.training, self.validation = training, validation
        self.per_epoch = math.ceil(len(training) / config.batch)
        self.steps = max(1, round(self.per_epoch * config.epochs))
        options = TrainerOptions(
            learning_rate=config.learning_rate,
            lora=None if config.rank is None else LoRA(rank=config.rank, alpha=config.alpha),
            weight_decay=config.weight_decay,
            clip_norm=config.clip,
        )
        self.trainer = Trainer(loaded.model, options, seed=seed)
        self.best: tuple[float, list[Tensor]] | None = None

    def run(self, report: Callable[[Point], None]) -> list[Point]:
        """Train to the end or to the plateau; returns the loss curve."""
        curve: list[Point] = []
        losses: list[float] = []
        started, seen, worse = time.monotonic(), 0, 0
        if self.validation:  # or the best could be worse than nothing at all
            self._improves(self.loss(self.validation))
        for step, batch in enumerate(self._batches(), start=1):
            losses.append(self._step(batch, step))
            seen += len(batch)
            if step % self.config.every and step != self.steps:
                continue
            point = {"step": step, "steps": self.steps, "loss": sum(losses) / len(losses)}
            losses.clear()
            if self.validation:
                point["validation_loss"] = self.loss(self.validation)
                worse = 0 if self._improves(point["validation_loss"]) else worse + 1
            elapsed = time.monotonic() - started
            point["learning_rate"] = self._rate(step)
            point["examples_per_second"] = seen / elapsed
            point["seconds_left"] = elapsed / step * (self.steps - step)
            curve.append(point)
            report(point)
            if worse >= self.config.patience:
                break
        self._restore_best()
        return curve

    def finish(self, curve: list[Point], examples: int) -> Fitted:
        """Put the trained weights into the model, in the form in which they are saved."""
        from proofgym.adapter import Adapter, merge
        from proofgym.models import weights_digest
        from proofgym.trainer.trainer import Trainer

        loaded, factors = self.loaded, None
        if self.config.rank is None:
            self.trainer.publish()
        else:  # the model holds the base until the factors in their exact form are added
            factors = _exact(self.trainer.policy.factors())
            merge(
                Adapter("trained", factors, "", loaded.base_digest),
                loaded.model,
                loaded.base_digest,
            )
        self.trainer.close()
        final = None
        if self.validation:  # of the weights as they will be loaded
            stored = Trainer(loaded.model, TrainerOptions())
            final = _loss(stored, self.validation)
            stored.close()
        record = {
            "base_digest": loaded.base_digest,
            "base": loaded.source,
            "rank": self.config.rank,
            "alpha": self.config.alpha,
            "targets": sorted({name.split(".")[-2] for name in factors or ()}),
            "examples": examples,
            "steps": int(curve[-1]["step"]),
            "seed": self.seed,
            "validation_loss": final,
            "sft": self.config.to_json(),
            "curve": [
                {key: round(point[key], 4) for key in _KEPT if key in point} for point in curve
            ],
        }
        digest = weights_digest(loaded.model)
        result = dataclasses.replace(
            loaded, digest=digest, source=f"{loaded.source} + supervised fine-tuning"
        )
        return Fitted(result, curve, final, record, factors)

    def loss(self, samples: Sequence[Sample]) -> float:
        """Mean cross-entropy a completion token, in nats, of the weights in training."""
        return _loss(self.trainer, samples)

    def _batches(self) -> Iterator[list[Sample]]:
        for index in range(math.ceil(self.steps / self.per_epoch)):
            left = self.steps - index * self.per_epoch
            epoch = batches(self.training, self.config.batch, self.seed, index)
            yield from (batch for _, batch in zip(range(left), epoch, strict=False))

    def _step(self, batch: Sequence[Sample], step: int) -> float:
        even(batch)
        try:
            rate = self._rate(step) / self.config.learning_rate
            return self.trainer.step(batch, cross_entropy, rate)["loss"]
        except RunError as error:
            raise ModelError(f"SFT diverged at step {step}; lower SFT.learning_rate") from error

    def _rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        peak = self.config.learning_rate
        rising = round(self.config.warmup * self.steps)
        if step <= rising:
            return peak * step / rising
        share = (step - rising) / max(1, self.steps - rising)
        if self.config.schedule == "constant":
            return peak
        fall = (
            1 - share if self.config.schedule == "linear" else (1 + math.cos(math.pi * share)) / 2
        )
        return peak * (0.1 + 0.9 * fall)

    def _improves(self, measured: float) -> bool:
        """Keep the weights if this is the best measurement yet; small gains end the patience."""
        before = self.best[0] if self.best else math.inf
        if measured < before:
            self.best = (
                measured,
                [parameter.detach().clone() for parameter in self.trainer.policy.trained.values()],
            )
        return measured < before * 0.995

    def _restore_best(self) -> None:
        if self.best is not None:
            for parameter, value in zip(self._trained(), self.best[1], strict=True):
                parameter.data.copy_(value)

    def _trained(self) -> list[Tensor]:
        return list(self.trainer.policy.trained.values())


def _loss(trainer: Trainer, samples: Sequence[Sample]) -> float:
    return -float(np.concatenate(trainer.logprobs(samples)).mean(dtype=np.float64))


def _exact(
    factors: Mapping[str, tuple[Tensor, Tensor, float]],
) -> dict[str, tuple[Tensor, Tensor, float]]:
    from proofgym.adapter import quantise

    return {
        name: quantise(left.detach().cpu().double(), right.detach().cpu().double(), scale)
        for name, (left, right, scale) in factors.items()
    }
