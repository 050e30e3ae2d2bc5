"""Whatever a client sends: an answer that the OpenAPI document names, in its shape, and never a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi import checks as openapi

from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.engine import redrive
from remand_app.engine.operate import Who
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.shapes import CHAIN, always, fails, shape
from tests.support.web import Web

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


def never_broken(_context: Any, response: Any, case: Any) -> None:
    """503 is what /health/ready is for: in a test nobody sweeps."""
    assert response.status_code < 500 or case.operation.path == "/health/ready", response.text


CHECKS = [
    never_broken,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
    openapi.unsupported_method,
]


@pytest.fixture
def api(database: Any, clock: FakeClock) -> Iterator[Any]:
    web = Web(database, clock, allowed_hosts=("testserver",))
    token = web.program("admin").headers["authorization"]
    known = _stock(web)
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", web.app, headers={"Authorization": token})
    schema.config.update(headers={"Authorization": token})

    @schema.hook
    def map_path_parameters(_context: Any, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
        # Random ids are known to nobody: every second time somebody asks for what is there.
        if parameters and len(str(parameters)) % 2:
            parameters.update({name: known[name] for name in parameters if name in known})
        return parameters

    yield schema
    web.close()


def _stock(web: Web) -> dict[str, str]:
    harness = Harness(web.database, web.clock, web.bell, settings_for())
    harness.publish(shape("chain", CHAIN))
    harness.play(b=always(ValueError("no such item")), c=fails(TimeoutError("slow")))
    ids = harness.submit_many("t/chain", [{"order": n} for n in range(3)])
    harness.run_until_quiet()
    letter = harness.open_letter(ids[0])
    planned = redrive.plan(web.engine, LetterFilter(group_id=letter.group_id), Who("test"))
    return {
        "workflow_id": str(ids[0]),
        "letter_id": str(letter.id),
        "group_id": str(letter.group_id),
        "redrive_id": str(planned.redrive.id),
        "step": "b",
        "queue": "steps",
        "namespace": "t",
        "name": "chain",
        "version": "1",
    }


def test_no_request_ends_with_what_the_document_does_not_say(api: Any, subtests: pytest.Subtests) -> None:
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) >= 20
    for operation in operations:
        with subtests.test(operation.label):
            _try(operation)


def _try(operation: Any) -> None:
    @given(operation.as_strategy())
    @settings(
        max_examples=12,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    send()
