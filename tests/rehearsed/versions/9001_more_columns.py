"""A column more of workers and of steps, and one more that a claim returns."""

from __future__ import annotations

from remand_migrations.order import revisions
from remand_migrations.revision import Revision

revision = "9001"
down_revision = revisions()[-1]
branch_labels = None
depends_on = None

_revision = Revision(
    __file__,
    serves=down_revision,
    locks=dict.fromkeys(("workers", "steps", "steps_archive"), "ACCESS EXCLUSIVE"),
)
upgrade, downgrade = _revision.upgrade, _revision.downgrade
