"""Ways in which a user's code can go wrong, and what must come of each."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

GIGABYTE = 1 << 30
FINE = 0.25
"""The reward of what is not wrong."""

ANY = {
    "healthy": None,
    "slow": None,
    "prints 1 GB": None,
    "writes 1 GB to standard error": None,
    "leaves children": None,
    "leaves daemons": None,
    "sleeps for ever": "timed out",
    "never returns": "timed out",
    "leaves by os._exit": "died",
    "leaves children and dies": "died",
    "kills itself": "died",
    "segmentation fault": "died",
    "raises": "raised",
    "raises SystemExit": "raised",
    "raises KeyboardInterrupt": "raised",
    "deep recursion": "raised",
    "returns NaN": "bad value",
    "returns infinity": "bad value",
    "returns a huge integer": "bad value",
    "returns text": "bad value",
    "returns a list": "bad value",
    "returns a list of lists": "bad value",
    "returns wrong components": "bad value",
    "returns what cannot be a number": "bad value",
    "returns 1 GB": "bad value",
    "returns None": "none",
}
"""What every kind of code can do, and the kind of no score (None: a score)."""

AWAITING = {"awaits for ever": "timed out"}

EPISODE = {
    "awaits for ever": "timeout",
    "raises after two turns": "raised",
    "hangs after two turns": "timed out",
    "dies in a thread": "died",
    "hangs in a callback": "timed out",
    "uses up its turns": "failed",
    "calls without end": "failed",
}
"""What only episodes can do, and the kind of no score, or the status of an own failure."""


class Odd:
    """Raises whatever is done with it."""

    def __float__(self) -> float:
        raise OSError("no number")

    def __reduce__(self) -> Any:
        return int, ("no number",)

    def __repr__(self) -> str:
        raise ValueError("no text either")


def misbehave(case: str) -> Any:
    """Do it."""
    match case:
        case "slow":
            time.sleep(1.0)
        case "sleeps for ever":
            time.sleep(1e9)
        case "never returns":
            while True:
                pass
        case "leaves by os._exit":
            os._exit(3)
        case "kills itself":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segmentation fault":
            ctypes.string_at(0)
        case "raises":
            raise KeyError("a missing answer")
        case "raises SystemExit":
            sys.exit(0)
        case "raises KeyboardInterrupt":
            raise KeyboardInterrupt
        case "deep recursion":
            return misbehave(case)
        case "prints 1 GB":
            _flood(1)
        case "writes 1 GB to standard error":
            _flood(2)
        case "leaves children" | "leaves children and dies":
            subprocess.Popen(["sleep", "1000"])
            if case.endswith("dies"):
                os._exit(4)
        case "leaves daemons":
            subprocess.run(["setsid", "sh", "-c", "sleep 1000 & (sleep 1000 &) &"], check=True)
    return value(case)


def _flood(fd: int) -> None:
    for _ in range(GIGABYTE >> 20):
        os.write(fd, b"x" * (1 << 20))


def value(case: str) -> Any:
    """What it returns, if it returns."""
    match case:
        case "returns NaN":
            return float("nan")
        case "returns infinity":
            return float("inf")
        case "returns a huge integer":
            return 10**400
        case "returns text":
            return "good"
        case "returns a list":
            return [0.5, 0.5]
        case "returns a list of lists":
            return [[0.5]]
        case "returns wrong components":
            return {"a": 0.5, "b": "x"}
        case "returns what cannot be a number":
            return Odd()
        case "returns 1 GB":
            return b"x" * GIGABYTE
        case "returns None":
            return None
    return FINE


def reward(task: Any, text: str) -> Any:
    return misbehave(task.data["case"])


async def later(task: Any, text: str) -> Any:
    await asyncio.sleep(0)
    if task.data["case"] == "awaits for ever":
        await asyncio.sleep(1e9)
    return misbehave(task.data["case"])


async def episode(chat: Any, task: Any, sandbox: Any) -> Any:
    case = task.data["case"]
    await chat(task.prompt)
    if "two turns" in case or case == "uses up its turns":
        await chat(" and? ")
    match case:
        case "awaits for ever":
            await asyncio.sleep(1e9)
        case "raises after two turns":
            misbehave("raises")
        case "hangs after two turns":
            misbehave("never returns")
        case "dies in a thread":
            threading.Timer(0.3, os._exit, [5]).start()
            await asyncio.sleep(5)
        case "hangs in a callback":
            asyncio.get_running_loop().call_soon(time.sleep, 1e9)
            await asyncio.sleep(5)
        case "uses up its turns" | "calls without end":
            while True:
                await chat(" and? ")
    await chat(" so? ")
    return misbehave(case)
