"""docker-compose.yml and Dockerfile keep what docs/operations/compose.md promises; no Docker needed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from remand_app.config import Settings
from remand_app.domain.queues import BUILT_IN

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(r"\$\{(\w+)(?:(:[-?])((?:[^{}]|\$\{[^{}]*\})*))?\}")
TEXT = (ROOT / "docker-compose.yml").read_text()
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
EXAMPLE = (ROOT / ".env.example").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()

ONE_SHOT = {"migrate", "first-admin", "metrics-token"}
LONG_RUNNING = sorted(SERVICES.keys() - ONE_SHOT)
OURS = sorted(name for name, service in SERVICES.items() if "REMAND_IMAGE" in service["image"])
WORKERS = sorted(name for name in SERVICES if name.endswith("-worker"))


def filled(text: object, values: Mapping[str, str] | None = None) -> str:
    """Fill in variables as Compose does; a required one that is not in `values` becomes its own name."""

    def value(found: re.Match[str]) -> str:
        name, how, rest = found.groups()
        if values and name in values:
            return values[name]
        return filled(rest, values) if how == ":-" else name

    return VARIABLE.sub(value, str(text)).replace("$$", "$")


def seconds(text: object) -> float:
    matched = re.fullmatch(r"(\d+)s", filled(text))
    assert matched, f"write durations in seconds: {text}"
    return float(matched[1])


def command(name: str) -> list[str]:
    return [filled(word) for word in SERVICES[name]["command"]]


def test_what_the_issue_asks_for_is_there() -> None:
    assert SERVICES.keys() >= {
        "postgres", "redis", "migrate", "step-worker", "retry-worker", "maintenance-worker", "beat", "flower",
        "api",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_ports_are_published_on_loopback_alone(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert filled(port).startswith("127.0.0.1:"), port
    assert "network_mode" not in SERVICES[name]


def test_only_what_has_a_login_is_published() -> None:
    published = {name for name, service in SERVICES.items() if "ports" in service}
    assert published == {"flower", "api", "grafana"}
    login = SERVICES["flower"]["environment"]["FLOWER_BASIC_AUTH"]
    assert "${REMAND_FLOWER_PASSWORD:?" in login
    assert SERVICES["flower"]["environment"]["FLOWER_READ_ONLY"] == "true"
    assert "FLOWER_UNAUTHENTICATED_API" not in TEXT
    grafana = SERVICES["grafana"]["environment"]
    assert grafana["GF_SECURITY_ADMIN_PASSWORD"] == "${REMAND_GRAFANA_PASSWORD:?set it in .env}"
    assert "GF_AUTH" not in TEXT, "a login is what it asks for by itself"


def test_the_server_listens_only_once_there_is_an_admin_whose_password_is_a_secret() -> None:
    words = command("first-admin")
    assert words[:3] == ["remand", "user", "add"]
    assert {"--keep", "admin"} <= set(words)
    variable = words[words.index("--password-variable") + 1]
    assert SERVICES["first-admin"]["environment"][variable] == "${REMAND_ADMIN_PASSWORD:?set it in .env}"
    assert not variable.startswith("REMAND_"), "it would be taken for a setting"
    assert "REMAND_ADMIN_PASSWORD" not in str(
        [one for name, one in SERVICES.items() if name != "first-admin"]
    )
    assert SERVICES["api"]["depends_on"]["first-admin"] == {"condition": "service_completed_successfully"}
    assert "/api/v1/health/live" in str(SERVICES["api"]["healthcheck"])


def test_dashboard_and_flower_lead_to_each_other() -> None:
    for service, variable, other in (("api", "FLOWER_URL", "flower"), ("flower", "DASHBOARD_URL", "api")):
        url = filled(SERVICES[service]["environment"][f"REMAND_WEB__{variable}"])
        _, _, port = filled(SERVICES[other]["ports"][0]).rpartition(":")
        assert url == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("name", ["postgres", "redis"])
def test_stores_are_on_the_inner_network_with_a_password(name: str) -> None:
    assert SERVICES[name]["networks"] == ["data"]
    assert FILE["networks"]["data"] == {"internal": True}
    assert any("PASSWORD:?" in str(value) for value in SERVICES[name]["environment"].values())


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_long_running_services_are_watched_and_come_back(name: str) -> None:
    service = SERVICES[name]
    check = service["healthcheck"]
    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    assert seconds(check["interval"]) >= seconds(check["timeout"]) or check["retries"] > 1
    assert service["restart"] == "unless-stopped"
    assert "stop_grace_period" in service


def test_one_shots_run_once_and_are_waited_for() -> None:
    assert all(SERVICES[name]["restart"] == "no" for name in ONE_SHOT)
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in [*WORKERS, "beat", "first-admin", "metrics-token"]:
        assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_containers_may_do_little_and_use_little(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["init"] is True
    assert service["mem_limit"]
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert not service.keys() & {"privileged", "cap_add", "pid", "ipc", "devices"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_images_have_a_tag_that_means_something(name: str) -> None:
    image = filled(SERVICES[name]["image"])
    assert re.fullmatch(r"[\w./-]+:[\w.-]+", image)
    assert not image.endswith(":latest")


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_nobody_is_root(name: str) -> None:
    if name in OURS:
        assert "user" not in SERVICES[name]
    else:
        assert SERVICES[name]["user"] in {"postgres", "redis", "nobody", "grafana"}


def test_the_image_runs_as_a_numbered_user_that_is_not_root() -> None:
    final = DOCKERFILE.split("FROM ")[-1]
    users = re.findall(r"^USER (.*)$", final, re.MULTILINE)
    assert users
    assert all(re.fullmatch(r"[1-9]\d*:[1-9]\d*", user) for user in users)


def test_the_image_is_installed_from_the_lock_on_a_base_of_choice() -> None:
    assert DOCKERFILE.count("FROM ${BASE}") == len(re.findall(r"^FROM ", DOCKERFILE, re.MULTILINE)) == 2
    installs = re.findall(r"pip install [^&\n]*", DOCKERFILE)
    assert installs
    assert all("--require-hashes" in one or "--no-deps --no-index" in one for one in installs)
    assert not re.search(r"cert|proxy|index-url|trusted-host", DOCKERFILE, re.IGNORECASE)


@pytest.mark.parametrize("name", WORKERS)
def test_workers_get_longer_to_stop_than_they_take(name: str) -> None:
    service = SERVICES[name]
    grace = float(filled(service["environment"]["REMAND_SHUTDOWN_GRACE_SECONDS"]))
    assert grace == Settings.model_fields["shutdown_grace_seconds"].default
    # Time to interrupt what still runs, to give it back and to say goodbye.
    assert seconds(service["stop_grace_period"]) >= grace + 15


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_shell_stands_between_init_and_process(name: str) -> None:
    words = SERVICES[name].get("command")
    if words is None:
        return
    assert isinstance(words, list), "a string would be run by a shell, which keeps signals to itself"
    assert words[0] != "sh" or "exec " in words[-1].splitlines()[0]


def test_every_built_in_queue_has_a_worker() -> None:
    consumed = [
        queue for name in WORKERS for queue in command(name)[command(name).index("--queues") + 1].split(",")
    ]
    assert sorted(consumed) == sorted(BUILT_IN)


def test_step_workers_can_be_scaled() -> None:
    assert not SERVICES["step-worker"].keys() & {"container_name", "ports", "hostname"}
    assert filled(SERVICES["step-worker"]["deploy"]["replicas"]) == "1"


@pytest.mark.parametrize("name", OURS)
def test_containers_get_only_settings_that_exist(name: str) -> None:
    # An unknown one would stop the process at its start.
    for variable in SERVICES[name].get("environment", {}):
        if variable.startswith("REMAND_"):
            table, _, key = variable.removeprefix("REMAND_").lower().partition("__")
            assert table in Settings.model_fields
            assert not key or key in type(getattr(Settings(), table)).model_fields


@pytest.mark.parametrize("name", ["beat", "gateway", "redis", "prometheus", "grafana"])
def test_who_does_not_need_the_database_does_not_know_its_password(name: str) -> None:
    assert "DATABASE_PASSWORD" not in str(SERVICES[name])
    assert "POSTGRES_PASSWORD" not in str(SERVICES[name])
    assert "READER_PASSWORD" not in str(SERVICES[name])


def test_flower_may_only_read_the_database_and_starts_without_it() -> None:
    environment = SERVICES["flower"]["environment"]
    assert environment["REMAND_DATABASE_URL"].startswith(
        "postgresql://remand_reader:${REMAND_READER_PASSWORD:?"
    )
    assert "REMAND_DATABASE_PASSWORD" not in str(SERVICES["flower"])
    assert "postgres" not in SERVICES["flower"]["depends_on"]
    script = (ROOT / "ops/postgres/init/10-remand.sh").read_text()
    assert "alter role remand_reader set default_transaction_read_only = on" in script
    assert set(re.findall(r"grant (\w+) [\w ]+ to remand_reader", script)) == {"usage"}


def test_flower_is_shown_queues_and_never_what_is_in_the_work() -> None:
    migration = (
        ROOT / "migrations/remand_migrations/versions/0001_workflows_and_dead_letters.py"
    ).read_text()
    [shown] = re.findall(r"_SHOWN_TO_READERS = \(([^)]*)\)", migration)

    assert "run_queue" in shown
    for holds_data in ("workflows", "steps", "attempts", "dead_letters", "templates", "unclassified"):
        assert f'"{holds_data}"' not in shown


def test_remand_is_not_given_the_superuser() -> None:
    assert all("POSTGRES_PASSWORD" not in str(SERVICES[name]) for name in OURS)
    script = ROOT / "ops/postgres/init/10-remand.sh"
    assert os.access(script, os.X_OK)
    assert "nosuperuser" in script.read_text()


MONITORING = {"metrics-token", "prometheus", "grafana"}


def mounted(name: str, at: str) -> Path:
    """Return the file of the repository that a service sees at a path."""
    for volume in SERVICES[name]["volumes"]:
        source, target, *_ = volume.split(":")
        if source.startswith("./") and (at == target or at.startswith(f"{target}/")):
            return ROOT / source / at.removeprefix(target).lstrip("/")
    raise AssertionError(f"{name} sees no {at}")


def scraped() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return what Prometheus is configured by: all of it, the job of the server, that of the workers."""
    [flag] = [one for one in command("prometheus") if one.startswith("--config.file=")]
    config = yaml.safe_load(mounted("prometheus", flag.partition("=")[2]).read_text())
    server, workers = config["scrape_configs"]
    return config, server, workers


def test_monitoring_starts_when_asked_for_and_nothing_waits_for_it() -> None:
    assert {name for name, one in SERVICES.items() if one.get("profiles") == ["monitoring"]} == MONITORING
    for name in SERVICES.keys() - MONITORING:
        assert not MONITORING & set(SERVICES[name].get("depends_on", {})), name


def test_prometheus_goes_by_the_names_and_rules_of_the_repository() -> None:
    config, *jobs = scraped()
    example = yaml.safe_load((ROOT / "ops/prometheus/prometheus.yml").read_text())

    assert [job["job_name"] for job in jobs] == [job["job_name"] for job in example["scrape_configs"]]
    [rules] = config["rule_files"]
    assert mounted("prometheus", f"/etc/prometheus/{rules}").samefile(ROOT / "ops/prometheus/alerts.yml")


def test_prometheus_reaches_the_server_with_the_token_that_is_made_for_it() -> None:
    _, server, _ = scraped()
    words = command("metrics-token")
    file = words[words.index("--file") + 1]

    assert server["static_configs"] == [{"targets": ["api:8484"]}]
    assert "api" in SERVICES["api"]["environment"]["REMAND_WEB__ALLOWED_HOSTS"].split(",")
    assert server["authorization"]["credentials_file"] == file
    assert words[words.index("--scope") + 1] == "metrics:read"
    folder = str(Path(file).parent)
    assert f"metrics-token:{folder}" in SERVICES["metrics-token"]["volumes"]
    assert f"metrics-token:{folder}:ro" in SERVICES["prometheus"]["volumes"]
    assert f"install -d -o 10001 -g 10001 -m 0750 {folder}" in DOCKERFILE
    assert SERVICES["prometheus"]["group_add"] == ["10001"]
    assert SERVICES["prometheus"]["depends_on"]["metrics-token"] == {
        "condition": "service_completed_successfully"
    }
    for name in SERVICES.keys() - {"metrics-token", "prometheus"}:
        assert "metrics-token" not in str(SERVICES[name].get("volumes")), name


def test_prometheus_looks_for_every_worker_where_it_tells_its_numbers() -> None:
    _, _, workers = scraped()
    [found] = workers["dns_sd_configs"]

    assert sorted(found["names"]) == WORKERS
    for name in WORKERS:
        environment = SERVICES[name]["environment"]
        assert environment["REMAND_METRICS_PORT"] == str(found["port"])
        assert environment["REMAND_METRICS_HOST"] == "0.0.0.0"
        assert "ports" not in SERVICES[name]
        assert set(SERVICES["prometheus"]["networks"]) & set(SERVICES[name]["networks"])


def test_grafana_finds_the_board_and_whom_it_asks() -> None:
    folder = mounted("grafana", "/etc/grafana/provisioning")
    [source] = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())["datasources"]
    [provider] = yaml.safe_load((folder / "dashboards/remand.yml").read_text())["providers"]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]

    assert (source["type"], source["url"], source["isDefault"]) == (
        "prometheus",
        "http://prometheus:9090",
        True,
    )
    assert str(Path(home).parent) == provider["options"]["path"]
    assert mounted("grafana", home).samefile(ROOT / "ops/grafana/remand.json")


def test_every_variable_is_in_the_example_with_its_default() -> None:
    used: dict[str, str | None] = {}
    for name, how, rest in VARIABLE.findall(TEXT):
        used.setdefault(name, None)
        if how == ":-":
            used[name] = rest
        if inner := VARIABLE.search(rest):
            used.setdefault(inner[1], None)
    shown = dict(re.findall(r"^#?(\w+)=(.*)$", EXAMPLE, re.MULTILINE))
    assert used.keys() == shown.keys()
    for name, default in used.items():
        if default is None:
            assert shown[name] == "", "a password has no default"
            assert name.endswith("_PASSWORD")
        elif name != "REMAND_BROKER_URL":
            assert shown[name] == default


def test_passwords_are_required_not_defaulted() -> None:
    assert not re.search(r"PASSWORD(:?-|\})", TEXT)
    assert len(re.findall(r"PASSWORD:\?set it in \.env", TEXT)) >= 4


def test_secrets_reach_neither_git_nor_the_image() -> None:
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[1] == "*"
    assert "**/.*" in ignored
