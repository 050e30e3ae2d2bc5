"""`remand user`, `token`, `audit` and `serve` as people and scripts use them."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.dashboard_address import port_for, written_down
from remand_app.cli.invoke import run
from remand_app.config import Settings
from remand_app.domain.errors import AddressTaken
from remand_app.server import _listen
from remand_app.store.database import Database
from tests.support.web import PASSWORD, Web, sign_in

pytestmark = pytest.mark.once

Answer = Callable[..., Any]


@pytest.fixture(autouse=True)
def place(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("REMAND_USER", "ann")
    monkeypatch.setenv("SECRET", PASSWORD)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    """Run `remand … --json`, hold it to its exit code, return what it answered."""

    def ask(*words: str, exits: int = 0) -> Any:
        capsys.readouterr()
        code = run([*words, "--json"])
        told = capsys.readouterr()
        assert code == exits, f"{words}: {code}\n{told.out}\n{told.err}"
        return json.loads(told.out.splitlines()[-1])

    return ask


def add(answer: Answer, name: str = "grace", *more: str, exits: int = 0) -> Any:
    return answer("user", "add", name, "--password-variable", "SECRET", *more, exits=exits)


def test_a_user_that_was_added_can_sign_in(answer: Answer, web: Web) -> None:
    added = add(answer, "Grace", "--role", "operator")

    assert (added["name"], added["role"], added["created_by"]) == ("grace", "operator", "ann")
    assert "password_hash" not in added
    assert sign_in(web.nobody(), "grace").status_code == 303
    assert answer("user", "set-role", "grace", "viewer")["role"] == "viewer"
    assert answer("user", "disable", "grace")["disabled_at"]
    assert sign_in(web.nobody(), "grace").status_code == 401
    assert answer("user", "enable", "grace")["disabled_at"] is None
    assert [one["name"] for one in answer("user", "list")["items"]] == ["grace"]


def test_a_password_can_come_by_standard_input(
    answer: Answer, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(answer)
    monkeypatch.setattr("sys.stdin", io.StringIO("another fine day\n"))

    answer("user", "password", "grace", "--password-stdin")

    assert sign_in(web.nobody(), "grace", "another fine day").status_code == 303
    assert sign_in(web.nobody(), "grace").status_code == 401


def test_without_a_terminal_it_asks_nobody(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    assert answer("user", "add", "grace", exits=2)["error"]["code"] == "ACCESS_INVALID"
    monkeypatch.delenv("SECRET")
    assert add(answer, exits=2)["error"]["code"] == "ACCESS_INVALID"


def test_keep_leaves_a_user_as_they_are(answer: Answer, monkeypatch: pytest.MonkeyPatch, web: Web) -> None:
    add(answer, "admin", "--role", "admin", "--keep")
    monkeypatch.setenv("SECRET", "another fine day")

    assert add(answer, "admin", "--role", "viewer", "--keep")["role"] == "admin"

    assert sign_in(web.nobody(), "admin", PASSWORD).status_code == 303
    assert add(answer, "admin", exits=5)["error"]["code"] == "NAME_TAKEN"


def test_a_link_is_for_oneself_or_for_a_user(answer: Answer, web: Web) -> None:
    add(answer, "grace", "--role", "operator")

    mine, hers = answer("user", "link"), answer("user", "link", "grace")

    assert (mine["role"], hers["role"]) == ("admin", "operator")
    assert hers["login_url"].startswith("http://127.0.0.1:8484/login/link?code=")
    browser = web.nobody()
    opened = browser.post("/login/link", data={"code": hers["login_url"].partition("code=")[2]})
    assert opened.status_code == 303
    assert answer("user", "link", "nobody", exits=4)["error"]["code"] == "USER_NOT_FOUND"


def test_a_token_is_shown_once_and_works_until_revoked(answer: Answer, web: Web) -> None:
    made = answer("token", "create", "ci", "--scope", "queues:read", "--expires-in", "1h")

    program = web.nobody(headers={"Authorization": f"Bearer {made['token']}"})
    web.clock.now = web.clock.now.fromisoformat(made["created_at"])
    assert program.get("/api/v1/queues").status_code == 200
    assert program.get("/api/v1/workflows").status_code == 403
    [listed] = answer("token", "list")["items"]
    assert listed["name"] == "ci"
    assert listed["scopes"] == ["queues:read"]
    assert made["token"] not in json.dumps(listed)
    answer("token", "revoke", made["hint"])
    assert program.get("/api/v1/queues").status_code == 401
    assert answer("token", "list")["items"] == []
    assert len(answer("token", "list", "--all")["items"]) == 1
    assert answer("token", "revoke", "ci", exits=4)["error"]["code"] == "TOKEN_NOT_FOUND"


def test_a_token_kept_in_a_file_is_made_anew_only_when_it_is_no_good(
    answer: Answer, web: Web, tmp_path: Path
) -> None:
    file = tmp_path / "remand-token"

    def keep(*more: str) -> tuple[bool, str]:
        told = answer("token", "create", "prometheus", "--file", str(file), *more)
        held = file.read_text()
        assert held not in json.dumps(told)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        [listed] = answer("token", "list")["items"]
        assert held.startswith(listed["hint"])
        web.clock.now = max(web.clock.now, web.clock.now.fromisoformat(listed["created_at"]))
        return told["is_new"], held

    def is_let_in(held: str, path: str = "/metrics") -> bool:
        answered = web.nobody(headers={"Authorization": f"Bearer {held}"}).get(path)
        return answered.status_code == 200

    scoped = ("--scope", "metrics:read")
    is_new, first = keep(*scoped)
    assert is_new
    assert is_let_in(first)
    assert not is_let_in(first, "/api/v1/workflows")
    assert keep(*scoped) == (False, first), "it is good"

    is_new, wider = keep()
    assert is_new, "it may more"
    assert not is_let_in(first)
    assert is_let_in(wider, "/api/v1/workflows")

    answer("token", "revoke", "prometheus")
    is_new, third = keep()
    assert (is_new, is_let_in(third)) == (True, True)

    file.unlink()
    is_new, fourth = keep()
    assert (is_new, is_let_in(third), is_let_in(fourth)) == (True, False, True)
    assert list(tmp_path.iterdir()) == [file], "something was left beside it"


def test_a_file_that_takes_no_token_is_told(answer: Answer, tmp_path: Path) -> None:
    for file in (tmp_path, tmp_path / "missing" / "token"):
        told = answer("token", "create", "ci", "--file", str(file), exits=2)
        assert told["error"]["code"] == "INPUT_INVALID"


@pytest.mark.parametrize(
    "words", [("--scope", "letters:write"), ("--expires-in", "soon"), ("--role", "root")]
)
def test_a_token_that_makes_no_sense_is_refused(answer: Answer, words: tuple[str, ...]) -> None:
    answer("token", "create", "ci", *words, exits=2)

    assert answer("token", "list")["items"] == []


def test_nobody_signs_as_the_product(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (("token", "create", "ci"), ("queue", "pause", "steps")):
        assert answer(*words, "--by", "Remand", exits=2)["error"]["code"] == "INPUT_INVALID"
    # As in a container, whose user is called so.
    monkeypatch.delenv("REMAND_USER", raising=False)
    monkeypatch.setattr("getpass.getuser", lambda: "remand")
    answer("token", "create", "ci")
    assert answer("audit", "list")["items"][0]["by"] == "user:remand"
    answer("user", "link")
    assert [one["name"] for one in answer("user", "list")["items"]] == ["user-remand"]


def test_the_audit_log_is_listed_page_by_page(answer: Answer) -> None:
    for name in ("a", "b", "c"):
        answer("token", "create", name, "--by", "bob", "--reason", "why not")

    first = answer("audit", "list", "--limit", "2")
    second = answer("audit", "list", "--limit", "2", "--after", first["next"])

    assert [one["subject"] for one in (*first["items"], *second["items"])] == ["c", "b", "a"]
    assert second["next"] is None
    assert {(one["by"], one["via"], one["reason"]) for one in first["items"]} == {("bob", "cli", "why not")}
    assert answer("audit", "list", "--by", "ann")["items"] == []
    assert len(answer("audit", "list", "--verb", "token.create", "--since", "1h")["items"]) == 3
    assert answer("audit", "list", "--workflow", "beef", exits=4)["error"]["code"] == "WORKFLOW_NOT_FOUND"


@pytest.mark.parametrize(
    "words",
    ["user list", "token list", "audit list", "user add grace --password-variable SECRET", "token create ci"],
)
def test_people_are_told_in_words(words: str, capsys: pytest.CaptureFixture[str], database: Database) -> None:
    capsys.readouterr()

    assert run(words.split()) == 0

    told = capsys.readouterr().out
    assert told.strip()
    assert PASSWORD not in told


def test_serve_refuses_to_listen_for_everybody_while_nobody_could_sign_in(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr("os.execve", lambda _path, words, _environment: became.append(words))

    refused = answer("serve", "--host", "0.0.0.0", exits=3)
    assert refused["error"]["code"] == "NOBODY_COULD_SIGN_IN"
    assert became == []

    add(answer)
    run(["serve", "--host", "0.0.0.0"])
    assert became[0][1:] == ["-P", "-m", "remand_app.server"]


def test_up_takes_another_port_where_one_is_taken_unless_it_was_asked_for() -> None:
    with _listen("127.0.0.1", 0) as door:
        taken = door.getsockname()[1]
        found = port_for("127.0.0.1", taken, exactly=False)
        with pytest.raises(AddressTaken):
            port_for("127.0.0.1", taken, exactly=True)

    assert found != taken
    assert port_for("127.0.0.1", found, exactly=True) == found


def test_nobody_else_says_where_the_dashboard_is(tmp_path: Path, no_umask: None) -> None:
    with written_down(Settings(data_dir=tmp_path / "data"), "http://127.0.0.1:1234"):
        files = [one for one in (tmp_path / "data").rglob("*") if one.is_file()]
        assert [stat.S_IMODE(one.stat().st_mode) for one in files] == [0o644]
        assert not stat.S_IMODE((tmp_path / "data").stat().st_mode) & 0o022


def test_other_commands_know_where_up_put_the_dashboard(answer: Answer) -> None:
    with written_down(Settings(), "http://127.0.0.1:1234"):
        assert answer("user", "link")["login_url"].startswith("http://127.0.0.1:1234/login/link?code=")
    assert answer("user", "link")["login_url"].startswith("http://127.0.0.1:8484/")
