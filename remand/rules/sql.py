"""Rules for database drivers, pools and SQLAlchemy where no code says what happened.

Drivers' classes are too coarse to decide: an OperationalError may be a wrong password or a deadlock. The code
decides. Without a code the text decides, which is all that a failed connection leaves.
"""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    IMMEDIATE,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
    under,
)

_LIB: Final = "the libraries' class trees"
_DBAPI: Final = (
    "psycopg2",
    "psycopg2.errors",
    "psycopg",
    "psycopg.errors",
    "sqlite3",
    "pymysql.err",
    "MySQLdb",
    "MySQLdb._exceptions",
    "mysql.connector.errors",
    "sqlalchemy.exc",
    "django.db.utils",
    "peewee",
    "pyodbc",
    "oracledb.exceptions",
    "oracledb",
    "cx_Oracle",
    "pg8000.exceptions",
    "pymssql",
    "pymssql.exceptions",
    "aiosqlite",
    "asyncmy.errors",
    "snowflake.connector.errors",
    "clickhouse_driver.dbapi.errors",
)
_ALCHEMY: Final = "sqlalchemy.exc"
_ORM: Final = "sqlalchemy.orm.exc"
_TEXT: Final = (
    "psycopg2",
    "psycopg",
    "sqlalchemy",
    "asyncpg",
    "pg8000",
    "sqlite3",
    "django",
    "pymysql",
    "MySQLdb",
    "mysql",
    "pyodbc",
    "oracledb",
    "cx_Oracle",
    "pymssql",
    "psycopg_pool",
    "peewee",
)

_CLASSES: Final = (
    Rule(
        "sql.class-data",
        "fallback",
        under(*_DBAPI, names="DataError IntegrityError"),
        VALIDATION,
        "the database refuses the row",
        _LIB,
    ),
    Rule(
        "sql.class-programming",
        "fallback",
        under(*_DBAPI, names="ProgrammingError NotSupportedError"),
        PERMANENT,
        "the statement is wrong",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "sql.class-operational",
        "fallback",
        under(*_DBAPI, names="OperationalError"),
        TRANSIENT,
        "the database failed without saying how",
        _LIB,
        confidence=0.5,
    ),
    Rule(
        "sql.class-interface",
        "fallback",
        under(*_DBAPI, names="InterfaceError"),
        NETWORK,
        "the connection to the database is not usable",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "sql.class-internal",
        "fallback",
        under(*_DBAPI, names="InternalError"),
        TRANSIENT,
        "the database met an internal error",
        _LIB,
        confidence=0.5,
    ),
    Rule(
        "sql.class-any",
        "fallback",
        (*under(*_DBAPI, names="DatabaseError Error"), f"{_ALCHEMY}.DBAPIError"),
        TRANSIENT,
        "the database failed without saying how",
        _LIB,
        confidence=0.4,
    ),
    Rule(
        "sql.own-pool",
        "type",
        (
            f"{_ALCHEMY}.TimeoutError",
            "psycopg2.pool.PoolError",
            "psycopg_pool.PoolTimeout",
            "psycopg_pool.TooManyRequests",
            "psycopg_pool.errors.PoolTimeout",
            "psycopg_pool.errors.TooManyRequests",
            "asyncpg.exceptions.TooManyConnectionsError",
        ),
        RESOURCE,
        "the program's own connection pool is used up",
        _LIB,
        EXPONENTIAL,
    ),
    Rule(
        "alchemy.stale",
        "type",
        (f"{_ORM}.StaleDataError",),
        TRANSIENT,
        "the row changed meanwhile; read it again",
        _LIB,
        IMMEDIATE,
        confidence=0.8,
    ),
    Rule(
        "alchemy.disconnected",
        "type",
        (f"{_ALCHEMY}.DisconnectionError", f"{_ALCHEMY}.InvalidatePoolError"),
        NETWORK,
        "the connection was found dead",
        _LIB,
    ),
    Rule(
        "alchemy.result",
        "type",
        (
            f"{_ALCHEMY}.NoResultFound",
            f"{_ALCHEMY}.MultipleResultsFound",
            f"{_ORM}.ObjectDeletedError",
            f"{_ORM}.DetachedInstanceError",
            f"{_ORM}.UnmappedError",
        ),
        PERMANENT,
        "the rows that were asked for are not there, or are too many",
        _LIB,
    ),
    Rule(
        "alchemy.misuse",
        "fallback",
        under(
            _ALCHEMY,
            names="ArgumentError CompileError InvalidRequestError NoReferenceError "
            "ObjectNotExecutableError UnboundExecutionError "
            "NoSuchTableError NoSuchModuleError CircularDependencyError MissingGreenlet ResourceClosedError",
        ),
        PERMANENT,
        "SQLAlchemy was used wrongly",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "alchemy.any",
        "fallback",
        (f"{_ALCHEMY}.SQLAlchemyError",),
        PERMANENT,
        "SQLAlchemy refuses what it was asked; what fails in the database has a class of its own",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "alchemy.statement",
        "fallback",
        (f"{_ALCHEMY}.StatementError",),
        VALIDATION,
        "a parameter cannot be sent",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "alchemy.parameter",
        "label",
        ("statement-parameter",),
        VALIDATION,
        "a parameter cannot be sent to the database",
        _LIB,
    ),
    Rule(
        "asyncpg.plan",
        "type",
        under("asyncpg.exceptions", names="InvalidCachedStatementError OutdatedSchemaCacheError"),
        TRANSIENT,
        "a cached plan is stale; run it again",
        _LIB,
        policy=IMMEDIATE,
    ),
    Rule(
        "asyncpg.client",
        "type",
        under("asyncpg.exceptions", names="DataError"),
        VALIDATION,
        "a parameter cannot be sent",
        _LIB,
    ),
    Rule(
        "asyncpg.interface",
        "fallback",
        (*under("asyncpg.exceptions", names="InterfaceError"), "asyncpg.exceptions._base.InterfaceError"),
        NETWORK,
        "the connection to the database is not usable",
        _LIB,
        confidence=0.6,
    ),
)

_TEXTS: Final = (
    Rule(
        "sql.text-adapt",
        "text",
        _TEXT,
        VALIDATION,
        "a parameter cannot be sent to the database",
        "psycopg2",
        text=r"can't adapt type|not all arguments converted|A string literal cannot contain NUL"
        r"|embedded null",
        confidence=0.9,
    ),
    Rule(
        "sql.text-login",
        "text",
        _TEXT,
        PERMISSION,
        "the database refuses the login",
        "libpq; PostgreSQL 15",
        text=r"password authentication failed|no pg_hba\.conf entry|authentication failed"
        r"|no password supplied|role \"[^\"]*\" (does not exist|is not permitted)"
        r"|access denied for user|peer authentication failed|ident authentication failed|permission denied"
        r"|attempt to write a readonly database",
        confidence=0.9,
    ),
    Rule(
        "sql.text-certificate",
        "text",
        _TEXT,
        PERMANENT,
        "a certificate was refused",
        "libpq",
        text=r"certificate verify failed|root certificate file .* does not exist"
        r"|server certificate for|does not support SSL, but SSL was required"
        r"|private key file",
        confidence=0.9,
    ),
    Rule(
        "sql.text-missing",
        "text",
        _TEXT,
        PERMANENT,
        "the database, host or option does not exist",
        "libpq; PostgreSQL 15",
        text=r"database \"[^\"]*\" does not exist|invalid (connection option|dsn|port number|URI)"
        r"|missing \"=\" after|unknown database"
        r"|could not translate host name .*(not known|no address)|no such (table|column)"
        r"|syntax error|unrecognized configuration parameter"
        r"|database disk image is malformed|file is not a database|unable to open database file",
        confidence=0.85,
    ),
    Rule(
        "sql.text-connections",
        "text",
        _TEXT,
        RESOURCE,
        "the database has no free connection",
        "PostgreSQL 15",
        text=r"too many clients|remaining connection slots|too many connections"
        r"|connection limit exceeded|max_client_conn|out of memory"
        r"|no more connections allowed|no space left on device|database or disk is full",
        confidence=0.9,
    ),
    Rule(
        "sql.text-starting",
        "text",
        _TEXT,
        TRANSIENT,
        "the database is starting, stopping or recovering",
        "PostgreSQL 15",
        text=r"the database system is (starting up|shutting down|in recovery mode"
        r"|not (yet )?accepting)|not yet accepting connections|consistent recovery state"
        r"|session is read-only|server is in hot standby|query_wait_timeout",
        confidence=0.9,
    ),
    Rule(
        "sql.text-lock",
        "text",
        _TEXT,
        TRANSIENT,
        "the statement met another one; run it again",
        "drivers' texts",
        text=r"deadlock (detected|found)|could not serialize access|lock wait timeout|restart transaction",
        policy=IMMEDIATE,
        confidence=0.85,
    ),
    Rule(
        "sql.text-busy",
        "text",
        _TEXT,
        TRANSIENT,
        "the database is locked by somebody",
        "sqlite3",
        text=r"(database|table|database table)( \w+)? is locked|ORA-00054|resource busy",
        confidence=0.85,
    ),
    Rule(
        "sql.text-closed",
        "text",
        _TEXT,
        NETWORK,
        "the connection is closed; a new one is needed",
        "psycopg2; psycopg",
        text=r"(connection|cursor) (is )?(already )?closed|connection is closed|the connection is lost",
        policy=IMMEDIATE,
        confidence=0.85,
    ),
    Rule(
        "sql.text-dropped",
        "text",
        _TEXT,
        NETWORK,
        "the connection to the database failed",
        "libpq; PostgreSQL 15",
        text=r"connection (refused|reset|timed out|to server at|has been closed|was closed)"
        r"|server closed the connection|could not (connect|receive data|send data)"
        r"|SSL (connection has been closed|SYSCALL)|SSL error|timeout expired|terminating connection"
        r"|no route to host|network is unreachable"
        r"|temporary failure in name resolution|lost connection|server has gone away|EOF detected"
        r"|connection bad|broken pipe|could not translate host name"
        r"|lost synchronization|no connection to the server|could not open socket",
        confidence=0.85,
    ),
)

RULES: Final = _CLASSES + _TEXTS
