"""A process between `eval-pipeline ui` and what it starts: it ends them all when they are wanted no more.

It is started with a pipe as its standard input, of which whoever wants the program to run holds the other end. However
that one ends, and be it by SIGKILL, the pipe ends with it. The program is put into a process group of its own, which
takes in whatever it starts, so that nothing of it is left behind.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import FrameType

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 4.0  # for what was asked to end, before it is ended
_LOOK_S = 0.05


def run_guarded(command: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """The exit status of a program that ended by itself, or None if this process was asked to end; all of it is gone.

    Should this process be killed, all of the program ends too, a moment later.
    """
    for asked in _ENDINGS:
        signal.signal(asked, _as_interrupt)  # also where a shell that started this in the background has it ignored
    guard = subprocess.Popen(
        [sys.executable, "-P", __file__, *command], stdin=subprocess.PIPE, env=environment, start_new_session=True
    )
    assert guard.stdin is not None
    try:
        return guard.wait()
    except KeyboardInterrupt:
        guard.stdin.close()
        guard.wait()
        return None


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Runs the program of the arguments until it or the pipe ends, and exits as it did, once all of it is gone."""
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)

    def end(_signal: int, _frame: FrameType | None) -> None:
        _ask_to_end(program.pid)

    # Handlers of Python's own are not inherited, so the program begins with the default of each signal.
    for asked in _ENDINGS:
        signal.signal(asked, end)
    threading.Thread(target=_end_with_the_pipe, args=(program.pid,), daemon=True).start()
    status = program.wait()
    end_group(program.pid)
    sys.exit(status if status >= 0 else 128 - status)


def end_group(leader: int) -> None:
    """Asks all of a process group to end, and ends what has not within the patience."""
    _ask_to_end(leader)
    deadline = time.monotonic() + PATIENCE_S
    while _is_there(leader) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _end_with_the_pipe(leader: int) -> None:
    while os.read(sys.stdin.fileno(), 1):  # a read by way of a buffer could not be broken off when this process ends
        continue
    end_group(leader)


def _ask_to_end(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGTERM)


def _is_there(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main()
