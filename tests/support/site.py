"""A place where the product runs for real: its database, its broker, workers and beat as processes.

Everything is started in sessions of its own and killed at the end; `settle` waits until no workflow can go on
by itself and then holds the site to the invariants and to the effects of its handlers.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

import psutil

from remand_app.bell import bell_to
from remand_app.config import Settings
from remand_app.embedded import launch
from remand_app.engine.operate import Who, cancel
from remand_app.engine.publish import publish
from remand_app.engine.submit import SubmitRequest, submit, submit_many
from remand_app.runtime import Runtime
from remand_app.store import workers
from remand_app.store.steps import Attempt, Step, attempts_of, steps_of
from remand_app.store.workflows import Workflow, find_workflow
from tests.support.invariants import check_invariants
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
REMAND = Path(sys.executable).with_name("remand")
TEMPLATES = Path(__file__).with_name("templates.yaml")
RETRIES = ("retry.exponential", "retry.linear", "retry.immediate", "retry.never")
SUPPORT = (*RETRIES, "remand.maintenance", "remand.commands")
PATIENCE_SECONDS = 60.0
"""Ample on a loaded machine; what is asserted is that it comes about, not how fast."""
_UNGUARDED: Mapping[str, Any] = {"breaker": {"enabled": False}, "retry_budget": {"enabled": False}}
_UNDER_WAY = (
    "select id, state from remand.workflows"
    " where state not in ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures')"
)
_WINNERS = (
    "select a.workflow_id::text, a.step, a.attempt from remand.all_attempts a where a.outcome = 'complete'"
)


@dataclass(frozen=True, slots=True)
class Effect:
    """One line that a handler wrote."""

    kind: str
    workflow_id: str
    step: str
    attempt: int
    pid: int
    key: str


def _variables(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield a setting as environment variables, one for each number in a table."""
    if not isinstance(value, Mapping):
        yield name, str(value)
        return
    joint = "_" if name == "REMAND" else "__"
    for key, item in value.items():
        yield from _variables(f"{name}{joint}{key.upper()}", item)


def hear_hangups() -> None:
    """Undo what a test run under `nohup` would hand on: workers that are deaf to a closed terminal."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _runs(pid: int) -> bool:
    """Return True while a pid is a worker's process: neither a corpse nor somebody else by now."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and "celery" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


class Site:
    """One database, one broker, and the processes that a test started on them."""

    open_sites: ClassVar[list[Site]] = []

    def __init__(
        self, folder: Path, database_url: str, broker_url: str, *, publishes: bool = True, **settings: Any
    ) -> None:
        """`settings`: other than the defaults, for this process and for all that is started.

        `publishes`: False where the database is of another release, which published them.

        Breakers and budgets are off: tests that let many steps fail need not mind them; theirs turn them on.
        """
        self.folder = folder
        given = {**_UNGUARDED, **settings}
        self.settings = Settings.model_validate(
            {"database_url": database_url, "broker_url": broker_url, **given}
        )
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("REMAND_")},
            "REMAND_DATABASE_URL": database_url,
            "REMAND_BROKER_URL": broker_url,
            "REMAND_HANDLERS": "tests.support.handlers",
            "REMAND_TEMPLATES": str(TEMPLATES),
            "SITE_FOLDER": str(folder),
            "NO_COLOR": "1",
            **dict(_variables("REMAND", given)),
        }
        self._bell = bell_to(broker_url, self.settings.broker_queue_type)
        self.runtime = Runtime(self.settings, bell=self._bell)
        self.database = self.runtime.database
        self.engine = self.runtime.engine
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._groups: set[int] = set()
        if publishes:
            publish(self.engine.templates, [TEMPLATES])

    def __enter__(self) -> Self:
        Site.open_sites.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            Site.open_sites.remove(self)
            self._bell.flush()
            self._bell._app.close()
            self.database.dispose()

    # What runs.

    def start_worker(
        self,
        name: str = "steps",
        queues: Sequence[str] = ("steps",),
        *,
        concurrency: int = 2,
        pool: str = "prefork",
        app: str = "remand_workers",
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
    ) -> subprocess.Popen[bytes]:
        """Start a worker; it is not waited for. A name may be used again once its process has ended."""
        arguments = [
            "worker", "-Q", ",".join(queues), "-c", str(concurrency), "-P", pool, "-n", f"{name}@site",
            "--without-mingle", "--without-gossip",
        ]  # fmt: skip
        return self.start(name, [sys.executable, "-m", "celery", "-q", "-A", app, *arguments], env, cwd)

    def start_beat(self, name: str = "beat") -> subprocess.Popen[bytes]:
        """Start a beat."""
        return self.start(name, [sys.executable, "-m", "celery", "-q", "-A", "remand_workers", "beat"])

    def start_support(self) -> None:
        """Start what every site needs beside its step workers: retries, sweeps, commands, and beat."""
        self.start_worker("support", SUPPORT, concurrency=1)
        self.start_beat()

    def start(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
    ) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own; it dies with the test process, however that ends.

        Its output goes to a log that failed tests show.
        """
        assert name not in self.processes or self.processes[name].poll() is not None, f"{name} still runs"
        with self.log_path(name).open("ab") as log:
            process = subprocess.Popen(
                launch.command(command, death_signal=signal.SIGKILL),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=cwd,
                env={**self.environment, **(env or {})},
                start_new_session=True,
                preexec_fn=hear_hangups,  # noqa: PLW1509 - one call to the kernel, which needs no lock
            )
        self.processes[name] = process
        self._groups.add(process.pid)
        return process

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**self.environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def cli(self, *words: str, exits: int = 0, env: Mapping[str, str] | None = None) -> Any:
        """Run `remand … --json`, hold it to its exit code, and return what it answered."""
        done = self.run(*self.remand(*words, "--json"), env=env)
        assert done.returncode == exits, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)

    @staticmethod
    def remand(*words: str) -> list[str]:
        """Return the command line of `remand`."""
        return [str(REMAND), *words]

    def kill(self, name: str, number: int = signal.SIGKILL, *, group: bool = True) -> None:
        """Signal a program, or its main process alone; after SIGKILL wait for its end."""
        process = self.processes[name]
        if group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait(30)

    def kill_workers(self) -> None:
        """Kill every worker but the support, so that the next test starts its own."""
        for name, process in self.processes.items():
            if name not in ("support", "beat") and process.poll() is None:
                self.kill(name)

    def cancel_what_is_left(self) -> None:
        """Cancel what nobody will go on with, so that the next test need not wait for it."""
        for workflow_id, _ in self.database.call(_UNDER_WAY):
            cancel(self.engine, workflow_id, Who("test", "left behind"))

    def terminate(self, name: str) -> int:
        """Ask a program to end (its main process alone, as a container does) and return its exit code."""
        self.kill(name, signal.SIGTERM, group=False)
        return self.processes[name].wait(PATIENCE_SECONDS)

    def children(self, name: str) -> list[int]:
        """Return the process ids of a worker's pool; corpses that it has not reaped yet are none of it."""
        return [
            pid for child in psutil.Process(self.processes[name].pid).children() if _runs(pid := child.pid)
        ]

    def stop(self) -> None:
        """Kill all that was started, and make sure that nothing is left."""
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
        eventually(lambda: not self._left(), timeout=30, message="processes are left")
        self.processes.clear()

    def _left(self) -> list[psutil.Process]:
        left = []
        for process in psutil.process_iter():
            with contextlib.suppress(ProcessLookupError, psutil.Error):
                if os.getpgid(process.pid) in self._groups and process.status() != psutil.STATUS_ZOMBIE:
                    left.append(process)
        return left

    def ready(self, *names: str) -> None:
        """Wait until these workers are registered."""

        def missing() -> set[str]:
            up = {row.hostname for row in workers.listed(self.database) if row.stopped_at is None}
            return {f"{name}@site" for name in names} - up

        eventually(lambda: not missing(), timeout=PATIENCE_SECONDS, message=f"{names} do not start")

    def log_path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def logs(self) -> Iterator[tuple[str, str]]:
        """Yield the end of every log."""
        for path in sorted(self.folder.glob("*.log")):
            yield path.stem, path.read_text(errors="replace")[-6000:]

    # What is asked of it.

    def submit(self, ref: str = "site/one", **parts: Any) -> UUID:
        """Submit a workflow whose steps play these parts."""
        return submit(self.engine, ref, SubmitRequest(parts), by="test").workflow_id

    def submit_many(self, count: int, ref: str = "site/one", **parts: Any) -> list[UUID]:
        answers = submit_many(self.engine, ref, [SubmitRequest(parts)] * count, by="test")
        return [answer.workflow_id for answer in answers]

    def release(self, name: str = "all") -> None:
        """Let the steps go on that hold for this name."""
        (self.folder / f"release-{name}").touch()

    # What came of it.

    def workflow(self, workflow_id: UUID) -> Workflow:
        return find_workflow(self.database, str(workflow_id))

    def states(self, workflow_ids: Sequence[UUID]) -> Counter[str]:
        rows = self.database.call(
            "select state from remand.workflows where id = any(%s::uuid[])", (list(workflow_ids),)
        )
        return Counter(row[0] for row in rows)

    def steps(self, workflow_id: UUID) -> dict[str, Step]:
        return {step.name: step for step in steps_of(self.database, workflow_id)}

    def attempts(self, workflow_id: UUID, step: str = "only") -> list[Attempt]:
        return attempts_of(self.database, workflow_id, step)

    def outcomes(self, workflow_id: UUID, step: str = "only") -> list[str]:
        return [attempt.outcome for attempt in self.attempts(workflow_id, step)]

    def effects(self, kind: str | None = None, workflow_id: UUID | None = None) -> list[Effect]:
        """Return what handlers did, in order."""
        path = self.folder / "effects"
        lines = path.read_text().splitlines() if path.exists() else []
        found = []
        for line in lines:
            its_kind, workflow, step, attempt, pid, key = line.split(" ")
            found.append(Effect(its_kind, workflow, step, int(attempt), int(pid), key))
        return [
            one for one in found if kind in (None, one.kind) and workflow_id in (None, UUID(one.workflow_id))
        ]

    def started(self, workflow_id: UUID, *, attempt: int = 1, step: str = "only") -> Effect:
        """Wait until an attempt has started."""

        def find() -> Effect | None:
            of_it = self.effects("start", workflow_id)
            return next((one for one in of_it if (one.step, one.attempt) == (step, attempt)), None)

        return eventually(find, timeout=PATIENCE_SECONDS, message=f"attempt {attempt} does not start")  # type: ignore[return-value]

    def settle(self, *, timeout: float = PATIENCE_SECONDS) -> None:
        """Wait until every workflow has ended or needs a person, then check that all is as it must be."""

        def at_rest() -> bool:
            under_way = self.database.call(_UNDER_WAY)
            assert not under_way, f"still under way: {under_way[:5]} of {len(under_way)}"
            return True

        eventually(at_rest, timeout=timeout)
        self.check()

    def check(self) -> None:
        """Hold the site to the invariants, and its effects to its records."""
        check_invariants(self.database, self.settings)
        ran_by: dict[tuple[str, str, int], list[int]] = {}
        for one in self.effects("start"):
            ran_by.setdefault((one.workflow_id, one.step, one.attempt), []).append(one.pid)
        # What a process had run but not recorded when it died goes back uncounted with its whole batch.
        doubled = {what: pids for what, pids in ran_by.items() if any(map(_runs, pids[:-1]))}
        assert not doubled, f"attempts that ran again though their process lives: {doubled}"
        played = {(one.workflow_id, one.step) for one in self.effects("start")}
        ended = {(one.workflow_id, one.step, one.attempt) for one in self.effects("end")}
        for workflow, step, attempt in self.database.call(_WINNERS):
            assert (workflow, step) not in played or (workflow, step, attempt) in ended, (
                f"attempt {attempt} of {step} of {workflow} is recorded as a success but never ended"
            )
