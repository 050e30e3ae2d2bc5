"""Which Celery app is current in our processes: the users' app, never ours.

A `shared_task` belongs to the current app. If ours were current, such a task would land in our queues. So the
app that the handlers' modules made current stays current, in every thread and child. If there is none, a task
that a handler sends fails at once with an error that says so.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, _state
from celery.exceptions import ImproperlyConfigured
from celery.signals import worker_process_init


class NoApp(Celery):
    """Replaces Celery's default app, whose broker would be whatever listens on this machine.

    Settings in a `celeryconfig` module or in CELERY_BROKER_URL make it an app like any other.
    """

    def connection_for_write(self, url: str | None = None, *args: Any, **kwargs: Any) -> Any:
        """Connect to send, if a broker is configured."""
        self._need(url or self.conf.broker_write_url)
        return super().connection_for_write(url, *args, **kwargs)

    def connection_for_read(self, url: str | None = None, **kwargs: Any) -> Any:
        """Connect to read, if a broker is configured."""
        self._need(url or self.conf.broker_read_url)
        return super().connection_for_read(url, **kwargs)

    def _need(self, url: str | None) -> None:
        if url is None:
            message = (
                "no broker is configured for tasks sent from here: no Celery app of yours is current."
                " Make one in a module that your handlers import; Remand's own runs no other tasks"
            )
            raise ImproperlyConfigured(message)


def hand_over() -> None:
    """Make this thread's current app the current app of all threads; call it when handlers are imported."""
    _default.app = _state._tls.current_app or _no_app()  # noqa: SLF001 - Celery tells it in no other way
    _state.set_default_app(_default.app)


class _Default:
    app: Celery | None = None


_default = _Default()


def _no_app() -> NoApp:
    return NoApp(
        "default", fixups=[], set_as_current=False, loader=os.environ.get("CELERY_LOADER") or "default"
    )


@worker_process_init.connect
def _take_back(**_: Any) -> None:
    """Undo what Celery does when it begins a child: it makes the worker's app the default."""
    _state.set_default_app(_default.app)
