"""`Idempotency-Key`: a repeated POST gets the first answer again, and does nothing twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header
from pydantic import BaseModel, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from remand_app.api.responses import answer
from remand_app.engine.engine import Engine
from remand_app.resources import idempotency
from remand_app.resources.idempotency import Answered, new_id
from remand_app.web.identity import signed_in

REPLAYED = "Idempotency-Replayed"

_Key = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[\x21-\x7e]+$")] | None,
    Header(
        alias="Idempotency-Key",
        description="Any text of your own, such as a UUID; the same with every repetition of one request.",
    ),
]


class Once:
    """The request at hand, and the key it came with, if any."""

    def __init__(self, request: Request, key: str | None) -> None:
        self._request = request
        self._key = key

    def run(self, body: BaseModel, act: Callable[[UUID], Response]) -> Response:
        """Act, or return what was answered the first time; `act` gets the id to make something under.

        An answer is remembered, an error is not: it may be tried again with the same key.

        Raises:
            KeyReused, KeyInUse: the key came with another request, or its first one is under way.
        """
        if self._key is None:
            return act(new_id())
        engine: Engine = self._request.app.state.runtime.engine
        caller = signed_in(self._request).name
        taken = idempotency.take(engine.database, engine.clock, caller, self._key, self._fingerprint(body))
        if isinstance(taken, Answered):
            return answer(taken.body, taken.status, {REPLAYED: "true"})
        try:
            made = act(taken)
        except BaseException:
            idempotency.forget(engine.database, caller, self._key)
            raise
        idempotency.keep(engine.database, caller, self._key, made.status_code, bytes(made.body))
        return made

    def _fingerprint(self, body: BaseModel) -> str:
        sent = f"{self._request.method} {self._request.url.path}\n{body.model_dump_json()}"
        return hashlib.sha256(sent.encode()).hexdigest()


async def _once(request: Request, key: _Key = None) -> Once:
    return Once(request, key)


OnceOf = Annotated[Once, Depends(_once)]
