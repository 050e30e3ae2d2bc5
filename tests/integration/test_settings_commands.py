"""No setting of what workers obey is inert; over a real broker: acceptance/test_command_access.py."""

from __future__ import annotations

import pytest
from celery.worker.control import Panel

from remand_app.config import load_settings
from remand_app.domain.commands import check_command
from remand_app.domain.errors import NotSignedIn
from remand_workers.message_guard import handlers


def served(access: str | None) -> set[str]:
    given = {} if access is None else {"REMAND_COMMANDS__ACCESS": access}
    chosen = load_settings(None, given).commands.access
    found = set()
    for name in ("remand.submit", "remand.get", "remand.cancel"):
        try:
            check_command(name, chosen, None)
        except NotSignedIn:
            continue
        found.add(name)
    return found


@pytest.mark.parametrize(
    ("access", "verbs"),
    [
        (None, {"remand.submit", "remand.get"}),
        ("submit", {"remand.submit", "remand.get"}),
        ("open", {"remand.submit", "remand.get", "remand.cancel"}),
        ("token", set()),
    ],
)
def test_commands_access_is_what_is_served_without_a_token(access: str | None, verbs: set[str]) -> None:
    assert served(access) == verbs


@pytest.mark.parametrize(
    ("listed", "obeyed"), [(None, "ping"), ("ping,shutdown", "shutdown"), ("shutdown", "shutdown")]
)
def test_commands_control_is_what_workers_obey(listed: str | None, obeyed: str) -> None:
    given = {} if listed is None else {"REMAND_COMMANDS__CONTROL": listed}
    made = handlers(load_settings(None, given).commands.control)

    assert made[obeyed] is Panel.data[obeyed]
    assert "error" in made["revoke"](None, task_id="1")
    assert (made["shutdown"] is Panel.data["shutdown"]) == (listed is not None)
