"""What every command gets: the settings, engine and output of one invocation, and how it ends.

Settings without URLs mean the embedded stack that runs in `data_dir`, if one does. Parts are made, and their
modules loaded, when they are first asked for: a command pays only for what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from remand.errors import RemandError
from remand_app.cli import errors
from remand_app.cli.exits import INTERRUPTED
from remand_app.cli.render.output import Output
from remand_app.cli.verbs import (
    EXPLAIN,
    ROOT,
    RUN,
    START,
    USER_VARIABLE,
    WORK,
    After,
    By,
    Group,
    Limit,
    Reason,
    WorkflowId,
)

if TYPE_CHECKING:
    from remand_app.config import Settings
    from remand_app.engine.engine import Engine
    from remand_app.engine.operate import Who
    from remand_app.resources.database import Database
    from remand_app.runtime import Runtime

__all__ = [
    "EXPLAIN", "ROOT", "RUN", "START", "USER_VARIABLE", "WORK", "After", "By", "Cli",
    "Group", "Limit", "Reason", "WorkflowId", "run_verb",
]  # fmt: skip
_DOCUMENTS = ("input", "result")
"""Arguments that are JSON, with a limit of their own."""


class Cli:
    """One invocation. Parts are made when first asked for."""

    def __init__(self, out: Output, config: Path | None) -> None:
        self.out = out
        self.config = config

    @cached_property
    def given(self) -> Settings:
        """The settings as given, URLs possibly unset."""
        from remand_app.config import load_settings

        return load_settings(self.config)

    @cached_property
    def settings(self) -> Settings:
        """The settings with both URLs, those of the running embedded stack if none are set.

        Raises:
            ConfigInvalid: only one URL is set, or none and no embedded stack runs.
        """
        from remand_app.connections import with_urls

        return with_urls(self.given)

    @cached_property
    def runtime(self) -> Runtime:
        """The parts of this process, its schema checked; bells ring through the broker."""
        runtime = self.unchecked
        runtime.check_schema()
        return runtime

    @cached_property
    def unchecked(self) -> Runtime:
        """The parts of this process, whatever the schema."""
        from remand_app.connections import LateBell
        from remand_app.runtime import Runtime

        return Runtime(self.settings, bell=LateBell(self.settings), database=self._connections)

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.runtime.engine

    @cached_property
    def database(self) -> Database:
        """The database, its schema checked: all that most questions need."""
        from remand_app.resources.database import schema

        schema.check(self._connections)
        return self._connections

    @cached_property
    def _connections(self) -> Database:
        from remand_app.resources.database import Database

        url = self.settings.database_url
        assert url is not None
        return Database(url)

    def who(self, by: str | None, reason: str | None) -> Who:
        """Return who decides, and why."""
        from remand_app.cli.decider import decider
        from remand_app.engine.operate import Who

        return Who(decider(by), reason)

    def close(self) -> None:
        """Ring what is owed and let connections go."""
        made = self.__dict__
        if "unchecked" in made:
            made["unchecked"].engine.bell.flush()
        if "_connections" in made:
            made["_connections"].dispose()


def run_verb(
    function: Callable[..., None], as_json: bool, config: Path | None, arguments: Mapping[str, Any]
) -> None:
    """Do what a verb does, and end as the command line does.

    Raises:
        typer.Exit: always when it did not go well.
    """
    out = Output(as_json=as_json)
    cli = Cli(out, config)
    from remand_app.domain.text import check_arguments

    try:
        check_arguments(arguments, documents=_DOCUMENTS)
        function(cli, **arguments)
    except RemandError as error:
        errors.report(error, as_json=out.as_json)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    finally:
        cli.close()
