"""Composition root: settings → database, templates, clock, bell, handlers → engine.

The only module that knows all parts. A process makes one `Runtime` and passes its parts on.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Sequence
from uuid import UUID

from remand.handler import Handlers, registry
from remand_app.clock import Clock, DatabaseClock
from remand_app.config import Settings
from remand_app.domain.errors import ConfigInvalid, HandlerNotFound, Problem
from remand_app.engine.attempt_counter import AttemptCounter
from remand_app.engine.audience import Audience, Audiences
from remand_app.engine.bell import Bell, SilentBell
from remand_app.engine.breakers import Breakers
from remand_app.engine.engine import Engine
from remand_app.engine.executor import Executor
from remand_app.engine.leases import lease_slack
from remand_app.engine.process_table import ProcessTable
from remand_app.engine.routing import Routing
from remand_app.engine.rule_sets import RuleSets, load_books
from remand_app.engine.spans import Spans
from remand_app.store import schema
from remand_app.store.database import Database
from remand_app.store.run_queue import RunQueue
from remand_app.store.templates import Templates
from remand_app.telemetry import traces


class Runtime:
    """The parts of one process."""

    def __init__(
        self,
        settings: Settings,
        *,
        bell: Bell | None = None,
        clock: Clock | None = None,
        pool_size: int = 5,
        database: Database | None = None,
    ) -> None:
        """`bell`: None is a silent one, for programs without a broker. `pool_size`: connections to keep open.

        `database`: an existing one to use.

        Raises:
            ConfigInvalid: no database is set; or traces are to be told, and OpenTelemetry is not installed.
        """
        if settings.database_url is None:
            raise ConfigInvalid(
                [Problem(None, None, "database_url", "is not set", "CONFIG_INVALID")],
            )
        if settings.traces:
            traces.start()
        self.settings = settings
        self.database = database or Database(settings.database_url, pool_size=pool_size)
        self.engine = Engine(
            database=self.database,
            templates=Templates(self.database),
            bell=bell if bell is not None else SilentBell(),
            clock=clock if clock is not None else DatabaseClock(),
            settings=settings,
        )

    def check_schema(self) -> None:
        """Refuse a schema this code does not know. Raises as `schema.check` does."""
        schema.check(self.database)

    def run_queue(self, worker: UUID) -> RunQueue:
        """Return the run queue as this process of a worker incarnation sees it."""
        return RunQueue(
            self.database,
            self.engine.clock,
            worker=worker,
            # Each thread of a process has its own drain; the main thread's number is that of the process.
            pid=threading.get_native_id(),
            timeout_seconds=self.settings.default_step_timeout_seconds,
            slack_seconds=lease_slack(self.settings),
        )

    def drain(
        self,
        worker: UUID,
        processes: ProcessTable | None = None,
        handlers: Handlers = registry,
        books: RuleSets | None = None,
        audience: Audience | None = None,
    ) -> Executor:
        """Return the executor of this thread; `books`: the result of `load_books`, None: it is called."""
        told = traces.active()
        if told is not None:
            spans = Spans(told)
            audience = spans if audience is None else Audiences([audience, spans])
        return Executor(
            queue=self.run_queue(worker),
            handlers=handlers,
            routing=Routing(
                self.engine.templates,
                self.settings,
                books if books is not None else load_books(self.settings),
            ),
            bell=self.engine.bell,
            settings=self.settings,
            breakers=Breakers(self.engine),
            counter=AttemptCounter(self.database, self.engine.templates, self.engine.clock),
            processes=processes,
            audience=audience,
        )


def import_handlers(modules: Sequence[str]) -> None:
    """Import the modules in which users define handlers.

    Raises:
        HandlerNotFound: a module is not there, something it needs is not, it fails, or it is Remand's own.
    """
    for name in modules:
        _refuse_own(name)
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise HandlerNotFound(
                f"the handler module {name!r} cannot be imported: {error}",
                hint="check the setting `handlers` and that the module is on PYTHONPATH of the worker",
            ) from error
        except Exception as error:  # the door to users' modules: whatever they raise when imported
            raise HandlerNotFound(
                f"the handler module {name!r} fails when it is imported: {type(error).__name__}: {error}",
                hint=f"python -c 'import {name}' shows where",
            ) from error


_OWN_PACKAGES = frozenset({"remand", "remand_app", "remand_migrations", "remand_workers"})


def _refuse_own(name: str) -> None:
    """Refuse a module of ours: it has no handlers, and hides a user's module of the same name."""
    top = name.partition(".")[0]
    if top in _OWN_PACKAGES:
        raise HandlerNotFound(
            f"the handler module {name!r} is not imported: {top!r} belongs to Remand itself",
            hint=f"give your package another name than {top!r}, and name it in the setting `handlers`",
        )
