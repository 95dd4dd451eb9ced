"""Before an ES run goes on, the engine shows that members are scored with their own weights."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import torch

from proofgym.engines.engine import Engine, Population
from proofgym.errors import EngineError, RunError
from proofgym.evolution import heed, ways
from proofgym.progress import Progress
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.algorithms.es_run import ESRun

STREAM = 2**62 + 1  # of the draws here: no iteration's, nor an evaluation's
_TOKENS = 8  # of a prompt: enough for every weight to matter
_DRAWN = 8  # tokens after it, at most
# So hot that no token is certain. All rows end with one token: which rows are computed together is
# the same for any noise.
_ONE_TOKEN = Sampling(temperature=8.0, max_tokens=1)
_GAP = {torch.float32: 1e-2}
_WIDE_GAP = 0.1
"""Nats a token, on average, that two ways to compute the policy may lie apart."""
_WRONG = (
    f"The model is computed wrongly here, by torch {version('torch')} or by proofgym: another "
    "ES.evaluation, or device, may go right; please report it"
)


def check(run: ESRun, engine: Engine, prompt: str) -> None:
    """Before the first iteration, that noise on each chosen tensor changes what the engine
    computes; whenever a run begins or goes on, that training's way through the model agrees with a
    plain pass.

    Raises:
        RunError: names the tensors without effect, or says how far the two are apart.
    """
    few = _beginning(engine.tokenizer.encode(prompt))
    if run.iteration == 0:
        _check_reach(run, engine, prompt, few)
    _check_heed(run, engine, prompt, few)


def _check_reach(run: ESRun, engine: Engine, prompt: str, few: tuple[int, ...]) -> None:
    def answers(members: Sequence[int], population: Population | None) -> list[Any]:
        requests = [Request((STREAM, 0, 0), prompt, it, prompt_ids=few) for it in members]
        done = {
            request.member: (completion.token_ids, completion.logprobs)
            for request, completion in engine.generate(requests, _ONE_TOKEN, population)
        }
        return [done[member] for member in members]

    silent = []
    with Progress("checking noise", run.way.uses, "tensors") as progress:
        for name in run.way.unreached(run.iteration, answers):
            progress.advance()
            silent += [name] if name else []
    if silent:
        listed = ", ".join(silent[:5]) + (", …" if len(silent) > 5 else "")
        raise RunError(
            f"noise on {len(silent)} of {run.way.uses} uses of chosen tensors changes nothing "
            f"that the engine computes: {listed}. Leave them out (ES.parameters), or see why "
            "they are unused"
        )


def _check_heed(run: ESRun, engine: Engine, prompt: str, few: tuple[int, ...]) -> None:
    room = _DRAWN if engine.positions is None else engine.positions - len(few)
    if room < 2:
        return  # steps draw nothing after the first token, which is of the pass over the prompt
    sampling = Sampling(temperature=1.0, max_tokens=min(_DRAWN, room))
    count = run.config.population
    members = sorted({0, 1, count // 2, count - 1})
    showing: list[tuple[float, float]] = []
    for draw in (1, 2):  # a fault is there whatever is drawn
        requests = [
            Request((STREAM, draw, member), prompt, member, prompt_ids=few) for member in members
        ]
        showing = _listen(run, engine, requests, sampling)
        if not heed.astray(showing):
            return
    off, noise = (statistics.median(values) for values in zip(*showing, strict=True))
    raise RunError(
        "members are not scored with their own weights: log-probabilities are off by "
        f"{off:.3g} from a plain pass over the same tokens, where noise changes them by "
        f"{noise:.3g} (medians of {len(showing)}). {_WRONG}"
    )


def _listen(
    run: ESRun, engine: Engine, requests: Sequence[Request], sampling: Sampling
) -> list[tuple[float, float]]:
    """How far training is off, and what noise changes, with the least noise that shows; nothing
    where none does."""
    # The policy first: what was made for it must not answer for members.
    drawn = [done for _, done in engine.generate(requests, sampling)]
    dtype = engine.model.dtype
    rounding = max(heed.rounding(dtype), 4 * _policy_gap(engine, drawn, dtype))
    quiet = run.scaled()
    try:
        for times in heed.LOUD:
            run.state.k = heed.loud(run.state, quiet, times)
            with suppress(EngineError):  # more noise than the model bears
                heard = run.heard(engine, requests, sampling, drawn)
                showing = heard.showing(rounding) if heard.finite else []
                if len(showing) >= heed.FEWEST:
                    return showing
    finally:
        run.state.k = quiet
        run.policy()
    return []


def _policy_gap(engine: Engine, drawn: Sequence[Completion], dtype: torch.dtype) -> float:
    """Nats a token between the policy's steps and plain passes. Raises RunError where it is more
    than any rounding."""
    said = [value for done in drawn for value in done.logprobs[1:]]
    plain = scores(engine, drawn)
    gap = math.fsum(abs(a - b) for a, b in zip(said, plain, strict=True)) / max(1, len(said))
    if not gap <= _GAP.get(dtype, _WIDE_GAP):
        raise RunError(
            f"decoding steps and a plain pass disagree on the policy's log-probabilities of the "
            f"same {len(said)} tokens, by {gap:.3g} on average. {_WRONG}"
        )
    return gap


def steps_heard(
    run: ESRun, engine: Engine, requests: Sequence[Request], sampling: Sampling
) -> heed.Heard:
    """What steps say of the tokens that members draw, after the first: it comes of the pass over
    the prompt."""
    used: list[float] = []
    own: list[float] = []
    answers: list[Completion] = []
    for group in ways.groups(len(requests), run.way.size):
        asked = [requests[place] for place in group]
        with run.way.lay(run.iteration, [request.member for request in asked]) as laid:
            for request, answer in list(engine.generate(asked, sampling, laid)):
                used += answer.logprobs[1:]
                own += scores(engine, [answer], laid, request.member)
                answers.append(answer)
    run.policy()
    return heed.Heard(used, own, scores(engine, answers), [1] * len(used))


def scores(
    engine: Engine, texts: Sequence[Completion], laid: Population | None = None, member: int = 0
) -> list[float]:
    """Log-probabilities of all tokens of these texts but their first ones, by plain passes."""
    found: list[float] = []
    for text in texts:
        found += engine.score(text.prompt_ids, text.token_ids, laid, member)[1:]
    return found


def _beginning(ids: Sequence[int]) -> tuple[int, ...]:
    """A few tokens of a prompt, not all alike: among values that are, attention has no choice."""
    few = tuple(ids[:_TOKENS])
    return (*few, 0 if few[0] else 1) if len(set(few)) == 1 else few
