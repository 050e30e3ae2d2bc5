from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from remand_app.config import (
    Settings,
    load_settings,
    load_settings_with_origins,
    masked,
    rules_reference,
    settings_reference,
)
from remand_app.config.web import WebSettings
from remand_app.domain.errors import ConfigInvalid, Problem
from remand_app.domain.retry import RetryOverrides
from remand_app.domain.user_rules import RuleSpec


@pytest.fixture
def toml(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "remand.toml"
        path.write_text(text)
        return path

    return write


def problems_of(path: Path | None = None, **environ: str) -> list[Problem]:
    with pytest.raises(ConfigInvalid) as caught:
        load_settings(path, environ)
    return list(caught.value.problems)


def test_without_sources_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert load_settings(environ={}) == Settings()


def test_environment_goes_over_file_and_file_over_defaults(toml: Any) -> None:
    path = toml("batch_size = 7\npartitions_ahead = 3\n[retry]\nmax_attempts = 4\njitter = 0.5\n")

    settings = load_settings(path, {"REMAND_BATCH_SIZE": "9", "REMAND_RETRY__JITTER": "0.25"})

    assert (settings.batch_size, settings.partitions_ahead) == (9, 3)
    assert settings.retry == RetryOverrides(max_attempts=4, jitter=0.25)
    assert settings.drain_slice_seconds == Settings().drain_slice_seconds


def test_tables_nest_in_both_sources(toml: Any) -> None:
    path = toml('[retry.exponential]\nfactor = 3\n[retry.policies]\nnetwork = "linear"\n')

    retry = load_settings(path, {"REMAND_RETRY__EXPONENTIAL__BASE_SECONDS": "5"}).retry

    assert retry.exponential is not None
    assert (retry.exponential.base_seconds, retry.exponential.factor) == (5, 3)
    assert retry.policies == {"network": "linear"}


def test_every_given_value_knows_where_it_came_from(toml: Any) -> None:
    path = toml("# a comment\n\nbatch_size = 7\n[retry]\njitter = 0.5\n")

    _, origins = load_settings_with_origins(path, {"REMAND_BATCH_SIZE": "9"})

    assert origins["batch_size"] == "REMAND_BATCH_SIZE"
    assert origins["retry.jitter"] == f"{path}:5"
    assert "partitions_ahead" not in origins


def test_the_file_is_found_by_name_then_by_variable_then_in_place(
    toml: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml("batch_size = 1\n")
    named, by_variable = tmp_path / "named.toml", tmp_path / "variable.toml"
    named.write_text("batch_size = 3\n")
    by_variable.write_text("batch_size = 2\n")
    monkeypatch.chdir(tmp_path)

    assert load_settings(environ={}).batch_size == 1
    assert load_settings(environ={"REMAND_CONFIG": str(by_variable)}).batch_size == 2
    assert load_settings(named, {"REMAND_CONFIG": str(by_variable)}).batch_size == 3


def test_variables_of_the_test_suite_are_no_settings(toml: Any) -> None:
    assert load_settings(toml(""), {"REMAND_TEST_DATABASE_URL": "postgresql://x/y"}) == Settings()


@pytest.mark.parametrize("name", ["REMAND_USER", "REMAND_EMBEDDED_PG_BIN", "REMAND_EMBEDDED_REDIS_BIN"])
def test_variables_of_command_line_and_embedded_servers_are_no_settings(toml: Any, name: str) -> None:
    assert load_settings(toml(""), {name: "x"}) == Settings()


def test_an_empty_variable_counts_as_unset(toml: Any) -> None:
    assert load_settings(toml("batch_size = 7\n"), {"REMAND_BATCH_SIZE": ""}).batch_size == 7


@pytest.mark.parametrize("text", ["shop.orders, shop.mail", '["shop.orders", "shop.mail"]'])
def test_lists_in_the_environment_are_json_or_comma_separated(toml: Any, text: str) -> None:
    settings = load_settings(toml(""), {"REMAND_HANDLERS": text})

    assert settings.handlers == ("shop.orders", "shop.mail")


def test_all_problems_of_both_sources_come_at_once(toml: Any) -> None:
    path = toml("batch_size = 5000\nbatch_sizes = 4\n[retry]\nmax_attempt = 4\n")

    found = problems_of(path, REMAND_LOG_LEVEL="loud", REMAND_BROKER_URI="redis://x")

    assert {(problem.file, problem.line, problem.path, problem.code) for problem in found} == {
        (str(path), 1, "batch_size", "SETTING_INVALID"),
        (str(path), 2, "batch_sizes", "SETTING_UNKNOWN"),
        (str(path), 4, "retry.max_attempt", "SETTING_UNKNOWN"),
        ("REMAND_LOG_LEVEL", None, "log_level", "SETTING_INVALID"),
        ("REMAND_BROKER_URI", None, "broker_uri", "SETTING_UNKNOWN"),
    }


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("batch_size", "0", "greater than or equal to 1"),
        ("batch_size", "1001", "less than or equal to 1000"),
        ("batch_size", "2.5", "integer"),
        ("hard_timeout_grace_seconds", "-1", "greater than or equal to 0"),
        ("ring_interval_seconds", "nan", "finite"),
        ("worker_gone_after_seconds", "2", "more than twice heartbeat_interval_seconds (1)"),
        ("heartbeat_interval_seconds", "1.5", "more than twice heartbeat_interval_seconds (1.5)"),
        ("worker_silent_after_seconds", "2.5", "at least worker_gone_after_seconds (3)"),
        ("drain_slice_seconds", "0.01", "at least batch_budget_seconds (0.05)"),
        ("log_format", "xml", "'console' or 'json'"),
        ("handlers", '["a"', "JSON list"),
        ("database_url", "mysql://h/d", "postgresql:// or postgresql+psycopg2://, not mysql://"),
        ("database_url", "sqlite:///d", "not sqlite://"),
        ("database_url", "localhost", "should be a URL"),
        ("database_url", "postgresql://h:port/d", "is not a URL"),
        ("broker_url", "sqs://", "not sqs://: bells are tested on Redis and RabbitMQ"),
        ("retry__jitter", "2", "a number from 0 to 1, or one of none, full, equal"),
    ],
)
def test_a_wrong_value_is_told_what_is_right(toml: Any, key: str, value: str, says: str) -> None:
    [problem] = problems_of(toml(""), **{f"REMAND_{key.upper()}": value})

    assert says in problem.message


@pytest.mark.parametrize("url", ["redis://h:6379/0", "rediss://h", "amqp://guest:guest@h//", "amqps://h/v"])
def test_the_brokers_of_the_product_are_accepted(toml: Any, url: str) -> None:
    assert load_settings(toml(""), {"REMAND_BROKER_URL": url}).broker_url == url


@pytest.mark.parametrize(
    "url", ["postgresql://u:p@h:5432/d", "postgresql+psycopg2://h/d", "postgresql:///d?host=/s"]
)
def test_postgres_urls_are_accepted(toml: Any, url: str) -> None:
    assert load_settings(toml(""), {"REMAND_DATABASE_URL": url}).database_url == url


def test_true_is_no_number(toml: Any) -> None:
    [problem] = problems_of(toml("batch_size = true\n"))

    assert "not true or false" in problem.message


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("REMAND_BATCHSIZE", "REMAND_BATCH_SIZE"),
        ("REMAND_RETRY__EXPONENTIAL__BASE", "REMAND_RETRY__EXPONENTIAL__BASE_SECONDS"),
        ("REMAND_RETRI__JITTER", "REMAND_RETRY"),
    ],
)
def test_an_unknown_variable_is_told_which_was_meant(toml: Any, variable: str, meant: str) -> None:
    [problem] = problems_of(toml(""), **{variable: "1"})

    assert (problem.file, problem.message) == (variable, f"is not a setting; did you mean {meant}?")


def test_an_unknown_key_of_a_file_is_told_the_key_and_far_ones_get_the_list(toml: Any) -> None:
    close, far = problems_of(toml("log_levl = 'INFO'\nzzz = 1\n"))

    assert close.message == "is not a setting; did you mean log_level?"
    assert "docs/reference/settings.md" in far.message


@pytest.mark.parametrize(
    ("content", "line", "says"), [(b"batch_size = 1\n= 2\n", 2, "is not TOML"), (b"\xff", None, "not UTF-8")]
)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, content: bytes, line: int | None, says: str
) -> None:
    path = tmp_path / "remand.toml"
    path.write_bytes(content)

    [problem] = problems_of(path)

    assert (problem.file, problem.line, problem.code) == (str(path), line, "SETTINGS_FILE_INVALID")
    assert says in problem.message


def test_a_file_that_was_named_must_exist_and_other_problems_are_still_told(tmp_path: Path) -> None:
    missing, wrong = problems_of(None, REMAND_CONFIG=str(tmp_path / "no.toml"), REMAND_BATCH_SIZE="0")

    assert missing.code == "SETTINGS_FILE_UNREADABLE"
    assert wrong.path == "batch_size"


def test_no_password_is_shown_anywhere(toml: Any) -> None:
    url = "postgresql://remand:hunter2@db/remand"
    settings = Settings(database_url=url)

    assert settings.database_url == url
    assert "hunter2" not in repr(settings) + str(settings) + str(masked(settings))
    with pytest.raises(ConfigInvalid) as caught:
        load_settings(toml(""), {"REMAND_DATABASE_URL": "mysql://remand:hunter2@db:x/remand"})
    assert "hunter2" not in str(caught.value) + str(caught.value.to_dict())


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().batch_size = 3  # type: ignore[misc]


def test_the_reference_names_every_key_with_a_meaning() -> None:
    rows = {line.split("|")[1].strip(" `"): line for line in settings_reference().splitlines()[2:]}

    tables = {
        "retry", "retry_budget", "breaker", "dlq", "web", "commands", "notify", "archive", "retention",
        "staleness",
    }  # fmt: skip
    assert set(Settings.model_fields) - tables <= set(rows)
    assert {f"retry.{name}" for name in RetryOverrides.model_fields} <= {
        ".".join(key.split(".")[:2]) for key in rows
    }
    assert all(len(row.split("|")[5].split()) > 2 for row in rows.values())
    assert rows["batch_size"].startswith("| `batch_size` | `REMAND_BATCH_SIZE` | `50` | ≥ 1, ≤ 1000 |")
    assert "| `60` | ≥ 0, ≤ 31622400 |" in rows["retry.exponential.base_seconds"]


def test_every_duration_and_size_tells_its_unit() -> None:
    for name, field in Settings.model_fields.items():
        text = field.description or ""
        if name.endswith("_seconds"):
            assert "seconds" in text.lower(), name
        if name.endswith("_bytes"):
            assert "bytes" in text, name


RULES = """
batch_size = 7

[[rules]]
name = "gateway-full"
category = "resource"
statuses = 503
retry_after = 30

[[rules]]
name = "moved"
category = "permanent"
errors = ["shop.errors.Moved"]
"""


def test_rules_are_tables_that_know_their_line(toml: Any) -> None:
    path = toml(RULES)

    settings, origins = load_settings_with_origins(path, {})

    first, second = (rule.to_rule() for rule in settings.rules)
    assert (first.name, first.category, first.statuses, first.retry_after) == (
        "gateway-full", "resource", (503,), 30,
    )  # fmt: skip
    assert (second.errors, second.policy) == (("shop.errors.Moved",), "")
    assert [first.source, second.source] == [f"{path}:4", f"{path}:10"]
    assert origins["rules.1.errors"] == f"{path}:13"


def test_rules_of_the_environment_are_json_and_take_the_place_of_the_file_s(toml: Any) -> None:
    given = '[{"name": "quota", "category": "resource", "codes": "quota_exceeded"}]'

    settings, origins = load_settings_with_origins(toml(RULES), {"REMAND_RULES": given})

    [rule] = (one.to_rule() for one in settings.rules)
    assert (rule.name, rule.codes, rule.source) == ("quota", ("quota_exceeded",), "REMAND_RULES")
    assert [key for key in origins if key.startswith("rules")] == ["rules"]


def test_every_problem_of_every_rule_comes_at_once_with_line_number_and_name(toml: Any) -> None:
    path = toml(
        RULES
        + """
[[rules]]
name = "mad"
category = "resources"
statuse = 503
message = "("
[[rules]]
name = "all"
category = "network"
[[rules]]
name = "odd"
category = "network"
errors = ["a b"]
statuses = 299
codes = 1205
retry_after = true
policy = "sometimes"
"""
    )

    found = problems_of(path)

    assert {(problem.line, problem.path) for problem in found} == {
        (17, "rules[2] (mad).category"),
        (18, "rules[2] (mad).statuse"),
        (19, "rules[2] (mad).message"),
        (20, "rules[3] (all)"),
        (26, "rules[4] (odd).errors"),
        (27, "rules[4] (odd).statuses"),
        (28, "rules[4] (odd).codes[0]"),
        (29, "rules[4] (odd).retry_after"),
        (30, "rules[4] (odd).policy"),
    }
    told = {problem.path.partition(").")[2]: problem.message for problem in found}
    assert "did you mean statuses?" in told["statuse"]
    assert "is not a regular expression" in told["message"]
    assert "give errors, statuses, codes or message" in told[""]
    assert "400 to 599" in told["statuses"]


@pytest.mark.parametrize("given", ["a, b", '{"name": "x"}', "[1]"])
def test_rules_of_the_environment_that_are_no_list_of_rules_are_refused(toml: Any, given: str) -> None:
    [problem] = problems_of(toml(""), REMAND_RULES=given)

    assert (problem.file, problem.code) == ("REMAND_RULES", "SETTING_INVALID")


def test_shown_settings_hold_what_a_rule_says_and_no_more(toml: Any) -> None:
    assert masked(load_settings(toml(RULES), {}))["rules"] == [
        {"name": "gateway-full", "category": "resource", "statuses": [503], "retry_after": 30.0},
        {"name": "moved", "category": "permanent", "errors": ["shop.errors.Moved"]},
    ]


def test_the_reference_names_every_key_of_a_rule_with_a_meaning() -> None:
    for name, field in RuleSpec.model_fields.items():
        assert field.description
        assert f"| `{name}` |" in rules_reference()


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://remand.example.org", ""),
        ("https://remand.example.org/", ""),
        ("https://tools.example.org/remand/", "/remand"),
        ("https://tools.example.org:8443/ops/remand-2", "/ops/remand-2"),
    ],
)
def test_the_dashboard_may_stand_beneath_a_path(url: str, path: str) -> None:
    assert WebSettings(dashboard_url=url).path == path


@pytest.mark.parametrize(
    "path", ["/api", "/dlq/remand", "/login", "/a b", "/a%2Fb", "/../x", "/a/./b", "//a", '/"', "/é"]
)
def test_a_path_that_could_not_be_told_from_ours_is_refused(path: str) -> None:
    with pytest.raises(ValidationError, match="path should"):
        WebSettings(dashboard_url=f"https://tools.example.org{path}")
