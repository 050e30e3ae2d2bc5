"""Check what everything else needs: settings, database, schema, broker. Checks return values, none raises."""

from __future__ import annotations

from remand.errors import RemandError
from remand_app.cli.context import Cli
from remand_app.cli.render.check_report import Finding
from remand_app.connections import LateBell
from remand_app.domain.addresses import shown
from remand_app.domain.errors import ConfigInvalid, HandlerNotFound
from remand_app.engine.rule_sets import load_books, unknown_classes
from remand_app.resources.database import schema, suitability
from remand_app.runtime import import_handlers


def check_settings(cli: Cli) -> list[Finding]:
    """Say whether the settings are good and name servers; one finding for each problem."""
    try:
        _ = cli.settings
    except ConfigInvalid as error:
        return [_failed("settings", str(problem), error.hint) for problem in error.problems]
    except RemandError as error:
        return [_failed("settings", error.message, error.hint)]
    return [Finding("settings", "ok", "good", is_environment=True)]


def check_rules(cli: Cli) -> list[Finding]:
    """Say whether the rules of the users fit together and name classes that exist; the settings are good.

    Imports the modules with handlers, as a worker does.
    """
    try:
        import_handlers(cli.given.handlers)
        layers = load_books(cli.given).layers
    except HandlerNotFound as error:
        return [Finding("rules", "warn", f"not checked: {error.message}", error.hint)]
    except ConfigInvalid as error:
        return [_failed("rules", str(problem), error.hint) for problem in error.problems]
    todo = "no exception will match it: write the name that the class has itself"
    unknown = [
        Finding("rules", "warn", str(unknown_class), todo) for unknown_class in unknown_classes(layers)
    ]
    count = sum(len(rules) for _, rules in layers)
    return unknown or [Finding("rules", "ok", f"{count} of your own" if count else "none of your own")]


def check_servers(cli: Cli) -> list[Finding]:
    """Say whether database, schema and broker are usable; the settings are good."""
    database = check_database(cli)
    findings = [database]
    if database.level != "fail":
        findings.append(check_schema(cli))
    return [*findings, check_broker(cli)]


def check_database(cli: Cli) -> Finding:
    """Say whether Postgres answers, is new enough, stores every text and takes writes."""
    url = shown(str(cli.settings.database_url))
    try:
        fitness = suitability.check_writable(cli.unchecked.database)
    except RemandError as error:
        return _failed("database", error.message, error.hint)
    return Finding("database", "ok", f"PostgreSQL {fitness.version} at {url}", is_environment=True)


def check_schema(cli: Cli) -> Finding:
    """Say whether code and schema fit."""
    try:
        revision = schema.check(cli.unchecked.database)
    except RemandError as error:
        return _failed("schema", error.message, error.hint)
    return Finding("schema", "ok", f"revision {revision}", is_environment=True)


def check_broker(cli: Cli) -> Finding:
    """Say whether the broker answers."""
    bell = cli.unchecked.engine.bell
    assert isinstance(bell, LateBell)
    try:
        bell.check()
    except RemandError as error:
        return _failed("broker", error.message, error.hint)
    return Finding("broker", "ok", f"answers at {shown(str(cli.settings.broker_url))}", is_environment=True)


def _failed(subject: str, message: str, todo: str) -> Finding:
    return Finding(subject, "fail", message, todo, is_environment=True)
