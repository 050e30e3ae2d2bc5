"""${message}"""

from __future__ import annotations

from remand_migrations.revision import Revision

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None

# `serves`: the oldest revision whose code goes on beside this one; `locks`: {"steps": "ACCESS EXCLUSIVE"}.
_revision = Revision(__file__, serves=${repr(down_revision)}, locks={})
upgrade, downgrade = _revision.upgrade, _revision.downgrade
