"""What programs send to the commands, and what they get back, is nothing that Flower shows. Source: D12."""

from __future__ import annotations

import json

import httpx
from celery import Celery

from remand.client import Client
from tests.acceptance.test_flower_steps import start, tasks
from tests.acceptance.test_gates import LOGIN
from tests.support.site import PATIENCE_SECONDS
from tests.support.site_fixtures import OpenSite
from tests.support.waiting import eventually

CANARY = "cAnArY-9f31"


def test_flower_shows_neither_inputs_nor_answers_of_commands(open_site: OpenSite) -> None:
    site, address = start(open_site, flower_steps=False)
    shop = Celery("shop", broker=site.settings.broker_url, backend="rpc://", set_as_current=False)
    client = Client(shop, timeout=PATIENCE_SECONDS)

    for secret in ({"password": CANARY}, {"note": CANARY}):
        client.submit("site/one", secret)

    def seen() -> list[str]:
        return [one["name"] for one in tasks(address).values() if one["state"] == "SUCCESS"]

    eventually(
        lambda: seen().count("remand.submit") == 2,
        timeout=PATIENCE_SECONDS,
        message="Flower hears no command",
    )
    shop.close()
    paths = ("/tasks", "/workers", "/api/workers?refresh=1")
    pages = [httpx.get(f"{address}{path}", auth=LOGIN, timeout=PATIENCE_SECONDS).text for path in paths]
    assert not [page for page in (*pages, json.dumps(tasks(address))) if CANARY in page]
