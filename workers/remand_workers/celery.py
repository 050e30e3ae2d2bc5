"""The Celery app: settings that survive crashes, the beat schedule. Source: measured on Celery 5.7."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.signals import setup_logging

from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.bell import broker_settings
from remand_app.broker_queues import own_queues
from remand_app.config import Settings, load_settings
from remand_app.domain.queues import COMMANDS
from remand_app.telemetry import configure_logging

_TASKS = (
    "remand_workers.steps",
    "remand_workers.retries",
    "remand_workers.maintenance",
    "remand_workers.commands",
    "remand_workers.set_aside",
)


class OwnApp(Celery):
    """Remand's app: never current nor default, because tasks that a handler sends belong to the users' app.

    Celery's worker makes its app both, in the main process and in each child; see `current.py`.
    """

    def set_current(self) -> None:
        """Do nothing."""

    def set_default(self) -> None:
        """Do nothing."""


def make_app(settings: Settings) -> Celery:
    """Return the Celery app for these settings."""
    app = OwnApp("remand", include=list(_TASKS), set_as_current=False)
    app.conf.update(celery_settings(settings))
    own_queues(app, settings.broker_queue_type)
    # Not `result_backend`: that gives way to a CELERY_RESULT_BACKEND in the environment.
    app.backend_cls = "rpc://"
    return app


def celery_settings(settings: Settings) -> dict[str, Any]:
    """Return Celery's settings. A message is a bell: it is acknowledged early and may be lost."""
    return {
        **broker_settings(settings.broker_url, settings.broker_timeout_seconds),
        "result_expires": 60,
        "task_default_queue": COMMANDS,
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_acks_late": False,
        "task_serializer": "json",
        "result_serializer": "json",
        "accept_content": ["json"],
        "task_publish_retry_policy": {
            "max_retries": 2,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.2,
        },
        "worker_consumer": "remand_workers.consumer:Consumer",
        "worker_prefetch_multiplier": 1,
        "worker_send_task_events": False,
        "worker_hijack_root_logger": False,
        "worker_soft_shutdown_timeout": settings.shutdown_grace_seconds,
        "worker_enable_soft_shutdown_on_idle": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_lost_wait": 2.0,
        "broker_connection_retry_on_startup": True,
        # Whatever the broker answers: a worker waits and comes back.
        "broker_channel_error_retry": True,
        # Celery's 100 tries end a worker after an outage of some 45 minutes; steps need no broker to go on.
        "broker_connection_max_retries": None,
        "broker_pool_limit": 10,
        "beat_scheduler": "remand_workers.beat:Scheduler",
        "beat_max_loop_interval": 1,
        "beat_schedule": {
            name: {
                "task": entry.task,
                "schedule": settings.interval_seconds(name),
                "options": {
                    "queue": entry.queue,
                    "expires": max(1.0, settings.interval_seconds(name)),
                    "ignore_result": True,
                },
            }
            for name, entry in BEAT_SCHEDULE.items()
        },
    }


settings = load_settings()
app = make_app(settings)


@setup_logging.connect
def _log_our_way(**_: Any) -> None:
    configure_logging(settings.log_level, settings.log_format, redact_keys=settings.redact_keys)
