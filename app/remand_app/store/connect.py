"""The one door to Postgres: pools, workers, health checks, migrations and tests open connections here.

Whatever encodings and formats the role, the database or the environment set, a connection opened here has
those that Remand's SQL and the driver rely on. Imports little: health checks run it every few seconds.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final

import psycopg2
import psycopg2.errors
import psycopg2.extensions

from remand_app.domain.addresses import DatabaseAddress, UrlInvalid
from remand_app.domain.errors import (
    ConfigInvalid,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnreachable,
    Problem,
)
from remand_app.store.driver_messages import said

_KEYWORDS: Final = {
    "connect_timeout": "5",
    "keepalives": "1",
    "keepalives_idle": "30",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}
_TIMEOUTS: Final = {"statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0"}
"""Timeouts of role or database are lifted: our statements have their own limits. A URL may set others."""
_FORMATS: Final = {
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "escape_string_warning": "on",
    "extra_float_digits": "1",
    "search_path": "pg_catalog,pg_temp",
    "default_transaction_isolation": r"read\ committed",
}
"""Settings that our code relies on; `search_path`: no user's function may shadow one of Postgres."""
_REPORTED: Final = {"TimeZone": "UTC", "IntervalStyle": "postgres", "standard_conforming_strings": "on"}
"""The server reports these by itself, as the environment ($PGTZ) or a pooler may change them."""
_NO_OPTIONS = re.compile(r"unsupported startup parameter|command-line options", re.IGNORECASE)
_NO_DATABASE = re.compile(r'database "(?P<name>.*)" does not exist')


def connect(url: str, *, application_name: str = "remand") -> psycopg2.extensions.connection:
    """Open a connection.

    Raises:
        DatabaseUnreachable: the server is away, or refuses this role.
        DatabaseMissing: it has no such database.
        ConfigInvalid: the URL is none, or has an option that libpq does not know.
    """
    keywords = _keywords(url, application_name)
    options = keywords.pop("options", None) or os.environ.get("PGOPTIONS", "")
    try:
        return _open({**keywords, "options": f"{_set(_TIMEOUTS)} {options} {_set(_FORMATS)}"})
    except psycopg2.OperationalError as error:
        if not _NO_OPTIONS.search(str(error)):
            raise refused(url, error) from None
    # A pooler that knows no options shares its connections with others: only what it keeps apart is set then.
    try:
        return _open({**keywords, "options": options} if options else keywords)
    except psycopg2.OperationalError as error:
        raise refused(url, error) from None


def refused(url: str, error: BaseException, hint: str = "") -> DatabaseUnreachable:
    """Return our error for one of the driver's that cost the connection, or kept it from being."""
    name = address(url).name
    reason = said(error)
    missing = _NO_DATABASE.search(reason)
    if missing is not None:
        return DatabaseMissing(
            f"Postgres at {name} is up, but has no such database",
            hint=f"create it: createdb --encoding=UTF8 --template=template0 {missing['name']}",
        )
    is_read_only = isinstance(error, psycopg2.errors.ReadOnlySqlTransaction)
    return (DatabaseReadOnly if is_read_only else DatabaseUnreachable)(
        f"Postgres at {name} is not usable: {reason}",
        hint=hint or "check REMAND_DATABASE_URL and that the server is up",
    )


def address(url: str) -> DatabaseAddress:
    """Return what the URL says. Raises `ConfigInvalid` if it is none."""
    try:
        return DatabaseAddress.parse(url)
    except UrlInvalid as error:
        raise _unusable(str(error)) from None


def _keywords(url: str, application_name: str) -> dict[str, Any]:
    keywords = address(url).keywords()
    # As a server's setting, and not its role's or its database's: the driver reads it before the first query.
    return {**_KEYWORDS, "application_name": application_name, **keywords, "client_encoding": "UTF8"}


def _open(keywords: dict[str, Any]) -> psycopg2.extensions.connection:
    try:
        opened: psycopg2.extensions.connection = psycopg2.connect(**keywords)
    except psycopg2.ProgrammingError as error:
        # libpq does not know a keyword: the text names it, and no value.
        raise _unusable(" ".join(str(error).split())) from None
    except UnicodeDecodeError:
        raise psycopg2.OperationalError("it refuses, in words that are not UTF-8") from None
    wrong = [name for name, value in _REPORTED.items() if opened.get_parameter_status(name) != value]
    if wrong:
        opened.autocommit = True
        with opened.cursor() as cursor:
            cursor.execute("; ".join(f"set {name} = '{_REPORTED[name]}'" for name in wrong))
        opened.autocommit = False
    return opened


def _set(values: dict[str, str]) -> str:
    return " ".join(f"-c {name}={value}" for name, value in values.items())


def _unusable(message: str) -> ConfigInvalid:
    return ConfigInvalid([Problem(None, None, "database_url", message, "SETTING_INVALID")])
