"""The same step as a SimPy model, written independently of the compiled event loop.

Processes and shared state instead of an event loop with heaps; no sharing of processors.
"""

from __future__ import annotations

import math
from collections import deque

import simpy

from proofgym.planning import Pool, Step
from proofgym.planning.step import Draws


class Model:
    def __init__(self, step: Step, pool: Pool, draws: Draws) -> None:
        self.env = simpy.Environment()
        self.draws, self.pool = draws, pool
        self.size = math.inf if pool.size is None else pool.size
        self.uses = math.inf if pool.uses is None else pool.uses
        self.most_starting = math.inf if pool.starting is None else pool.starting
        self.line: deque = deque()  # events to trigger with a sandbox
        # A sandbox is (when it was born, its actions so far); these are idle.
        self.idle: list[tuple[int, int]] = [(born, 0) for born in range(pool.buffer)]
        self.born = pool.buffer
        self.starting = self.busy = self.started = self.lost = self.left = 0
        self.left = step.rollouts
        self.waits = [0.0] * step.rollouts
        self.finished = self.env.event()

    def run(self) -> float:
        for rollout in range(self.left):
            self.env.process(self.rollout(rollout))
        self.env.run(self.finished)
        return self.env.now

    def rollout(self, number: int):
        yield self.env.timeout(self.draws.arrivals_N[number])
        for attempt in range(self.draws.failures_AN.shape[0]):
            asked, given = self.env.now, self.env.event()
            self.line.append(given)
            self.balance()
            born, used = yield given
            self.waits[number] += self.env.now - asked
            failed = self.draws.failures_AN[attempt, number]
            times = self.draws.until_failure_AN[attempt] if failed else self.draws.services_N
            yield self.env.timeout(times[number])
            self.busy -= 1
            again = failed and attempt + 1 < self.draws.failures_AN.shape[0]
            if not failed and not self.draws.capped_N[number] and used + 1 < self.uses:
                self.idle.append((born, used + 1))
            if not again:
                break
            # The next attempt joins the line before the pool is balanced, as in the real pool.
        else:
            raise AssertionError("unreachable")
        self.lost += bool(failed)
        self.left -= 1
        self.balance()
        if self.left == 0:
            self.finished.succeed()

    def balance(self) -> None:
        self.idle.sort()  # the oldest is taken, and the oldest leaves
        while self.line and self.idle:
            self.busy += 1
            self.line.popleft().succeed(self.idle.pop(0))
        del self.idle[: max(0, len(self.idle) - self.pool.buffer)]
        while (
            self.starting < self.most_starting
            and len(self.idle) + self.starting + self.busy < self.size
            and len(self.idle) + self.starting < len(self.line) + self.pool.buffer
        ):
            self.starting += 1
            self.env.process(self.start(self.started))
            self.started += 1

    def start(self, number: int):
        yield self.env.timeout(self.draws.starts_S[number % self.draws.starts_S.size])
        self.starting -= 1
        self.idle.append((self.born, 0))
        self.born += 1
        self.balance()
