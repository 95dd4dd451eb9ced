"""The checks that the server has taken on: so many run at once, the rest wait their turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import HTTPException, Request

from proofgym.lean.server.metrics import Metrics
from proofgym.sandboxes.cancellation import Cancellation

T = TypeVar("T")


class Work:
    """Runs blocking checks in threads, first come, first served."""

    def __init__(self, workers: int, queue: int, metrics: Metrics) -> None:
        self._queue, self._metrics = queue, metrics
        self._slots = asyncio.Semaphore(workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="check")
        self._taken = 0  # waiting or under way
        self._running: set[Cancellation] = set()
        metrics.slots.set(workers)

    async def do_all(self, request: Request, checks: Iterable[Callable[[], T]]) -> list[T]:
        """The results in order; if the client leaves, everything of it that runs is ended.

        Raises:
            HTTPException: 429, there is no room for all of them; nothing was begun.
        """
        waiting = list(checks)
        if self._taken + len(waiting) > self._queue:
            raise HTTPException(
                429,
                f"{self._taken} checks wait or run and {len(waiting)} more would be above the "
                f"limit of {self._queue}; try again later",
                headers={"Retry-After": "1"},
            )
        self._taken += len(waiting)
        try:
            return await _unless_gone(request, _gather(self._do(check) for check in waiting))
        finally:
            self._taken -= len(waiting)

    async def _do(self, check: Callable[[], T]) -> T:
        began = time.monotonic()
        with self._metrics.waiting.track_inprogress():
            await self._slots.acquire()
        try:
            self._metrics.queue_s.observe(time.monotonic() - began)
            with self._metrics.running.track_inprogress(), self._metrics.check_s.time():
                return await self._run(check)
        finally:
            self._slots.release()

    async def _run(self, check: Callable[[], T]) -> T:
        cancellation = Cancellation()

        def call() -> T:
            with cancellation.active():
                return check()

        self._running.add(cancellation)
        future = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self._metrics.cancelled.inc()
            cancellation.cancel()
            await asyncio.wait([future])  # the slot is free when Lean is gone, not before
            raise
        finally:
            self._running.discard(cancellation)

    async def close(self) -> None:
        """End whatever still runs, and the threads."""
        for cancellation in self._running:
            cancellation.cancel()
        # Not in the loop's own thread: cancelled requests still have to hear of it there.
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)


async def _gather(checks: Iterable[Awaitable[T]]) -> list[T]:
    return list(await asyncio.gather(*checks))


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    task, gone = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise HTTPException(499, "the client left")
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(request: Request) -> None:
    """Returns when the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
