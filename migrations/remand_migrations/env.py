"""What Alembic runs for each revision: on the connection that `remand_migrations.runner` hands over."""

from __future__ import annotations

from alembic import context

from remand_migrations.order import VERSION_TABLE
from remand_migrations.runner import SCHEMA

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    version_table_schema=SCHEMA,
    # What runs is in a transaction, but for indexes that are made beside live work.
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
