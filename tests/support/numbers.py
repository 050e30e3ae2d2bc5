"""Read what Prometheus would read: the text of `/metrics`, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

from remand_app.telemetry.metrics import METRICS

Labels = tuple[str, ...]


class Numbers:
    """One scrape."""

    def __init__(self, samples: Mapping[str, dict[Labels, float]], meanings: Mapping[str, str]) -> None:
        self._samples, self._meanings = samples, meanings

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the text format."""
        samples: dict[str, dict[Labels, float]] = {}
        meanings = {}
        for family in text_string_to_metric_families(text):
            meanings[family.name] = family.documentation
            for sample in family.samples:
                if "le" not in sample.labels:
                    labels = tuple(sample.labels[name] for name in _labels_of(family.name, sample.labels))
                    samples.setdefault(sample.name, {})[labels] = sample.value
        return cls(samples, meanings)

    @property
    def families(self) -> set[str]:
        """The names, those of counters without `_total`."""
        return set(self._meanings)

    def all(self, name: str) -> dict[Labels, float]:
        """Return every series of a metric by the values of its labels, in the catalogue's order of them."""
        return self._samples.get(f"remand_{name}", {})

    def one(self, name: str, *labels: str) -> float:
        """Return one series; a KeyError if it is not there."""
        return self.all(name)[labels]

    def nonzero(self, name: str) -> dict[Labels, float]:
        """Return the series that are not 0."""
        return {labels: value for labels, value in self.all(name).items() if value}

    def totals(self) -> dict[tuple[str, Labels], float]:
        """Return everything that may never go back: counters, and the counts and sums of histograms."""
        return {
            (name, labels): value
            for name, series in self._samples.items()
            if name.startswith("remand_") and name.endswith(("_total", "_count", "_sum"))
            for labels, value in series.items()
        }


def _labels_of(family: str, labels: Mapping[str, str]) -> tuple[str, ...]:
    metric = METRICS.get(family) or METRICS.get(f"{family}_total")
    return tuple(labels) if metric is None else metric.labels
