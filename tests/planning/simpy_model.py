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
        self.line: deque = deque()  # (rollout, event to trigger with the sandbox's age)
        self.ages: list[int] = [0] * pool.buffer  # of the idle sandboxes
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
            age = yield given
            self.waits[number] += self.env.now - asked
            failed = self.draws.failures_AN[attempt, number]
            times = self.draws.until_failure_AN[attempt] if failed else self.draws.services_N
            yield self.env.timeout(times[number])
            self.busy -= 1
            again = failed and attempt + 1 < self.draws.failures_AN.shape[0]
            if not failed and not self.draws.capped_N[number] and age + 1 < self.uses:
                self.ages.append(age + 1)
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
        while self.line and self.ages:
            self.busy += 1
            self.line.popleft().succeed(self.ages.pop())
        del self.ages[self.pool.buffer :]
        while (
            self.starting < self.most_starting
            and len(self.ages) + self.starting + self.busy < self.size
            and len(self.ages) + self.starting < len(self.line) + self.pool.buffer
        ):
            self.starting += 1
            self.env.process(self.start(self.started))
            self.started += 1

    def start(self, number: int):
        yield self.env.timeout(self.draws.starts_S[number % self.draws.starts_S.size])
        self.starting -= 1
        self.ages.append(0)
        self.balance()
