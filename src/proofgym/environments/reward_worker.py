"""The child process of `reward.py`: runs the user's function, one call at a time."""

from __future__ import annotations

import asyncio
import faulthandler
import inspect
import pickle
import socket
import sys
import traceback
from typing import Any

from proofgym.environments.frames import FrameError, Frames, pack_plain
from proofgym.environments.score import to_plain, unscored, verdict_of
from proofgym.types import Verdict


def main(channel: socket.socket) -> None:
    faulthandler.enable()
    requests = _requests(channel)
    function = load(next(requests), "reward")
    channel.sendall(pack_plain("ready"))  # what follows is on the call's own time
    for request in requests:
        verdict = _call(function, *pickle.loads(request))
        channel.sendall(pack_plain(plain_of(verdict, "the reward function")))
        sys.stdout.flush()


def _requests(channel: socket.socket) -> Any:
    frames = Frames(largest=None)
    while data := channel.recv(1 << 16):
        yield from frames.add(data)


def load(data: bytes, what: str) -> Any:
    """The user's function; where it cannot be had, one that says why with every call."""
    try:
        return pickle.loads(data)
    except Exception:  # imports of user code may raise anything
        text = traceback.format_exc(limit=-3)
        return lambda *_: (_ for _ in ()).throw(RuntimeError(f"cannot load the {what}: {text}"))


def _call(function: Any, task: Any, text: str) -> Verdict:
    try:
        value = function(task, text)
        if inspect.isawaitable(value):
            value = asyncio.run(_await(value))
    except BaseException as error:  # whatever user code raises is told, SystemExit included
        return unscored("raised", "the reward function raised " + last_lines(error))
    return verdict_of(value)


async def _await(value: Any) -> Any:
    return await value


def last_lines(error: BaseException) -> str:
    """Of the traceback, from where user code begins."""
    inner = error.__traceback__ and error.__traceback__.tb_next
    return "".join(traceback.format_exception(type(error), error, inner, limit=-3))[-2000:]


def plain_of(verdict: Verdict, what: str) -> Any:
    """The verdict as JSON values of a size that is taken."""
    try:
        plain = to_plain(verdict)
        pack_plain(plain)
    except (FrameError, ValueError, TypeError, RecursionError) as error:
        return to_plain(unscored("bad value", f"{what} returned {error}"))
    return plain
