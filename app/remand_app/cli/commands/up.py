"""`remand up`: everything on this machine, in one command."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.text import Text

from remand.errors import RemandError
from remand.redact import redact_text
from remand_app.cli.context import ROOT, START, Cli
from remand_app.cli.dashboard_address import base_url, link_to, written_down
from remand_app.cli.decider import operator
from remand_app.cli.file_watch import Changes
from remand_app.cli.local_stack import LocalStack, Size
from remand_app.cli.render.output import span
from remand_app.cli.render.wording import command, next_steps
from remand_app.domain.access import Role, account_name_like
from remand_app.domain.errors import EmbeddedUnavailable, UserNotFound
from remand_app.domain.template import Template
from remand_app.embedded.processes import ProcessExit
from remand_app.embedded.stack import Endpoints
from remand_app.engine import access
from remand_app.engine.operate import Who
from remand_app.resources.database import schema
from remand_app.runtime import import_handlers

START_SECONDS = 60.0
_NAMED = 3


@ROOT.verb(
    "up",
    panel=START,
    examples=(
        "remand up",
        "remand up --dev",
        "remand up --workers 2 --concurrency 4",
        "REMAND_HANDLERS=shop.steps REMAND_TEMPLATES=templates remand up",
    ),
)
def up(
    cli: Cli,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Step workers.")] = 1,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, max=256, help="Processes of each.")] = 2,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=1, max=65_535, help="Of the dashboard. Default: web.port, else any free one."
        ),
    ] = None,
    dev: Annotated[
        bool,
        typer.Option(
            "--dev",
            help="Run what is saved a moment later; a template may change under its version.",
        ),
    ] = False,
) -> None:
    """Start everything on this machine and keep it running until Ctrl-C.

    Where no URLs are set, a real Postgres and a real broker are started from the installed wheels, with their
    data in `data_dir`. Then the schema is migrated, the templates are published; workers, beat and the server
    of API and dashboard run. The link it prints signs you in, once.

    With --dev, for work on handlers and templates: what is saved runs a moment later, and a template may
    change under its version; workflows that are under way go on with the content they began with.

    Whatever way this ends, nothing is left running, and the next start goes on where it was.
    """
    import_handlers(cli.given.handlers)
    with (
        stopping() as is_stopping,
        LocalStack(
            cli.given, cli.config, Size(workers, concurrency), lambda gone: _tell_exit(cli, stack, gone)
        ) as stack,
    ):
        is_first = _run(cli, stack, port, is_stopping, dev=dev)
    if is_first:
        cli.out.say("stopped")


def _run(cli: Cli, stack: LocalStack, port: int | None, until: Callable[[], bool], *, dev: bool) -> bool:
    """Start everything and watch it until `until()`; False: it runs already, as was told."""
    begun = time.monotonic()
    endpoints = stack.start_servers()
    if endpoints is not None and not endpoints.started_here:
        _tell_running(cli, stack, endpoints)
        return False
    published = stack.prepare(replaces=dev)
    names, url = _start(stack, port, until)
    with written_down(stack.settings, url):
        _tell_ready(cli, stack, published, [*names, "server"], time.monotonic() - begun)
        stack.run(_reloading(cli, stack, until) if dev else until)
    cli.out.say("stopping …")
    return True


def _start(stack: LocalStack, port: int | None, is_stopping: Callable[[], bool]) -> tuple[list[str], str]:
    """Start workers and server; return the names of the workers, and the address of the server.

    Raises:
        EmbeddedUnavailable: they are not there in time.
    """
    names = stack.start_workers()
    url = stack.start_server(port)
    is_up = stack.wait_until_heard(START_SECONDS) and stack.wait_until_served(START_SECONDS)
    if not is_up and not is_stopping():
        raise EmbeddedUnavailable(
            f"workers and server did not start within {START_SECONDS:g} s",
            hint=f"their logs are in {stack.logs}",
        )
    return names, url


def _reloading(cli: Cli, stack: LocalStack, until: Callable[[], bool]) -> Callable[[], bool]:
    """Return `until`, which on its way looks whether what runs is still what is written."""
    changes = Changes(Path.cwd(), stack.settings.templates)

    def look() -> bool:
        if not until() and (changed := changes.since_last()):
            _reload(cli, stack, changed)
        return until()

    return look


def _reload(cli: Cli, stack: LocalStack, changed: Sequence[Path]) -> None:
    names = ", ".join(path.name for path in changed[:_NAMED]) + (" …" if len(changed) > _NAMED else "")
    try:
        replaced = [template.ref for template, is_new in stack.publish(replaces=True) if is_new]
    except RemandError as error:
        # The error is shown, and the processes from before go on until it is fixed.
        cli.out.say(f"{names} saved; {error}", style="red")
        return
    stack.restart_what_runs_code()
    cli.out.say(f"{names} saved; published {', '.join(replaced) or 'nothing'}; workers start anew")


@contextlib.contextmanager
def stopping() -> Iterator[_Flag]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into a flag: what runs is ended in order, not torn down."""
    flag = _Flag()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, flag.raise_) for number in numbers}
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Flag:
    def __init__(self) -> None:
        self._is_up = False

    def raise_(self, _number: int, _frame: FrameType | None) -> None:
        self._is_up = True

    def __call__(self) -> bool:
        return self._is_up


def _tell_running(cli: Cli, stack: LocalStack, endpoints: Endpoints) -> None:
    data_dir = cli.given.data_dir.absolute()
    entry = _entry(stack)
    cli.out.answer(
        {"status": "running", "owner_pid": endpoints.owner_pid, "data_dir": data_dir,
         "database_url": endpoints.database_url, "broker_url": endpoints.broker_url, **entry},
        f"already up: process {endpoints.owner_pid} runs everything in {data_dir}",
        _line("dashboard", entry["login_url"]),
        next_steps(command("remand doctor"), command("remand workflow list")),
    )  # fmt: skip


def _entry(stack: LocalStack) -> dict[str, str]:
    """Return where the dashboard is, and a link that signs in who started all this."""
    url, me = base_url(stack.settings), operator()
    try:
        who = Who(me, "remand up")
        code = access.create_login_code(stack.runtime.engine, account_name_like(me), Role.ADMIN, who)
        login_url = link_to(url, code)
    except UserNotFound:  # a user who was disabled on purpose stays disabled, and everything else comes up
        login_url = f"{url}/login"
    return {"dashboard_url": url, "api_url": f"{url}/api/v1", "login_url": login_url}


def _tell_ready(
    cli: Cli,
    stack: LocalStack,
    published: Sequence[tuple[Template, bool]],
    names: Sequence[str],
    seconds: float,
) -> None:
    settings = stack.settings
    refs = [template.ref for template, _ in published]
    sample = refs[0] if refs else "TEMPLATE"
    entry = _entry(stack)
    cli.out.answer(
        {"status": "ready", "data_dir": settings.data_dir.absolute(), "logs": stack.logs,
         "database_url": settings.database_url, "broker_url": settings.broker_url, **entry,
         "revision": schema.head(), "templates": refs, "processes": list(names),
         "seconds": round(seconds, 2)},
        _line("database", redact_text(str(settings.database_url))),
        _line("broker", redact_text(str(settings.broker_url))),
        _line("schema", f"revision {schema.head()}"),
        _line("templates", ", ".join(refs) or "none: see the setting `templates`"),
        _line("processes", f"{', '.join(names)}; logs in {stack.logs}"),
        _line("API", entry["api_url"]),
        _line("dashboard", entry["login_url"]),
        Text(f"{'':13}it signs you in once, within ten minutes; another: remand user link", style="dim"),
        Text(f"\nready in {span(seconds)}; Ctrl-C stops everything. In another terminal:"),
        next_steps(
            command("remand submit", sample), command("remand workflow list"), command("remand dlq list")
        ),
    )  # fmt: skip
    cli.out.console.file.flush()


def _line(name: str, value: str) -> Text:
    return Text.assemble(("✓ ", "green"), (f"{name:<10}", "bold"), value)


def _tell_exit(cli: Cli, stack: LocalStack, gone: ProcessExit) -> None:
    cli.out.say(
        f"{gone.name} (process {gone.pid}) ended with {gone.returncode}; started again in"
        f" {span(gone.restart_in_seconds)}, log: {stack.logs / gone.name}.log",
        style="yellow",
    )
