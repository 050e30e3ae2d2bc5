"""Rules for child processes: exit codes, signals (negative numbers) and pools."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import PERMANENT, PERMISSION, RESOURCE, TRANSIENT, VALIDATION, Rule, under

_EXIT: Final = "sysexits(3); bash manual, exit status"

RULES: Final = (
    Rule("exit.killed", "exit", (-9,), RESOURCE, "the process was killed, usually for its memory", _EXIT),
    Rule("exit.terminated", "exit", (-1, -2, -13, -15), TRANSIENT, "the process was told to stop", _EXIT),
    Rule(
        "exit.crashed",
        "exit",
        (-4, -5, -6, -7, -8, -11, -31),
        RESOURCE,
        "the process crashed in native code",
        _EXIT,
        confidence=0.7,
    ),
    Rule("exit.limit", "exit", (-24, -25), RESOURCE, "the process ran into its CPU or file limit", _EXIT),
    Rule("exit.try-again", "exit", (75,), TRANSIENT, "the program says try again (EX_TEMPFAIL)", _EXIT),
    Rule(
        "exit.unavailable",
        "exit",
        (69,),
        TRANSIENT,
        "a service the program needs is away (EX_UNAVAILABLE)",
        _EXIT,
    ),
    Rule(
        "exit.system",
        "exit",
        (71, 74),
        TRANSIENT,
        "the program met a system or I/O error",
        _EXIT,
        confidence=0.8,
    ),
    Rule("exit.timeout", "exit", (124,), TRANSIENT, "the program ran into timeout(1)", _EXIT, confidence=0.8),
    Rule(
        "exit.protocol",
        "exit",
        (76,),
        "network",
        "the far side broke the protocol (EX_PROTOCOL)",
        _EXIT,
        confidence=0.7,
    ),
    Rule("exit.data", "exit", (65,), VALIDATION, "the program refuses the data (EX_DATAERR)", _EXIT),
    Rule("exit.usage", "exit", (2, 64), PERMANENT, "the program was called wrongly", _EXIT, confidence=0.8),
    Rule(
        "exit.missing-input",
        "exit",
        (66, 67, 68, 72),
        PERMANENT,
        "the program misses a file, user or host",
        _EXIT,
    ),
    Rule(
        "exit.software", "exit", (70,), PERMANENT, "the program met an error of its own (EX_SOFTWARE)", _EXIT
    ),
    Rule(
        "exit.cannot-create",
        "exit",
        (73,),
        PERMANENT,
        "the program cannot write its output",
        _EXIT,
        confidence=0.8,
    ),
    Rule("exit.config", "exit", (78,), PERMANENT, "the program is configured wrongly (EX_CONFIG)", _EXIT),
    Rule("exit.denied", "exit", (77, 126), PERMISSION, "the program lacks a right or may not be run", _EXIT),
    Rule("exit.not-found", "exit", (127,), PERMANENT, "there is no such command", _EXIT),
    Rule(
        "process.failed",
        "fallback",
        (
            "subprocess.CalledProcessError",
            "docker.errors.ContainerError",
            "sh.ErrorReturnCode",
            "invoke.exceptions.UnexpectedExit",
        ),
        TRANSIENT,
        "the program failed and its exit code does not say why",
        _EXIT,
        confidence=0.4,
    ),
    Rule(
        "process.timeout",
        "type",
        (
            "subprocess.TimeoutExpired",
            "invoke.exceptions.CommandTimedOut",
            "multiprocessing.context.TimeoutError",
        ),
        TRANSIENT,
        "the program did not end in time",
        "https://docs.python.org/3/library/subprocess.html",
    ),
    Rule(
        "process.pool-broken",
        "type",
        under("concurrent.futures.process", names="BrokenProcessPool")
        + under("concurrent.futures.thread", names="BrokenThreadPool")
        + ("concurrent.futures._base.BrokenExecutor",),
        RESOURCE,
        "a child of the pool died, often killed for its memory",
        "https://docs.python.org/3/library/concurrent.futures.html",
    ),
)
