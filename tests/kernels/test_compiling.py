"""Signals that arrive while kernels are compiled wait until the compiler is done."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from lacunary.kernels.compile import bare
from lacunary.kernels.compiling import uncollected, uninterrupted


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Interrupts are heard, even where tests were begun in the background, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_waits_until_the_block_is_over() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        done.append("all of it")
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_within_blocks_hand_the_signal_on() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]


def test_what_fails_inside_is_said_unless_a_signal_came() -> None:
    with pytest.raises(ZeroDivisionError), uninterrupted():
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_has_no_signals_to_hold() -> None:
    ran = []

    def work() -> None:
        with uninterrupted():
            ran.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ran == [True]


def test_garbage_waits_until_the_block_is_over_and_stays_where_nobody_collects() -> None:
    before = gc.isenabled()
    try:
        for wanted in (True, False):
            (gc.enable if wanted else gc.disable)()
            with pytest.raises(ZeroDivisionError), uncollected():  # noqa: PT012
                assert not gc.isenabled()
                raise ZeroDivisionError
            assert gc.isenabled() == wanted
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_an_interrupt_does_not_break_a_compilation() -> None:
    """The signal comes a moment after compilation began; the kernel is whole when it is heard."""

    @bare
    def tenfold(x: float) -> float:
        total = 0.0
        for _ in range(10):
            total += x
        return total

    timer = threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        timer.start()
        tenfold(1.0)
        timer.join()
    assert tenfold(2.0) == 20.0
