"""`POST /templates/validate`: work for a processor, one at a time, and only while somebody waits for it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from starlette.requests import Request

from remand_app.api import templates
from remand_app.web.attended import attended
from tests.support.web import Web

GOOD = "namespace: n\nname: w\nversion: '1'\nsteps: [{name: a, handler: h}]\n"


def test_second_template_waits_for_the_first_and_then_says_busy(web: Web, monkeypatch: Any) -> None:
    viewer = web.program("viewer")
    monkeypatch.setattr(templates, "_WAIT_SECONDS", 0.01)
    with templates._checking:
        refused = viewer.post("/api/v1/templates/validate", json={"text": GOOD})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "BUSY")
    assert viewer.post("/api/v1/templates/validate", json={"text": GOOD}).status_code == 200


def test_hundred_problems_are_the_most_that_is_answered(web: Web) -> None:
    text = GOOD + "".join(f"k{number}: 1\n" for number in range(2000))
    answer = web.program("viewer").post("/api/v1/templates/validate", json={"text": text})
    assert answer.status_code == 422
    assert len(answer.json()["error"]["details"]["problems"]) == 100


def test_text_beyond_the_limit_is_not_read(web: Web) -> None:
    answer = web.program("viewer").post("/api/v1/templates/validate", json={"text": "," * 200_001})
    assert answer.status_code == 422


def test_work_is_told_when_its_client_has_gone() -> None:
    has_begun = threading.Event()

    async def receive() -> Any:
        await asyncio.to_thread(has_begun.wait)
        return {"type": "http.disconnect"}

    def work(has_gone: Any) -> str:
        has_begun.set()
        while not has_gone():
            continue
        return "stopped"

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    assert asyncio.run(attended(Request(scope, receive), work)) == "stopped"
