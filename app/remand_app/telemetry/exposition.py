"""Counts in the format of Prometheus. Only processes that are scraped import it: the library loads slowly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import assert_never

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from remand_app.telemetry.metrics import METRICS, Metric, Source
from remand_app.telemetry.metrics_buffer import Series


class Exposed(Collector):
    """What a scrape finds: every metric of some sources, with the series there are."""

    def __init__(self, series: Callable[[], Series], *sources: Source) -> None:
        self._series = series
        self._metrics = [metric for metric in METRICS.values() if metric.source in sources]

    def collect(self) -> Iterator[Family]:
        """Yield a family for each metric, in the order of the catalogue."""
        families: defaultdict[str, list[tuple[tuple[str, ...], Sequence[float]]]] = defaultdict(list)
        for (name, labels), kept in sorted(self._series().items()):
            families[name].append((labels, kept))
        for metric in self._metrics:
            family = _empty(metric)
            for labels, numbers in families[metric.name]:
                _add(family, metric, labels, numbers)
            yield family


def written(exposed: Collector, accept: str) -> tuple[bytes, str]:
    """Return the text and its content type, in the format that the header `accept` asks for."""
    encode, content_type = choose_encoder(accept)
    return encode(exposed), content_type


def _empty(metric: Metric) -> Family:
    match metric.kind:
        case "counter":
            return CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        case "gauge":
            return GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        case "histogram":
            return HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        case _:
            assert_never(metric.kind)


def _add(family: Family, metric: Metric, labels: Sequence[str], numbers: Sequence[float]) -> None:
    if isinstance(family, HistogramMetricFamily):
        *counts, total = numbers
        bounds = (*(repr(bound) for bound in metric.buckets), "+Inf")
        family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    else:
        assert isinstance(family, CounterMetricFamily | GaugeMetricFamily)
        family.add_metric(labels, numbers[0])
