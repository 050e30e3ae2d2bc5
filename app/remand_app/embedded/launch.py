"""Become another user, ask the kernel to end us with the parent, and exec the wanted program; the pid stays.

This file runs as a script by path, without site packages and environment variables, because `preexec_fn` is
not safe in a process with threads. Only Linux supports all of it; elsewhere the watchdog alone notices the
parent's end. Everything is imported at the top: after the change of user, the interpreter's own files may be
out of reach.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Sequence

_PR_SET_PDEATHSIG, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 1, 28, 47, 2
_SECBIT_NO_SETUID_FIXUP = 4
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522
_KEEP = -1
NOT_STARTED = 127
"""Exit code of a child whose program could not be started; its log says why."""


def command(
    argv: Sequence[str],
    *,
    death_signal: int,
    uid: int | None = None,
    gid: int | None = None,
    overrides_access: bool = False,
) -> list[str]:
    """Wrap `argv` so that it runs as that user and gets `death_signal` when this process dies.

    The program is searched on PATH, but with a `uid` it has to be a path.
    """
    # The kernel signals when the creating *thread* ends: too early for any but the main one.
    if threading.current_thread() is not threading.main_thread():
        death_signal = 0
    orders = (
        os.getpid(),
        death_signal,
        _KEEP if uid is None else uid,
        _KEEP if gid is None else gid,
        int(overrides_access),
    )
    return [sys.executable, "-I", "-S", __file__, *map(str, orders), *argv]


def main(arguments: Sequence[str]) -> None:
    """Carry out the orders of `command`; returns only by exec or exit."""
    parent, death_signal, uid, gid, overrides_access = map(int, arguments[:5])
    argv = list(arguments[5:])
    try:
        if uid != _KEEP:
            _become(uid, gid, overrides_access=bool(overrides_access))
        _die_with(parent, death_signal)
        _restore_signals()
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.stderr.write(f"remand: cannot start {argv[0]}: {error}\n")
        sys.exit(NOT_STARTED)


def _become(uid: int, gid: int, *, overrides_access: bool) -> None:
    if overrides_access:
        # Without this bit, setuid drops the capability and access(2) ignores it for a user id other than 0.
        _prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if overrides_access:
        _keep_only_access_override()


def _keep_only_access_override() -> None:
    bit = 1 << _CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    effective_permitted_inheritable = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(ctypes.byref(header), ctypes.byref(effective_permitted_inheritable)) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE)


def _die_with(parent: int, death_signal: int) -> None:
    # After the change of user, which clears the request.
    if death_signal and sys.platform.startswith("linux"):
        _prctl(_PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:
        raise ProcessLookupError("the parent is gone already")


def _restore_signals() -> None:
    """Undo what the interpreter ignores: an ignored signal stays ignored across exec."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _prctl(option: int, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *padded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])
