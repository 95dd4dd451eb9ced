"""The event loop of one step, compiled. Importing this imports Numba.

Two heaps hold what is under way: starts by the clock, actions by the *work clock*. The work clock
runs at the speed at which each busy sandbox is served: 1 while there are cores for all, else
cores ÷ busy. An action of w processor seconds begun at work-clock reading v ends when it reads
v + w, so equal sharing among a million sandboxes costs one multiplication an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from proofgym.planning.heap import pop, push

NEVER = int(np.iinfo(np.int32).max)
"""As `uses` or `most_starting`: no limit."""


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, keeping the result on disk where there is a place for it."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no writable cache directory
        return numba.njit(nogil=True)(function)


@_jit
def run_step(
    arrivals,
    services,
    capped,
    failures,
    until_failure,
    starts,
    size,
    buffer,
    uses,
    most_starting,
    cores,
    late_s,
    most_late,
):
    """Simulate until the last rollout is done, or more than `most_late` have waited `late_s`.

    Returns whether it came to the end, waits [N] (seconds each rollout waited for sandboxes) and
    (end of the step; busy, idle and starting sandbox seconds; sandboxes started; attempts retried;
    rollouts given up; most sandboxes at once).
    """
    count, attempts = arrivals.size, failures.shape[0]
    waits, since = np.zeros(count), arrivals.copy()
    tried = np.zeros(count, np.int32)
    line = np.empty(count, np.int32)  # a ring: each rollout is in line at most once
    head = waiting = 0
    # Each sandbox has a number below `size`.
    used, work = np.zeros(size, np.int32), np.zeros(size, np.int32)
    free = np.arange(size - 1, -1, -1).astype(np.int32)
    # Idle ones by age, the oldest first. Their age is of no consequence where no use counts.
    ages, born = uses > 1 and uses < NEVER, np.zeros(size)
    ready_age, ready = np.zeros(size), np.empty(size, np.int32)
    busy_at, busy_who = np.empty(size), np.empty(size, np.int32)
    start_at, start_who = np.empty(size), np.empty(size, np.int32)
    idle, busy, starting, unused = buffer, 0, 0, size - buffer
    for place in range(buffer):
        ready[place] = free[unused + buffer - 1 - place]
        born[ready[place]] = ready_age[place] = place if ages else 0
    births = buffer
    now = clock = busy_s = idle_s = starting_s = 0.0
    arrived = done = started = retried = lost = late = 0
    peak = buffer
    while done < count and late <= most_late:
        speed = 1.0 if busy <= cores else cores / busy
        next_end = now + (busy_at[0] - clock) / speed if busy else np.inf
        next_start = start_at[0] if starting else np.inf
        next_arrival = arrivals[arrived] if arrived < count else np.inf
        moment = max(now, min(next_end, next_start, next_arrival))
        passed = moment - now
        busy_s += busy * passed
        idle_s += idle * passed
        starting_s += starting * passed
        now = moment
        if next_end <= moment:
            clock = busy_at[0]
            who = pop(busy_at, busy_who, busy)
            busy -= 1
            rollout = work[who]
            used[who] += 1
            failed = failures[tried[rollout], rollout]
            tried[rollout] += 1
            if failed and tried[rollout] < attempts:
                retried += 1
                since[rollout] = now
                line[(head + waiting) % count] = rollout
                waiting += 1
            else:
                lost += failed
                done += 1
            if failed or capped[rollout] or used[who] >= uses:
                free[unused] = who
                unused += 1
            else:
                push(ready_age, ready, idle, born[who], who)
                idle += 1
        elif next_start <= moment:
            clock += passed * speed
            who = pop(start_at, start_who, starting)
            starting -= 1
            born[who] = births if ages else 0
            births += 1
            push(ready_age, ready, idle, born[who], who)
            idle += 1
        else:
            clock += passed * speed
            line[(head + waiting) % count] = arrived
            waiting += 1
            arrived += 1
        while waiting and idle:
            who, rollout = pop(ready_age, ready, idle), line[head]
            idle -= 1
            head = (head + 1) % count
            waiting -= 1
            work[who] = rollout
            before = waits[rollout]
            waits[rollout] = before + (now - since[rollout])
            late += before <= late_s < waits[rollout]
            takes = services[rollout]
            if failures[tried[rollout], rollout]:
                takes = until_failure[tried[rollout], rollout]
            push(busy_at, busy_who, busy, clock + takes, who)
            busy += 1
        while idle > buffer:
            free[unused] = pop(ready_age, ready, idle)
            idle -= 1
            unused += 1
        while unused and starting < most_starting and idle + starting < waiting + buffer:
            unused -= 1
            who = free[unused]
            used[who] = 0
            push(start_at, start_who, starting, now + starts[started % starts.size], who)
            starting += 1
            started += 1
        peak = max(peak, size - unused)
    return done == count, waits, (now, busy_s, idle_s, starting_s, started, retried, lost, peak)
