"""The child process of `reward.py`: runs the user's function, one call at a time."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import pickle
import signal
import struct
import sys
import traceback
from typing import Any, BinaryIO

import proofgym.types  # noqa: F401  loaded before the first call, so that no call pays for it


def main() -> None:
    _die_with_parent()
    # The reply channel is moved away from file 1, so that what the function prints cannot forge it.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    function = _load(requests)
    replies.write(b"R")  # ready: what follows is on the call's own time
    replies.flush()
    while (request := _receive(requests)) is not None:
        reply = pickle.dumps(_call(function, *pickle.loads(request)))
        replies.write(struct.pack("<I", len(reply)) + reply)
        replies.flush()


def _load(requests: BinaryIO) -> Any:
    data = _receive(requests)
    try:
        return pickle.loads(data or b"")
    except Exception:  # imports of user code may raise anything; reported with every call
        text = traceback.format_exc(limit=-3)
        return lambda *_: (_ for _ in ()).throw(RuntimeError(f"cannot load the reward: {text}"))


def _call(function: Any, task: Any, text: str) -> tuple[str, Any]:
    try:
        value = function(task, text)
        if inspect.isawaitable(value):
            value = asyncio.run(_await(value))
        pickle.dumps(value)
    except BaseException:  # whatever user code raises is told, SystemExit included
        return "raised", "the reward function raised " + traceback.format_exc(limit=-3)[-2000:]
    return "ok", value


async def _await(value: Any) -> Any:
    return await value


def _receive(stream: BinaryIO) -> bytes | None:
    head = stream.read(4)
    if len(head) < 4:
        return None
    return stream.read(struct.unpack("<I", head)[0])


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    main()
