"""Run migrations: on the connection that `app.store.schema` hands over, or on REMAND_DATABASE_URL."""

from __future__ import annotations

import os

import sqlalchemy as sa
from alembic import context

from app.store.session import Database
from app.store.tables import SCHEMA, metadata


def _migrate(connection: sa.Connection) -> None:
    # "create schema if not exists" asks for the right to create schemas even where this one exists.
    if connection.scalar(sa.text("select to_regnamespace(:name)"), {"name": SCHEMA}) is None:
        connection.execute(sa.text(f"create schema {SCHEMA}"))
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table="schema_version",
        version_table_schema=SCHEMA,
        include_schemas=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _migrate(given)
else:
    with Database(os.environ["REMAND_DATABASE_URL"]).begin() as opened:
        _migrate(opened)
