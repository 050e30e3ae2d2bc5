"""Rules that users wrote, from where they are written to what becomes of a step; and what no rule knew."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import structlog

import remand
from remand.handler import Handlers
from remand.rules import user
from remand.rules.user import UserRule
from remand_app.config import Settings, load_settings
from remand_app.domain.errors import ConfigInvalid
from remand_app.domain.template import load_text
from remand_app.engine.rule_sets import RuleSets, books_of_settings, load_books, unknown_classes
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.resources import unclassified
from remand_app.runtime import Runtime
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.steps import attempts_of
from remand_app.store.unclassified import Unknown, record
from remand_workers import heartbeat, process
from tests.support.engine import Harness, publish
from tests.support.shapes import HANDLER, always, fails, shape
from tests.support.threads import together, values

pytestmark = pytest.mark.once

HarnessWith = Callable[..., Harness]


class Odd(Exception):
    """What no built-in rule knows."""


class Odder(Odd):
    """A kind of `Odd`."""


ODD = f"{__name__}.Odd"


def rule(name: str, category: str, **conditions: Any) -> dict[str, Any]:
    return {"name": name, "category": category, **(conditions or {"errors": ODD})}


def verdict(harness: Harness, error: BaseException, template: str = "") -> dict[str, Any]:
    """Let step a of a workflow fail once; return how its failure was judged."""
    harness.publish(template or shape("one", {"a": ()}))
    harness.play(a=always(error))
    workflow_id = harness.submit("t/one")
    harness.drain()
    return judged(harness.database, workflow_id)


def judged(database: Database, workflow_id: UUID) -> dict[str, Any]:
    """Return how the one attempt of step a was judged."""
    [attempt] = attempts_of(database, workflow_id, "a")
    assert attempt.failure is not None
    classification: dict[str, Any] = attempt.failure.to_json()["classification"]
    return classification


# Where rules are written.


def test_without_rules_an_unknown_failure_is_unclassified_and_retried_within_bounds(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    ran = harness.play(a=always(Odd("no")))
    workflow = harness.run_to_end(harness.submit("t/one"))

    assert (workflow.state, ran) == ("blocked_by_failures", ["a"] * 3)
    assert harness.open_letter(workflow.id).reason == "max_retries_exceeded"


def test_a_rule_of_the_settings_decides_what_becomes_of_a_step(harness_with: HarnessWith) -> None:
    harness = harness_with(rules=[rule("odd", "permanent", errors=ODD)])
    harness.publish(shape("one", {"a": ()}))
    ran = harness.play(a=always(Odd("no")))
    workflow = harness.run_to_end(harness.submit("t/one"))

    assert (workflow.state, ran) == ("blocked_by_failures", ["a"])
    assert judged(harness.database, workflow.id)["rule"] == "odd"


def test_a_rule_of_the_template_holds_for_its_steps_alone(harness: Harness) -> None:
    own = shape("one", {"a": ()}, rules=[rule("odd", "resource", retry_after=90, errors=ODD)])

    told = verdict(harness, Odd("no"), own)
    harness.publish(shape("other", {"a": ()}))
    other = harness.submit("t/other")
    harness.drain()

    assert (told["rule"], told["policy"], told["retry_after"]) == ("odd", "linear", 90.0)
    assert judged(harness.database, other)["rule"] == "unclassified"


def test_a_rule_of_a_step_holds_for_it_alone(harness: Harness) -> None:
    graph = {"a": (), "b": ()}
    harness.publish(shape("two", graph, each={"a": {"rules": [rule("odd", "permanent", errors=ODD)]}}))
    harness.play(a=always(Odd("no")), b=always(Odd("no")))
    workflow_id = harness.submit("t/two")
    harness.drain()

    rules = {
        one.step: one.failure and one.failure.classification.rule for one in harness.attempts(workflow_id)
    }
    assert rules == {"a": "odd", "b": "unclassified"}


def test_the_policy_of_a_rule_is_the_one_that_is_followed(harness_with: HarnessWith) -> None:
    harness = harness_with(
        rules=[rule("odd", "transient", errors=ODD, policy="fixed")], retry={"fixed": {"delay_seconds": 7}}
    )
    harness.publish(shape("one", {"a": ()}, retry={"jitter": 0}))
    harness.play(a=fails(Odd("once")))
    workflow_id = harness.submit("t/one")
    harness.run_until_quiet()

    [attempt] = harness.attempts(workflow_id)
    assert (attempt.policy, attempt.due_at) == ("fixed", harness.clock.now.replace(second=7))


@pytest.fixture
def no_decorated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what other tests registered, and at the end what this one does."""
    monkeypatch.setattr(user, "_registered", {})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install a package that names entry points: `install(name="module:object")`, with modules as text."""
    modules: list[str] = []

    def install(package: str, entries: dict[str, str], **sources: str) -> None:
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        lines = "".join(f"{name} = {target}\n" for name, target in entries.items())
        (info / "entry_points.txt").write_text(f"[remand.rules]\n{lines}")
        for module, source in sources.items():
            (tmp_path / f"{module}.py").write_text(source)
            modules.append(module)

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    for module in modules:
        sys.modules.pop(module, None)


def run_once(database_url: str, error: BaseException, template: str = "", **settings: Any) -> dict[str, Any]:
    """Run a failing step as production puts the parts together; return how its failure was judged."""
    runtime = Runtime(Settings(database_url=database_url, **settings))
    handlers = Handlers()
    handlers.add(HANDLER, always(error))
    publish(runtime.engine, template or shape("one", {"a": ()}))
    try:
        submitted = submit(runtime.engine, "t/one", SubmitRequest({}), by="test")
        runtime.drain(new_id(), handlers=handlers).run("steps")
        return judged(runtime.database, submitted.workflow_id)
    finally:
        runtime.database.dispose()


@pytest.mark.usefixtures("no_decorated")
def test_a_rule_made_by_the_decorator_decides(database_url: str) -> None:
    @remand.rule(errors=Odd, name="odd-by-message")
    def odd(exc: BaseException) -> str | None:
        return "validation" if "form" in str(exc) else None

    assert run_once(database_url, Odd("the form"))["rule"] == "odd-by-message"


RULES_MODULE = f"""
from remand.rules.user import UserRule, FunctionRule

RULE = UserRule("odd-one", "permission", errors=("{ODD}",))
RULES = [RULE]


def make():
    return RULES


class Holder:
    pass
"""


@pytest.mark.usefixtures("no_decorated")
@pytest.mark.parametrize("target", ["{0}", "{0}:RULE", "{0}:RULES", "{0}:make"])
def test_a_rule_of_an_installed_package_decides(
    database_url: str, installed: Callable[..., None], target: str
) -> None:
    installed("oddities", {"odd": target.format("oddities_rules")}, oddities_rules=RULES_MODULE)

    told = run_once(database_url, Odder("no"))

    assert (told["rule"], told["category"]) == ("odd-one", "permission")


@pytest.mark.usefixtures("no_decorated")
@pytest.mark.parametrize("target", ["oddities_made", "oddities_made:odd"])
def test_what_a_package_decorated_counts_once_and_as_the_packages(
    installed: Callable[..., None], target: str
) -> None:
    source = "import remand\n\n\n@remand.rule(name='odd-made')\ndef odd(exc):\n    return 'resource'\n"
    installed("oddities", {"odd": target}, oddities_made=source)

    layers = {place: [one.name for one in rules] for place, rules in load_books(Settings()).layers}

    assert layers == {"settings": [], "@remand.rule": [], "entry point odd": ["odd-made"]}


# Which rule goes first.


OSERROR = "builtins.OSError"


@pytest.mark.usefixtures("no_decorated")
def test_the_nearer_a_rule_is_written_the_sooner_it_is_asked(
    database_url: str, installed: Callable[..., None]
) -> None:
    places = ["step", "template", "settings", "code", "package"]
    source = (
        f"from remand.rules.user import UserRule\nRULE = UserRule('package', 'permanent', ('{OSERROR}',))\n"
    )
    installed("oddities", {"odd": "oddities_last:RULE"}, oddities_last=source)

    def decide_with(*written: str) -> str:
        here = {name: [rule(name, "resource", errors=OSERROR)] for name in written}
        user._registered.clear()
        if "code" in written:
            remand.rule(errors=OSError, name="code")(lambda exc: "validation")
        steps = {"a": {"rules": here["step"]}} if "step" in here else {}
        top = {"rules": here["template"]} if "template" in here else {}
        template = shape("one", {"a": ()}, each=steps, version=f"{len(written)}", **top)
        told = run_once(database_url, ConnectionResetError("gone"), template, rules=here.get("settings", []))
        return str(told["rule"])

    assert [decide_with(*places[first:-1]) for first in range(5)] == places


def test_without_an_entry_point_the_built_in_rule_decides_and_with_its_own_word_none(
    harness_with: HarnessWith,
) -> None:
    harness = harness_with(rules=[rule("mine", "permanent", errors=OSERROR)])

    class Own(OSError):
        retryable = True

    assert verdict(harness, Own("once more"))["rule"] == "own-word.retry"
    assert load_books(Settings()).base.users is None


@pytest.mark.parametrize(
    ("conditions", "error"),
    [
        ({"errors": ["builtins.LookupError", ODD]}, Odder("a kind of it")),
        ({"message": "teapot [0-9]+"}, Odd("a TEAPOT 418")),
        ({"codes": "ENOTUNIQ"}, OSError(76, "no")),
        ({"errors": ODD, "message": "tea"}, Odd("tea")),
    ],
)
def test_each_condition_of_a_rule_is_asked(
    harness_with: HarnessWith, conditions: dict[str, Any], error: BaseException
) -> None:
    assert verdict(harness_with(rules=[rule("mine", "validation", **conditions)]), error)["rule"] == "mine"


# Case R07: by qualified name.


def test_a_rule_matches_its_class_and_subclasses_by_qualified_name_and_no_namesake(
    harness_with: HarnessWith,
) -> None:
    harness = harness_with(rules=[rule("gone", "permanent", errors=ODD)])
    namesake = type("Odd", (Exception,), {"__module__": "other.package"})
    harness.publish(shape("three", {"same": (), "sub": (), "namesake": ()}))
    harness.play(same=always(Odd("x")), sub=always(Odder("x")), namesake=always(namesake("x")))
    workflow_id = harness.submit("t/three")
    harness.drain()

    rules = {
        one.step: one.failure and one.failure.classification.rule for one in harness.attempts(workflow_id)
    }

    assert rules["same"] == "gone"
    assert rules["sub"] == "gone"
    assert rules["namesake"] == "unclassified"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (ODD, None),
        ("not_installed_here.errors.Gone", None),
        ("psycopg2.errors.DeadlockDetected", None),
        ("IOError", None),
        ("remand.errors.PermanentEror", "has no attribute 'PermanentEror'"),
        ("remand.erors.PermanentError", "'erors'"),
        ("sqlalchemy.exc.nothing.Gone", "'nothing'"),
        ("json.dumps", "is no class of exceptions"),
        ("json.decoder.JSONDecoder", "is no class of exceptions"),
        ("socket.timeout", "another name of builtins.TimeoutError"),
    ],
)
def test_a_class_that_is_not_in_its_package_is_found_out(name: str, says: str | None) -> None:
    found = unknown_classes([("here", [UserRule("mine", "permanent", errors=(name,))])])

    assert [one.error_class for one in found] == ([] if says is None else [name])
    assert all(says in str(one) and "mine (here)" in str(one) for one in found if says)


def test_a_module_that_fails_when_looked_at_is_told_and_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_of_this_test.py").write_text("raise RuntimeError('not today')\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    [found] = unknown_classes([("here", [UserRule("x", "permanent", errors=("broken_of_this_test.Gone",))])])

    assert "RuntimeError: not today" in found.why


# At the start of a worker.


@pytest.fixture
def starting_worker(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch, no_decorated: None
) -> Iterator[Callable[..., RuleSets]]:
    """Do what the main process of a worker does before its pool forks."""
    runtimes: list[Runtime] = []

    def prepare(settings: Settings) -> RuleSets:
        process.books.cache_clear()
        runtimes.append(Runtime(settings.model_copy(update={"database_url": database_url})))
        monkeypatch.setattr(process, "runtime", lambda: runtimes[-1])
        heartbeat._prepare()
        return process.books()

    yield prepare
    process.books.cache_clear()
    for runtime in runtimes:
        runtime.database.dispose()


def test_a_worker_refuses_to_start_with_every_conflict_and_every_failing_entry_point(
    starting_worker: Callable[..., RuleSets],
    installed: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tmp_path / "remand.toml"
    config.write_text(
        """
[[rules]]
name = "mine"
category = "permanent"
errors = "shop.Locked"
[[rules]]
name = "other"
category = "transient"
errors = "shop.Locked"
[[rules]]
name = "os.disk-full"
category = "transient"
errors = "shop.Full"
[[rules]]
name = "package"
category = "transient"
errors = "shop.Gone"
"""
    )
    good = "from remand.rules.user import UserRule\nRULE = UserRule('package', 'permanent', ('shop.Lost',))\n"
    installed(
        "oddities",
        {"absent": "oddities_absent:RULES", "broken": "oddities_broken", "empty": "oddities_empty",
         "good": "oddities_good:RULE", "strange": "oddities_good:RULE.name"},
        oddities_broken="raise RuntimeError('not today')\n", oddities_empty="", oddities_good=good,
    )  # fmt: skip

    with pytest.raises(SystemExit) as stopped:
        starting_worker(load_settings(config, {}))

    told = capsys.readouterr().err
    assert stopped.value.code == 3
    assert told.startswith("CONFIG_INVALID: ")
    for line in (
        "oddities 1.2: entry point absent: oddities_absent:RULES fails when it is loaded: ModuleNotFound",
        "oddities 1.2: entry point broken: oddities_broken fails when it is loaded: RuntimeError: not today",
        "oddities 1.2: entry point empty: oddities_empty fails when it is loaded: TypeError: it gives no",
        "entry point strange: oddities_good:RULE.name fails when it is loaded: TypeError: 'p' is no rule",
        "rules 'mine' and 'other' have the same conditions and say otherwise",
        "two rules are named 'package'",
        f"{config}:14",
    ):
        assert line in told


def test_the_problems_of_rules_have_stable_codes(installed: Callable[..., None], no_decorated: None) -> None:
    installed("oddities", {"absent": "oddities_absent"})
    twice = [rule("mine", "permanent"), rule("mine", "permanent", errors="shop.Gone")]

    with pytest.raises(ConfigInvalid) as caught:
        load_books(Settings.model_validate({"rules": twice}))

    assert [one.code for one in caught.value.problems] == ["RULE_ENTRY_POINT", "RULE_CONFLICT"]


def test_a_worker_warns_of_classes_that_are_unknown_here_in_settings_and_templates(
    starting_worker: Callable[..., RuleSets], tmp_path: Path
) -> None:
    template = tmp_path / "one.yaml"
    steps = {"a": {"rules": [rule("of-step", "permanent", errors="remand.errors.Nothing")]}}
    top = [rule("of-template", "permanent", errors="remand.errors.PermanentError")]
    template.write_text(shape("one", {"a": ()}, each=steps, rules=top))
    settings = Settings.model_validate(
        {"rules": [rule("of-settings", "permanent", errors="json.NoSuchError")], "templates": [str(template)]}
    )

    with structlog.testing.capture_logs() as lines:
        books = starting_worker(settings)

    warned = [one for one in lines if one["event"] == "rule.unknown_class"]
    assert [(one["rule"], one["error_class"], one["source"]) for one in warned] == [
        ("of-settings", "json.NoSuchError", "settings"),
        ("of-step", "remand.errors.Nothing", "step a of t/one:1"),
    ]
    assert books.base.users is not None


def test_a_book_is_made_once_and_shared_by_steps_without_rules() -> None:
    books = books_of_settings(Settings.model_validate({"rules": [rule("mine", "permanent")]}))
    own = {"a": {"rules": [rule("own", "network")]}}
    with_rules = load_text(shape("one", {"a": (), "b": ()}, each=own, rules=[rule("its", "resource")]))
    without = load_text(shape("two", {"a": ()}))

    assert books.of(without, "a") is books.base
    assert books.of(with_rules, "a") is books.of(with_rules, "a")
    assert books.of(with_rules, "a") is not books.of(with_rules, "b")
    assert books.of(with_rules, "b") is books.of(with_rules, "no longer there")


# What no rule knew.


def seen(harness: Harness) -> list[tuple[str, int]]:
    return [(one.error_class, one.count) for one in unclassified.list_unclassified(harness.database).items]


def test_unclassified_failures_are_counted_by_fingerprint_once_each(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}))
    harness.play(a=always(Odd("order 17 is odd")), b=always(ValueError("always the same")))
    first, last = harness.submit("t/two"), harness.submit("t/two")

    with structlog.testing.capture_logs() as lines:
        harness.run_to_end(first)
        harness.run_to_end(last)

    [found] = unclassified.list_unclassified(harness.database).items
    assert (found.error_class, found.count) == (ODD, 6)
    assert (found.step, found.attempt, found.handler) == ("a", 3, HANDLER)
    assert found.message == "order 17 is odd"
    assert found.first_at < found.last_at <= harness.clock.now
    told = [one for one in lines if one["event"] == "failure.unclassified"]
    assert {(one["fingerprint"], one["error"]) for one in told} == {(found.fingerprint, ODD)}
    assert sum(one["count"] for one in told) == 6


def test_failures_that_differ_in_values_alone_are_one_and_secrets_are_not_kept(harness: Harness) -> None:
    numbers = iter(range(100, 200))

    def part(ctx: Any) -> None:
        raise Odd(f"order {next(numbers)} refused, password=hunter2")

    harness.publish(shape("one", {"a": ()}))
    harness.play(a=part)
    harness.submit_many("t/one", range(5))
    harness.drain()

    [found] = unclassified.list_unclassified(harness.database).items
    assert found.count == 5
    assert "hunter2" not in found.message


def test_a_failure_that_did_not_count_is_not_listed_either(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))

    def outlive(ctx: Any) -> None:
        harness.clock.advance(86_400)
        harness.sweep_rescue()
        raise Odd("too late")

    harness.play(a=outlive)
    harness.submit("t/one")
    harness.drain()

    assert seen(harness) == []


def test_a_rule_written_from_what_was_seen_classifies_it(harness_with: HarnessWith) -> None:
    before = harness_with()
    verdict(before, Odd("the gate is shut"))
    [found] = unclassified.list_unclassified(before.database).items

    after = harness_with(rules=[rule("gate", "resource", errors=found.error_class, message="gate")])
    after.play(a=always(Odd("the gate is shut")))
    workflow_id = after.submit("t/one")
    after.drain()

    assert judged(after.database, workflow_id)["rule"] == "gate"
    assert seen(after) == [(ODD, 1)]


def test_what_is_dealt_with_can_be_forgotten_and_comes_back_if_it_happens_again(harness: Harness) -> None:
    verdict(harness, Odd("no"))
    [found] = unclassified.list_unclassified(harness.database).items

    assert unclassified.forget(harness.database, found.fingerprint)
    assert not unclassified.forget(harness.database, found.fingerprint)
    assert seen(harness) == []
    verdict(harness, Odd("no"))
    assert seen(harness) == [(ODD, 1)]


def test_the_list_is_as_long_as_was_asked_for_the_newest_first(harness: Harness) -> None:
    for kind in (Odd, Odder):
        verdict(harness, kind("no"))
        harness.advance(1)

    assert [one.error_class for one in unclassified.list_unclassified(harness.database, limit=1).items] == [
        f"{__name__}.Odder"
    ]
    assert len(unclassified.list_unclassified(harness.database).items) == 2


def test_failures_that_cannot_be_counted_fail_no_step(fresh_database: Database) -> None:
    harness = Harness(fresh_database)
    fresh_database.call("alter table remand.unclassified rename to gone")
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=fails(Odd("once")))

    with structlog.testing.capture_logs() as lines:
        workflow = harness.run_to_end(harness.submit("t/one"))

    assert workflow.state == "complete"
    [told] = [one for one in lines if one["event"] == "failure.uncounted"]
    assert told["count"] == 1
    assert "unclassified" in told["error"]
    fresh_database.call("alter table remand.gone rename to unclassified")


def test_a_drain_does_not_wait_for_who_holds_the_list(harness: Harness) -> None:
    verdict(harness, Odd("no"))
    held = "select 1 from remand.unclassified for update"

    with structlog.testing.capture_logs() as lines, harness.database.begin() as connection:
        connection.exec_driver_sql(held)
        verdict(harness, Odd("no"))

    assert "failure.uncounted" in [one["event"] for one in lines]
    assert seen(harness) == [(ODD, 1)]


def test_two_that_count_the_same_at_once_lose_nothing_and_wait_in_no_circle(
    harness: Harness, database_url: str
) -> None:
    verdict(harness, Odd("first"))
    [workflow_id] = {one.workflow_id for one in unclassified.list_unclassified(harness.database).items}
    kinds = [Unknown(f"{n:016x}", ODD, "no", workflow_id, "a", 1) for n in range(20)]

    def count(order: int) -> list[dict[str, int] | str]:
        own = Database(database_url)
        try:
            return [record(own, harness.clock, kinds[::order]) for _ in range(25)]
        finally:
            own.dispose()

    ends = values(together(*(lambda order=order: count(order) for order in (1, -1, 1, -1))))

    assert all(isinstance(one, dict) for end in ends for one in end)
    counts = {one.fingerprint: one.count for one in unclassified.list_unclassified(harness.database).items}
    assert {counts[kind.fingerprint] for kind in kinds} == {100}
