"""Before an ES run goes on, the engine shows that members are scored with their own weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from proofgym.engines.engine import Engine, Population
from proofgym.errors import EngineError, RunError
from proofgym.evolution import heed, ways
from proofgym.progress import Progress
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.algorithms.es_run import ESRun

STREAM = 2**62 + 1  # of the draws here: no iteration's, nor an evaluation's
_TOKENS = 8  # of a prompt: enough for every weight to matter
_MEMBERS = 4
# So hot that no token is certain. All rows end with one token: which rows are computed together is
# the same for any noise.
_ONE_TOKEN = Sampling(temperature=8.0, max_tokens=1)
_SOME_TOKENS = Sampling(temperature=1.0, max_tokens=8)


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
    members = range(min(run.config.population, _MEMBERS))
    requests = [Request((STREAM, 1, member), prompt, member, prompt_ids=few) for member in members]
    _check_heed(run, engine, requests)


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


def _check_heed(run: ESRun, engine: Engine, requests: Sequence[Request]) -> None:
    # The policy first: what was made for it must not answer for members.
    drawn = [done for _, done in engine.generate(requests, _SOME_TOKENS)]
    said = [value for done in drawn for value in done.logprobs[1:]]
    rounding = heed.apart(said, scores(engine, drawn))
    heard = _hear(run, engine, requests, drawn)
    if heard is not None and not heard.heeded(rounding):
        raise RunError(
            "members are not scored with their own weights: log-probabilities are off by "
            f"{math.sqrt(heard.astray):.3g} from a plain pass over the same tokens (root mean "
            f"square), where noise changes them by {math.sqrt(heard.noise):.3g} and rounding "
            f"by {math.sqrt(rounding):.3g}. The model is computed wrongly here, by torch "
            f"{version('torch')} or by proofgym: another ES.evaluation, or device, may go "
            "right; please report it"
        )


def _hear(
    run: ESRun, engine: Engine, requests: Sequence[Request], drawn: Sequence[Completion]
) -> heed.Heard | None:
    """With noise as loud as the model bears; None where it bears none."""
    quiet = run.scaled()
    try:
        for times in heed.LOUD:
            run.state.k = heed.loud(run.state, quiet, times)
            with suppress(EngineError):
                heard = run.heard(engine, requests, drawn)
                if heard.finite:
                    return heard
    finally:
        run.state.k = quiet
        run.policy()
    return None


def steps_heard(run: ESRun, engine: Engine, requests: Sequence[Request]) -> heed.Heard:
    """What steps say of the tokens that members draw, after the first: it comes of the pass over
    the prompt."""
    used: list[float] = []
    own: list[float] = []
    answers: list[Completion] = []
    for group in ways.groups(len(requests), run.way.size):
        asked = [requests[member] for member in group]
        with run.way.lay(run.iteration, group) as laid:
            for request, answer in list(engine.generate(asked, _SOME_TOKENS, laid)):
                used += answer.logprobs[1:]
                own += scores(engine, [answer], laid, request.member)
                answers.append(answer)
    run.policy()
    return heed.Heard(used, own, scores(engine, answers))


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
