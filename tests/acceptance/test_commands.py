"""The verbs of the service as another Celery app calls them: by the client, and by task name alone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from celery.exceptions import TaskRevokedError, WorkerLostError
from celery.utils.objects import Bunch
from kombu import Consumer, Queue

from remand.client import Client, NoAnswer, Refused, new_id
from tests.support.link import DOWN, Link
from tests.support.site import Site

TIMEOUT_SECONDS = 60
SITE_SETTINGS = {"commands": {"access": "open"}}


@pytest.fixture(scope="module")
def site(shared_site: Site) -> Site:
    shared_site.start_worker("steps")
    shared_site.ready("steps", "support")
    return shared_site


@pytest.fixture(scope="module")
def shop(site: Site) -> Iterator[Celery]:
    app = Celery("shop", broker=site.settings.broker_url, backend="rpc://", set_as_current=False)
    yield app
    app.close()


@pytest.fixture(scope="module")
def client(shop: Celery) -> Iterator[Client]:
    made = Client(shop, timeout=TIMEOUT_SECONDS)
    yield made
    made._app.close()


def call(shop: Celery, name: str, *args: Any, **kwargs: Any) -> Any:
    sent = shop.send_task(name, args=args, kwargs=kwargs, queue="remand.commands")
    return sent.get(timeout=TIMEOUT_SECONDS)


def test_a_submit_is_followed_to_its_results(client: Client, site: Site) -> None:
    order = client.submit("site/diamond", {"a": {"result": "first"}})
    found = client.wait(order.workflow_id, timeout=TIMEOUT_SECONDS)
    assert order.created
    assert found["state"] == "complete"
    assert found["steps"]["a"] == {"state": "complete", "attempt": 1, "result": "first"}
    assert site.database.call(
        "select submitted_by from remand.workflows where id = %s", (order.workflow_id,)
    ) == [("claimed:shop",)]


@pytest.mark.parametrize("forgets", [False, True], ids=["cut", "silent"])
def test_a_client_outlives_a_broker_that_was_away(site: Site, forgets: bool) -> None:
    with (
        Link(site.settings.broker_url) as link,
        Celery("shop", broker=link.url, set_as_current=False) as shop,
    ):
        client = Client(shop, timeout=4)
        client.submit("site/one", {})
        for _ in range(2):
            if forgets:
                link.swallow((DOWN,))
            else:
                link.refuse()
            with pytest.raises(NoAnswer):
                client.submit("site/one", {})
            link.heal(forgets=forgets)
            assert client.submit("site/one", {}).created
        client._app.close()


@pytest.mark.parametrize("answer", [WorkerLostError("signal 9"), TaskRevokedError("expired")], ids=str)
def test_a_call_that_was_lost_on_the_other_side_has_no_answer(shop: Celery, answer: Exception) -> None:
    worker = Celery("worker", broker=shop.conf.broker_url, backend="rpc://", set_as_current=False)

    def lose(body: Any, message: Any) -> None:
        message.ack()
        worker.backend.store_result(
            message.headers["id"], answer, "FAILURE",
            request=Bunch(id=message.headers["id"], **message.properties),
        )  # fmt: skip

    with worker, worker.connection_for_read() as connection, ThreadPoolExecutor() as threads:
        client = Client(shop, timeout=TIMEOUT_SECONDS, queue="commands-that-die")
        with Consumer(connection, Queue("commands-that-die", durable=False), callbacks=[lose]):
            submit = threads.submit(client.submit, "site/one", {}, workflow_id=str(new_id()))
            connection.drain_events(timeout=TIMEOUT_SECONDS)
            error = submit.exception(TIMEOUT_SECONDS)
    assert isinstance(error, NoAnswer)
    assert "repeat it with the same id" in error.hint
    assert error.details["workflow_id"]


def test_a_submit_may_be_repeated(client: Client) -> None:
    wanted = str(new_id())
    first, second = (client.submit("site/one", {}, workflow_id=wanted) for _ in range(2))
    assert (first.workflow_id, second.workflow_id) == (wanted, wanted)
    assert (first.created, second.created) == (True, False)


def test_many_are_answered_in_order(client: Client) -> None:
    answers = client.submit_many("site/one", [{"only": {"result": number}} for number in range(20)])
    found = [client.wait(one.workflow_id, timeout=TIMEOUT_SECONDS) for one in answers]
    assert [one["steps"]["only"]["result"] for one in found] == list(range(20))


def test_a_workflow_that_needs_a_person_ends_the_wait(client: Client) -> None:
    order = client.submit("site/one", {"only": {"give_up_on": [1]}})
    found = client.wait(order.workflow_id, timeout=TIMEOUT_SECONDS)
    assert (found["state"], found["needs_person"]) == ("blocked_by_failures", True)
    cancelled = client.cancel(order.workflow_id, reason="nobody wants it")
    assert (cancelled["state"], cancelled["changed"]) == ("cancelled", True)


def test_a_refusal_carries_the_code_of_the_service(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        client.submit("site/nowhere", {})
    assert refused.value.code == "TEMPLATE_NOT_FOUND"


def test_nobody_there_is_told_with_the_id_to_submit_again(shop: Celery) -> None:
    deaf = Client(shop, timeout=0.2, queue="remand.nobody")
    with pytest.raises(NoAnswer) as silence:
        deaf.submit("site/one", {})
    assert silence.value.details["workflow_id"]
    deaf._app.close()


@pytest.mark.parametrize("broker", ["redis://127.0.0.1:1/0", "amqp://guest:hunter2@127.0.0.1:1//"])
def test_a_broker_that_is_away_is_no_answer_either(broker: str) -> None:
    lost = Client(Celery("lost", broker=broker, set_as_current=False), timeout=1)
    with pytest.raises(NoAnswer, match="broker") as silence:
        lost.submit("site/one", {})
    assert silence.value.details["workflow_id"]
    assert "hunter2" not in str(silence.value)
    lost._app.close()


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("remand.submit", {"template": "site/one", "id": "nonsense"}, ("INPUT_INVALID", "id")),
        ("remand.submit", {"template": "site/one", "id": str(uuid4())}, ("INPUT_INVALID", "UUIDv7")),
        ("remand.submit", {"template": "site/one", "priority": "high"}, ("INPUT_INVALID", "priority")),
        ("remand.submit", {"template": "site/one", "priority": 10}, ("INPUT_INVALID", "priority")),
        ("remand.submit", {"template": "site/one", "key": 17}, ("INPUT_INVALID", "key")),
        ("remand.submit", {"template": "site/one", "inputs": {}}, ("INPUT_INVALID", "inputs")),
        ("remand.submit", {}, ("INPUT_INVALID", "template")),
        ("remand.submit_many", {"template": "site/one", "requests": [1]}, ("INPUT_INVALID", "requests.0")),
        (
            "remand.submit_many",
            {"template": "site/one", "requests": [{"inptu": 1}]},
            ("INPUT_INVALID", "inptu"),
        ),
        ("remand.get", {"workflow_id": "nonsense"}, ("WORKFLOW_NOT_FOUND", "nonsense")),
        ("remand.cancel", {"workflow_id": "nonsense"}, ("WORKFLOW_NOT_FOUND", "nonsense")),
        ("remand.cancel", {"workflow_id": str(new_id())}, ("WORKFLOW_NOT_FOUND", "no workflow")),
    ],
    ids=lambda value: "",
)
def test_a_wrong_call_is_answered_not_raised(
    shop: Celery, site: Site, name: str, arguments: dict[str, Any], problem: tuple[str, str]
) -> None:
    code, told = problem
    before = site.database.call("select count(*) from remand.workflows")
    answer = call(shop, name, **arguments)
    assert answer["error"]["code"] == code
    assert told in answer["error"]["message"]
    assert site.database.call("select count(*) from remand.workflows") == before


def test_what_was_given_is_not_repeated_in_the_answer(shop: Celery) -> None:
    answer = call(shop, "remand.submit", template="site/one", priority="hunter2")
    assert "hunter2" not in str(answer)
