"""Users, tokens and sessions: who is let in, who no more, what is stored of it and written down."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from remand_app.domain.access import LEAST_ROLE, Permission, Role, permissions
from remand_app.domain.errors import (
    AccessInvalid,
    NameTaken,
    NotSignedIn,
    TokenNotFound,
    TooManyLogins,
    UserNotFound,
)
from remand_app.engine import access, signin
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.engine.signin import SignedIn
from remand_app.store import access as stored
from tests.support.engine import Harness
from tests.support.web import PASSWORD

pytestmark = pytest.mark.once

WHO = Who("ada", "asked for by the team")
HOME = "192.0.2.7"


@pytest.fixture
def engine(harness: Harness) -> Engine:
    return harness.engine


def come(engine: Engine, name: str = "grace", password: str = PASSWORD, **more: str | None) -> SignedIn:
    return signin.sign_in(engine, name, password, **{"address": HOME, **more})


def fail(engine: Engine, times: int, name: str = "grace", **more: str | None) -> None:
    for _ in range(times):
        with pytest.raises(NotSignedIn):
            come(engine, name, "wrong password", **more)


def audited(engine: Engine) -> list[tuple[str, str, str]]:
    rows = engine.database.call("select verb, subject, by from remand.audit_log order by id")
    return [(row[0], row[1], row[2]) for row in rows]


def everything_stored(engine: Engine) -> str:
    tables = ("users", "sessions", "login_codes", "api_tokens", "login_attempts", "audit_log")
    return "".join(
        str(engine.database.call(f"select coalesce(json_agg(t), '[]')::text from remand.{table} t"))
        for table in tables
    )


# roles


def test_each_role_may_what_the_one_before_it_may_and_more() -> None:
    viewer, operator, admin = (permissions(role) for role in Role)

    assert viewer < operator < admin
    assert admin == set(Permission) == set(LEAST_ROLE)
    assert all(str(one).endswith(":read") for one in viewer)


# tokens


def test_a_token_is_shown_once_and_stored_as_a_digest(engine: Engine) -> None:
    token, secret = access.create_token(engine, "ci", Role.OPERATOR, WHO)

    assert secret.startswith("rmd_")
    assert len(secret) == len("rmd_") + 43
    assert secret.startswith(token.hint)
    assert secret not in everything_stored(engine)
    assert secret[len(token.hint) :] not in everything_stored(engine)
    found = signin.recognise_token(engine, secret)
    assert found is not None
    assert (found.name, found.role, found.scopes) == ("token:ci", Role.OPERATOR, None)


def test_a_token_can_be_narrower_than_its_role_but_not_wider(engine: Engine) -> None:
    scopes = [Permission.LETTERS_READ, Permission.LETTERS_WRITE]
    _, secret = access.create_token(engine, "triage", Role.OPERATOR, WHO, scopes=scopes)

    found = signin.recognise_token(engine, secret)
    assert found is not None
    assert found.scopes is not None
    assert permissions(found.role, found.scopes) == set(scopes)
    with pytest.raises(AccessInvalid, match="viewer cannot have letters:write"):
        access.create_token(engine, "more", Role.VIEWER, WHO, scopes=scopes)
    with pytest.raises(AccessInvalid, match="could do nothing"):
        access.create_token(engine, "none", Role.VIEWER, WHO, scopes=[])


def test_a_token_ends_when_it_expires(engine: Engine, harness: Harness) -> None:
    _, secret = access.create_token(engine, "ci", Role.VIEWER, WHO, expires_in=timedelta(hours=1))

    harness.advance(3599)
    assert signin.recognise_token(engine, secret) is not None
    harness.advance(1)
    assert signin.recognise_token(engine, secret) is None


def test_a_revoked_token_is_gone_at_once_and_its_name_is_free(engine: Engine) -> None:
    _, secret = access.create_token(engine, "ci", Role.VIEWER, WHO)
    with pytest.raises(NameTaken):
        access.create_token(engine, "CI", Role.VIEWER, WHO)

    access.revoke_token(engine, "ci", WHO)

    assert signin.recognise_token(engine, secret) is None
    with pytest.raises(TokenNotFound):
        access.revoke_token(engine, "ci", WHO)
    access.create_token(engine, "ci", Role.VIEWER, WHO)


def test_that_a_token_was_used_is_written_at_most_once_a_minute(engine: Engine, harness: Harness) -> None:
    _, secret = access.create_token(engine, "ci", Role.VIEWER, WHO)
    begun = harness.clock.now

    signin.recognise_token(engine, secret)
    harness.advance(59)
    signin.recognise_token(engine, secret)
    assert stored.list_tokens(engine.database)[0].used_at == begun
    harness.advance(2)
    signin.recognise_token(engine, secret)
    assert stored.list_tokens(engine.database)[0].used_at == harness.clock.now


@pytest.mark.parametrize("secret", ["", "rmd_", "rmd_wrong", "' or true --", "\x00", "\ud800", "x" * 100_000])
def test_what_is_no_token_is_nobody(engine: Engine, secret: str) -> None:
    access.create_token(engine, "ci", Role.VIEWER, WHO)

    assert signin.recognise_token(engine, secret) is None
    assert signin.recognise_session(engine, secret) is None


# users


def test_a_password_is_stored_as_argon2id_and_nowhere_else(engine: Engine) -> None:
    access.add_user(engine, "Grace", Role.OPERATOR, PASSWORD, WHO)

    [(name, hashed)] = engine.database.call("select name, password_hash from remand.users")
    assert name == "grace"
    assert hashed.startswith("$argon2id$")
    assert PASSWORD not in everything_stored(engine)


@pytest.mark.parametrize("password", ["short", "x" * 257, "aaaaaaaaaaaaaa", "graceishere", "ababababab"])
def test_passwords_that_are_guessed_first_are_refused(engine: Engine, password: str) -> None:
    with pytest.raises(AccessInvalid, match="the password"):
        access.add_user(engine, "grace", Role.VIEWER, password, WHO)


@pytest.mark.parametrize("name", ["remand", " Remand"])
def test_nobody_is_called_as_the_product_signs(engine: Engine, name: str) -> None:
    for made in (
        lambda: access.add_user(engine, name, Role.VIEWER, PASSWORD, WHO),
        lambda: access.create_login_code(engine, name, Role.VIEWER, WHO),
    ):
        with pytest.raises(AccessInvalid, match="the product itself"):
            made()
    assert stored.list_users(engine.database) == []


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 65, "ада", "a\nb", "token:x"])
def test_names_are_plain(engine: Engine, name: str) -> None:
    with pytest.raises(AccessInvalid, match="is no name"):
        access.add_user(engine, name, Role.VIEWER, PASSWORD, WHO)


def test_signing_in_takes_the_right_password_of_somebody_who_may(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.OPERATOR, PASSWORD, WHO)

    signed = come(engine, " Grace ")

    assert (signed.identity.name, signed.identity.role) == ("grace", Role.OPERATOR)
    assert signin.recognise_session(engine, signed.secret) == signed.identity
    assert signed.secret not in everything_stored(engine)
    fail(engine, 1)
    fail(engine, 1, "nobody")
    with pytest.raises(NotSignedIn):
        come(engine, "grace", PASSWORD + " ")
    with pytest.raises(NameTaken):
        access.add_user(engine, "GRACE", Role.VIEWER, PASSWORD, WHO)


@pytest.mark.usefixtures("strong_passwords")
def test_a_wrong_name_is_told_as_a_wrong_password(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    access.add_user(engine, "grace", Role.OPERATOR, PASSWORD, WHO)
    checked: list[str] = []
    verify = type(signin.HASHER).verify

    def watched(hasher: object, stored: str, password: str) -> bool:
        checked.append(stored)
        return verify(signin.HASHER, stored, password)

    monkeypatch.setattr(type(signin.HASHER), "verify", watched)
    told = []
    for name in ("grace", "nobody", "no name at all"):
        with pytest.raises(NotSignedIn) as refused:
            come(engine, name, "wrong password")
        told.append((refused.value.message, refused.value.hint, refused.value.details))

    assert len(set(map(str, told))) == 1
    # Each costs one check of a hash of the same strength: the time says nothing, either.
    assert [one.rpartition("$")[0].rpartition("$")[0] for one in checked] == [
        "$argon2id$v=19$m=65536,t=3,p=4"
    ] * 3


def test_a_role_that_changes_holds_for_open_sessions(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.ADMIN, PASSWORD, WHO)
    signed = come(engine)

    access.set_role(engine, "grace", Role.VIEWER, WHO)

    found = signin.recognise_session(engine, signed.secret)
    assert found is not None
    assert found.role is Role.VIEWER


def test_another_password_signs_out_everywhere(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.ADMIN, PASSWORD, WHO)
    first, second = come(engine), come(engine)

    access.set_password(engine, "grace", "another fine day", WHO)

    assert signin.recognise_session(engine, first.secret) is None
    assert signin.recognise_session(engine, second.secret) is None
    fail(engine, 1)
    assert come(engine, "grace", "another fine day")


def test_who_is_disabled_is_out_until_enabled(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.ADMIN, PASSWORD, WHO)
    signed = come(engine)

    access.disable_user(engine, "grace", WHO)

    assert signin.recognise_session(engine, signed.secret) is None
    with pytest.raises(NotSignedIn):
        come(engine)
    assert not stored.is_anybody_there(engine.database, engine.clock.fixed())
    access.enable_user(engine, "grace", WHO)
    assert signin.recognise_session(engine, signed.secret) is None
    assert come(engine)


@pytest.mark.parametrize("verb", [access.disable_user, access.enable_user])
def test_nobody_is_no_user(engine: Engine, verb: object) -> None:
    with pytest.raises(UserNotFound):
        verb(engine, "nobody", WHO)  # type: ignore[operator]


# sessions


def test_a_session_ends_when_unused_and_in_any_case(harness: Harness) -> None:
    engine = harness.engine
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    idle, longest = (engine.settings.web.session_idle_seconds, engine.settings.web.session_max_seconds)
    left = come(engine)
    harness.advance(idle)
    assert signin.recognise_session(engine, left.secret) is None

    used = come(engine)
    for _ in range(int(longest // (idle / 2)) - 1):
        harness.advance(idle / 2)
        assert signin.recognise_session(engine, used.secret) is not None
    harness.advance(idle / 2)
    assert signin.recognise_session(engine, used.secret) is None


def test_signing_out_ends_one_session(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    first, second = come(engine), come(engine)

    signin.sign_out(engine, first.secret)
    signin.sign_out(engine, first.secret)

    assert signin.recognise_session(engine, first.secret) is None
    assert signin.recognise_session(engine, second.secret) is not None


def test_a_link_signs_in_once_and_not_for_long(engine: Engine, harness: Harness) -> None:
    code = access.create_login_code(engine, "me", Role.ADMIN, WHO)
    late = access.create_login_code(engine, "me", Role.ADMIN, WHO)
    assert code not in everything_stored(engine)

    signed = signin.open_link(engine, code, address=HOME)
    assert signin.recognise_session(engine, signed.secret) == signed.identity
    assert (signed.identity.name, signed.identity.role) == ("me", Role.ADMIN)
    harness.advance(access.CODE_SECONDS)
    for spent in (code, late, "", "wrong"):
        with pytest.raises(NotSignedIn):
            signin.open_link(engine, spent, address=HOME)


def test_of_many_who_open_a_link_at_once_one_comes_in(engine: Engine) -> None:
    code = access.create_login_code(engine, "me", Role.ADMIN, WHO)

    def come_in(_number: int) -> bool:
        try:
            return bool(signin.open_link(engine, code, address=HOME))
        except NotSignedIn:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(come_in, range(8))) == 1


# wrong passwords


def test_wrong_passwords_make_one_wait_longer_each_time_up_to_a_limit(
    engine: Engine, harness: Harness
) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    fail(engine, 5)

    waits = []
    for _ in range(9):
        with pytest.raises(TooManyLogins) as refused:
            come(engine)  # even with the right one
        waits.append(refused.value.retry_after_seconds)
        harness.advance(waits[-1])
        fail(engine, 1)

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    harness.advance(60)
    assert come(engine)
    fail(engine, 4)
    assert come(engine)


def test_trying_while_one_has_to_wait_makes_the_wait_no_longer(engine: Engine, harness: Harness) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    fail(engine, 5)
    for seconds in (1, 2, 4):
        harness.advance(seconds)
        fail(engine, 1)
    harness.advance(7)
    for _ in range(20):
        with pytest.raises(TooManyLogins):
            come(engine)
    harness.advance(1)

    assert come(engine)


def test_a_name_that_nobody_has_makes_one_wait_as_well(engine: Engine) -> None:
    fail(engine, 5, "nobody")

    with pytest.raises(TooManyLogins):
        come(engine, "nobody")


def test_an_attacker_cannot_keep_a_person_out_of_a_browser_they_used_before(
    engine: Engine, harness: Harness
) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    device = come(engine).device
    for number in range(50):
        try:
            come(engine, "grace", "guess", address=f"203.0.113.{number}")
        except (NotSignedIn, TooManyLogins):
            harness.advance(5)

    with pytest.raises(TooManyLogins):
        come(engine, "grace", PASSWORD, address="203.0.113.200")
    assert come(engine, device=device)
    # What such a browser may guess is limited, too, and it says nothing about other accounts.
    fail(engine, 5, device=device)
    with pytest.raises(TooManyLogins):
        come(engine, device=device)
    access.add_user(engine, "alan", Role.VIEWER, PASSWORD, WHO)
    fail(engine, 5, "alan", device=device)
    with pytest.raises(TooManyLogins):
        come(engine, "alan", device=device)


def test_one_address_cannot_try_one_password_on_many_accounts(engine: Engine) -> None:
    access.add_user(engine, "own", Role.VIEWER, PASSWORD, WHO)
    for number in range(20):
        fail(engine, 1, f"user{number}", address="2001:db8::1")

    with pytest.raises(TooManyLogins):
        come(engine, "another", address="2001:db8::2:3")  # the same /64
    with pytest.raises(NotSignedIn):
        come(engine, "another", address="2001:db8:1::1")


def test_ipv4_addresses_of_a_server_that_speaks_both_are_told_apart(engine: Engine) -> None:
    for number in range(20):
        fail(engine, 1, f"user{number}", address="::ffff:192.0.2.1")

    with pytest.raises(TooManyLogins):
        come(engine, "another", address="192.0.2.1")
    fail(engine, 1, "another", address="::ffff:192.0.2.2")


def test_an_account_of_ones_own_does_not_wash_an_address_clean(engine: Engine) -> None:
    access.add_user(engine, "own", Role.VIEWER, PASSWORD, WHO)
    for number in range(19):
        fail(engine, 1, f"user{number}")
        come(engine, "own")
    fail(engine, 1, "user19")

    with pytest.raises(TooManyLogins):
        come(engine, "own")


def test_many_tries_at_once_count_as_many(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)

    def guess(_number: int) -> str:
        try:
            come(engine, "grace", "wrong password")
        except (NotSignedIn, TooManyLogins) as error:
            return error.code
        return "in"

    with ThreadPoolExecutor(12) as pool:
        told = list(pool.map(guess, range(12)))

    assert told.count("NOT_SIGNED_IN") == 5
    assert told.count("TOO_MANY_LOGINS") == 7


def test_old_failures_are_forgotten_and_what_is_over_is_deleted(engine: Engine, harness: Harness) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    access.create_login_code(engine, "me", Role.ADMIN, WHO)
    fail(engine, 4)
    harness.advance(901)
    fail(engine, 4)
    come(engine, address="192.0.2.99")
    harness.advance(days=8)
    come(engine)

    assert engine.database.call("select count(*) from remand.sessions") == [(1,)]
    assert engine.database.call("select count(*) from remand.login_codes") == [(0,)]
    keys = {row[0].partition(":")[0] for row in engine.database.call("select key from remand.login_attempts")}
    assert keys == {"account", "address", "device"}
    harness.advance(days=91)
    come(engine)
    assert len(engine.database.call("select key from remand.login_attempts")) == 3


# sessions by link


@pytest.mark.parametrize("verb", ["disable", "password", "role"])
def test_a_session_by_link_is_judged_by_its_account(engine: Engine, verb: str) -> None:
    access.add_user(engine, "grace", Role.ADMIN, PASSWORD, WHO)
    signed = signin.open_link(engine, linked(engine), address=HOME)

    change_account(engine, verb)

    found = signin.recognise_session(engine, signed.secret)
    if verb == "role":
        assert found is not None
        assert found.role is Role.VIEWER
    else:
        assert found is None


@pytest.mark.parametrize("verb", ["disable", "password", "role"])
def test_a_link_made_before_its_account_changed_signs_in_no_more(engine: Engine, verb: str) -> None:
    access.add_user(engine, "grace", Role.ADMIN, PASSWORD, WHO)
    code = linked(engine)

    change_account(engine, verb)
    access.enable_user(engine, "grace", WHO)

    with pytest.raises(NotSignedIn):
        signin.open_link(engine, code, address=HOME)
    assert signin.open_link(engine, linked(engine), address=HOME)


def test_a_link_gives_the_role_of_its_account_and_none_to_who_is_disabled(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)

    assert signin.open_link(engine, linked(engine), address=HOME).identity.role is Role.VIEWER

    access.disable_user(engine, "grace", WHO)
    with pytest.raises(UserNotFound):
        linked(engine)


def test_who_comes_by_a_link_alone_has_an_account_that_can_be_ended(engine: Engine) -> None:
    code = access.create_login_code(engine, "me", Role.ADMIN, WHO)
    signed = signin.open_link(engine, code, address=HOME)
    assert [one.name for one in stored.list_users(engine.database)] == ["me"]

    access.disable_user(engine, "me", WHO)

    assert signin.recognise_session(engine, signed.secret) is None


def test_a_link_opened_while_its_account_changes_is_either_before_or_after(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.ADMIN, PASSWORD, WHO)
    opened: list[str] = []

    def come_in(code: str) -> None:
        with contextlib.suppress(NotSignedIn):
            opened.append(signin.open_link(engine, code, address=HOME).secret)

    with ThreadPoolExecutor(8) as pool:
        for code in [linked(engine) for _ in range(7)]:
            pool.submit(come_in, code)
        pool.submit(access.disable_user, engine, "grace", WHO).result()

    assert [one for one in opened if signin.recognise_session(engine, one)] == []


def linked(engine: Engine) -> str:
    return access.create_login_code(engine, "grace", Role.ADMIN, WHO)


def change_account(engine: Engine, verb: str) -> None:
    match verb:
        case "disable":
            access.disable_user(engine, "grace", WHO)
        case "password":
            access.set_password(engine, "grace", "another fine day", WHO)
        case "role":
            access.set_role(engine, "grace", Role.VIEWER, WHO)


# what is written down


def test_every_change_of_access_is_audited_with_who_and_why(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    access.set_role(engine, "grace", Role.ADMIN, WHO)
    access.set_password(engine, "grace", "another fine day", WHO)
    access.disable_user(engine, "grace", WHO)
    access.enable_user(engine, "grace", WHO)
    access.create_token(engine, "ci", Role.VIEWER, WHO)
    access.revoke_token(engine, "ci", WHO)
    access.create_login_code(engine, "me", Role.ADMIN, WHO)

    assert audited(engine) == [
        ("user.add", "grace", "ada"),
        ("user.set_role", "grace", "ada"),
        ("user.set_password", "grace", "ada"),
        ("user.disable", "grace", "ada"),
        ("user.enable", "grace", "ada"),
        ("token.create", "ci", "ada"),
        ("token.revoke", "ci", "ada"),
        ("login_link.create", "me", "ada"),
    ]
    rows = engine.database.call(
        "select before, after, reason, via from remand.audit_log where verb = 'user.set_role'"
    )
    assert rows == [({"role": "viewer"}, {"role": "admin"}, "asked for by the team", "cli")]


def test_a_refused_change_is_not_audited(engine: Engine) -> None:
    access.add_user(engine, "grace", Role.VIEWER, PASSWORD, WHO)
    with pytest.raises(NameTaken):
        access.add_user(engine, "grace", Role.ADMIN, PASSWORD, WHO)

    assert audited(engine) == [("user.add", "grace", "ada")]
