"""A Ctrl-C that Python could not pass on is not lost."""

import contextlib
import os
import signal

import pytest

from proofgym.interrupts import Interrupts


def test_an_interrupt_that_a_finalizer_swallowed_is_raised_at_the_next_look():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.check()
        with contextlib.suppress(KeyboardInterrupt):  # as code does that cannot pass it on
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    assert signal.getsignal(signal.SIGINT) is before


def test_without_one_nothing_is_raised():
    with Interrupts() as interrupts:
        interrupts.check()
