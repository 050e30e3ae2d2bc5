"""The state of the site, as every door shows it: figures of live work and of the last minutes."""

from remand_app.engine.statistics import Statistics, statistics
from remand_app.store.change_mark import take as change_mark
from remand_app.store.live_work import ended_lately, live_by_state, longest_standing
from remand_app.store.statistics import Count

__all__ = [
    "Count", "Statistics", "change_mark", "ended_lately", "live_by_state", "longest_standing", "statistics",
]  # fmt: skip
