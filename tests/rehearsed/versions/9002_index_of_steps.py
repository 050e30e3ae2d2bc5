"""An index of a large table, made while it is written to."""

from __future__ import annotations

from remand_migrations.indexes import Index
from remand_migrations.order import revisions
from remand_migrations.revision import Revision

revision = "9002"
down_revision = "9001"
branch_labels = None
depends_on = None

_revision = Revision(
    __file__,
    serves=revisions()[-1],
    indexes=(Index("steps_by_cost", "steps", "(queue, cost) where cost is not null"),),
)
upgrade, downgrade = _revision.upgrade, _revision.downgrade
