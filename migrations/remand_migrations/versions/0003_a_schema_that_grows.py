"""Functions that people can read, and a schema that says which code it still serves."""

from __future__ import annotations

from remand_migrations.revision import Revision

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_revision = Revision(__file__, serves="0002")
upgrade, downgrade = _revision.upgrade, _revision.downgrade
