"""Set aside a message that no worker can take, as a workflow of one step that has failed already.

The message is then listed, counted, notified, grouped, noted and resolved like every dead letter.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from remand.classify import Classification
from remand.failure import Failure, storable
from remand.fingerprint import fingerprint
from remand.redact import is_clean, redact_json, redact_text
from remand_app.domain.jsonvalue import first_problem
from remand_app.domain.queues import STEPS
from remand_app.domain.states import DeadReason
from remand_app.domain.template import Template, from_definition, identity_key
from remand_app.engine.dead_letters import SYSTEM, log_opened, open_letters
from remand_app.engine.engine import Engine
from remand_app.store import dead_letter_workflows, failures
from remand_app.store.database import Connection
from remand_app.store.failures import DecidedDeath
from remand_app.store.ids import new_id
from remand_app.store.workflows import NewWorkflow, insert_workflow
from remand_app.telemetry import log

HANDLER: Final = "remand.message"
MAX_BODY_BYTES: Final = 16_384
"""Most bytes of a body that are kept."""
MAX_FIELDS_BYTES: Final = 16_384
"""Most bytes kept of the headers, and of the properties."""
ERROR_CLASS: Final = "remand.MessageInvalid"
_SOURCE: Final = "message"
_DEFINITION: Final = {
    "namespace": "remand",
    "name": "message",
    "version": "1",
    "description": "Messages that no worker could take. Resolve or cancel them: there is nothing to run.",
    "steps": [{"name": "read", "handler": HANDLER, "queue": STEPS}],
}


@dataclass(frozen=True, slots=True)
class Unread:
    """What can be kept of a message that no worker can take."""

    queue: str
    reason: str
    digest: str
    """The same when this message is delivered again; different for every other message."""
    size: int
    """Bytes of its body."""
    body: bytes
    """Its beginning."""
    content_type: str
    content_encoding: str
    headers: str
    """JSON, or as much of it as was kept."""
    properties: str
    """As above."""


def set_aside(engine: Engine, message: Unread) -> UUID | None:
    """Open a letter for a message and return its id; None: there is one already.

    Transaction: own. Idempotent: by the message's digest.
    """
    template = _template()
    engine.templates.publish(template)
    template_id = engine.templates.find(template.ref).id
    key = identity_key(template, None, message.digest)
    text = json.dumps(_told(message, engine.settings.redact_keys))
    new = NewWorkflow(new_id(), text, key, template.priority)
    with engine.database.begin() as connection:
        submitted = insert_workflow(connection, engine.clock, template_id, new, by=SYSTEM)
        letter_id = _bury(engine, connection, submitted.workflow_id, message) if submitted.created else None
    if letter_id is not None:
        log(
            "message.set_aside",
            dead_letter_id=str(letter_id),
            queue=message.queue,
            reason=message.reason,
            size=message.size,
        )
    return letter_id


def _bury(engine: Engine, connection: Connection, workflow_id: UUID, message: Unread) -> UUID:
    now = engine.now(connection)
    failure = _failure(message)
    [failed] = dead_letter_workflows.blocking_steps(connection, [workflow_id], failure)
    death = DecidedDeath(
        # Nobody runs steps in that queue; it is the queue where the message was.
        replace(failed, queue=message.queue),
        DeadReason.PERMANENT_FAILURE,
        failure.message,
        source=_SOURCE,
        source_id=message.digest,
    )
    failures.keep_letters(connection, [workflow_id], [])
    dead_letter_workflows.take_out(
        connection, [death], failure=failure, why=failure.message, by=SYSTEM, now=now
    )
    opened = open_letters(
        connection,
        [death],
        templates=engine.templates,
        settings=engine.settings,
        now=now,
        jitter=engine.jitter,
    )
    log_opened(opened)
    return opened[0].letter_id


def _failure(message: Unread) -> Failure:
    text = f"a message in queue {message.queue} could not be read: {message.reason}"
    verdict = Classification("validation", "never", None, "message_invalid", 1.0, text)
    return Failure(ERROR_CLASS, text, "", verdict, fingerprint=fingerprint(ERROR_CLASS, text, ""))


def _template() -> Template:
    return from_definition(_DEFINITION)


def _told(message: Unread, secret_keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the input of the workflow, secrets masked."""
    fields = {
        "queue": message.queue,
        "reason": message.reason,
        "size": message.size,
        "sha256": message.digest,
        "content_type": message.content_type,
        "content_encoding": message.content_encoding,
        "headers": _fields(message.headers, secret_keys),
        "properties": _fields(message.properties, secret_keys),
    }
    return {**fields, **_body(message, secret_keys), "is_cut": message.size > len(message.body)}


def _fields(text: str, secret_keys: tuple[str, ...]) -> Any:
    parsed = _parsed(text)
    return redact_text(storable(text), secret_keys) if parsed is None else redact_json(parsed, secret_keys)


def _body(message: Unread, secret_keys: tuple[str, ...]) -> Mapping[str, str]:
    try:
        # The cut may fall within a character.
        text = message.body.decode("utf-8", "strict" if message.size <= len(message.body) else "ignore")
    except UnicodeDecodeError:
        shown = message.body.decode("latin-1")
        if not is_clean(shown, secret_keys):
            return {"body": redact_text(storable(shown), secret_keys)}
        return {"body_base64": base64.b64encode(message.body).decode()}
    parsed = _parsed(text)
    if isinstance(parsed, (dict, list)):
        return {"body": json.dumps(redact_json(parsed, secret_keys), ensure_ascii=False)}
    return {"body": redact_text(storable(text), secret_keys)}


def _parsed(text: str) -> Any:
    """Return the text as JSON that Postgres can store, None if it is not such JSON."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if first_problem(parsed) is None else None
