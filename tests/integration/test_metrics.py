from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.domain.access import Permission
from app.telemetry import metrics as m
from app.telemetry import tally
from tests.support.web import Web


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    yield
    tally.stop()


def test_it_is_read_with_a_token_for_nothing_else(web: Web) -> None:
    scraper = web.program("viewer", scopes=[Permission.METRICS_READ])
    answer = scraper.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert names == {metric.name.removesuffix("_total") for metric in m.METRICS.values()}
    assert scraper.get("/api/v1/queues").status_code == 403
