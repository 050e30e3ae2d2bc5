"""Count the attempts of a process, and add them to the shared counts about once a second.

In between, the counts stay in memory, so that the success path does not pay for them. A process that dies
loses the counts in its memory.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from remand_app.clock import Clock
from remand_app.engine.attempt_ends import told
from remand_app.engine.breakers import source_of
from remand_app.store import attempt_counts
from remand_app.store.attempt_counts import Source
from remand_app.store.claims import Claim
from remand_app.store.database import NOT_NOW, Database
from remand_app.store.templates import Templates
from remand_app.telemetry import log

_EVERY_SECONDS = 1.0

Stamped = tuple[int, str, int]
"""Template, step, and the second of the process's clock in which the attempts ended."""


class AttemptCounter:
    """Counts of one process that are not added yet. Another thread may call `flush`."""

    def __init__(
        self,
        database: Database,
        templates: Templates,
        clock: Clock,
        *,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """`seconds`: a monotonic clock."""
        self._database = database
        self._templates = templates
        self._clock = clock
        self._seconds = seconds
        self._sources: dict[tuple[int, str], Source] = {}
        self._lock = threading.Lock()
        self._counts: Counter[Stamped] = Counter()
        self._due = seconds() + _EVERY_SECONDS

    def learn(self, claims: Iterable[Claim]) -> None:
        """Find out where to count these attempts. Transaction: own, once for each template and process.

        An attempt whose template this process cannot read is run, but not counted.
        """
        for claim in claims:
            key = claim.template_id, claim.step
            if key in self._sources:
                continue
            try:
                template = self._templates.get(claim.template_id).template
                self._sources[key] = source_of(template, claim.step, claim.handler)
            except NOT_NOW:
                raise
            except Exception as error:  # noqa: BLE001 - the boundary of counting: no step waits for it
                log("attempts.uncounted", count=1, error=told(error))

    def count(self, claim: Claim) -> None:
        """Count an attempt that ended; `learn` has seen its claim."""
        key = (claim.template_id, claim.step, int(self._seconds()))
        with self._lock:
            self._counts[key] += 1

    def flush(self, *, now: bool = False) -> None:
        """Add the counts if they are due, or at once if `now`. Transaction: own. Errors stop no work."""
        counts = self._take(now=now)
        aged = self._aged(counts)
        if not aged:
            return
        try:
            attempt_counts.count(self._database, self._clock, aged)
        except NOT_NOW:
            with self._lock:
                self._counts.update(counts)
        except Exception as error:  # noqa: BLE001 - the boundary of counting: no result waits for it
            log("attempts.uncounted", count=counts.total(), error=told(error))

    def _aged(self, counts: Counter[Stamped]) -> Counter[tuple[Source, int]]:
        """Return the counts by source and age: counts kept for a while keep the time of their attempts."""
        second = int(self._seconds())
        aged: Counter[tuple[Source, int]] = Counter()
        for (template, step, counted), attempts in counts.items():
            if source := self._sources.get((template, step)):
                aged[source, second - counted] += attempts
        return aged

    def _take(self, *, now: bool) -> Counter[Stamped]:
        with self._lock:
            if not self._counts or not (now or self._seconds() >= self._due):
                return Counter()
            self._due = self._seconds() + _EVERY_SECONDS
            counts, self._counts = self._counts, Counter()
            return counts
