"""`remand demo`: run the examples on this machine, watch them fail and recover, and investigate what cannot.

It exits with an error when anything it promises does not happen, so it is also a test.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from remand_app.cli.context import ROOT, START, USER_VARIABLE, Cli
from remand_app.cli.exits import INTERRUPTED
from remand_app.cli.invoke import run
from remand_app.cli.local_stack import LocalStack, Size
from remand_app.cli.render.output import facts, short, span
from remand_app.cli.render.wording import command, next_steps
from remand_app.cli.streams import print_json
from remand_app.config import load_settings
from remand_app.config.sources import CONFIG_VARIABLE
from remand_app.demo import checks, environment
from remand_app.demo.checks import DemoFailed, Evidence, Submission
from remand_app.demo.gateway import Gateway
from remand_app.demo.progress import watch
from remand_app.domain.states import WorkflowState
from remand_app.embedded.processes import ProcessExit
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.store.dead_letters import LetterRow

HANDLERS = ("remand_examples.payments.handlers", "remand_examples.data_import.handlers")
TEMPLATES = ("payments", "data_import")
RUN_SECONDS = 90.0
DECLINED = "tok_declined"


@ROOT.verb(
    "demo",
    panel=START,
    exits={1: "something that must happen did not; says what"},
    examples=("remand demo", "remand demo --json", "remand demo --keep"),
)
def demo(
    cli: Cli,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folder with logs and data.")] = False,
) -> None:
    """Run the examples: workflows that fail in real ways, retries by policy, an investigation, nothing lost.

    Everything runs embedded in a new temporary folder, or on the servers that the settings name, and ends
    with the demo. With --json, progress goes to standard error, and standard output is one object.
    """
    begun = time.monotonic()
    console = cli.out.errors if cli.out.as_json else cli.out.console
    with (
        environment.interruptible(),
        environment.folder("remand-demo-", keep=keep) as folder,
        environment.environment(_environment(cli, folder)),
        Gateway(folder) as gateway,
    ):
        summary = _perform(Show(console, folder), gateway)
    seconds = round(time.monotonic() - begun, 1)
    if cli.out.as_json:
        print_json({**summary, "seconds": seconds})
    else:
        console.print(Text(f"all of it in {seconds:g} s"))


class Show:
    """Where the demo tells its story."""

    def __init__(self, console: Console, folder: Path) -> None:
        self.console = console
        self.folder = folder

    def tell(self, text: str) -> None:
        """Say what comes next."""
        self.console.print(Text(f"\n{text}", style="bold"))

    def type(self, *words: str, expect: int = 0) -> None:
        """Print a command line, run it as if typed, and insist on its exit code.

        Raises:
            DemoFailed: it ended otherwise.
        """
        self.console.print(Text(f"\n$ remand {' '.join(_quoted(word) for word in words)}", style="bold cyan"))
        with contextlib.redirect_stdout(self.console.file):
            code = run(words)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code != expect:
            raise DemoFailed([f"`remand {' '.join(words)}` ended with exit code {code}, not {expect}"])


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def _perform(show: Show, gateway: Gateway) -> dict[str, Any]:
    with LocalStack(load_settings(), None, Size(1, 4), lambda gone: _tell_exit(show, gone)) as stack:
        show.tell("Starting Postgres, a broker, two workers, beat and a payment gateway …")
        stack.start_servers()
        _export(stack)
        stack.prepare()
        gateway.wait_ready()
        stack.start_workers()
        submissions = _submit(stack)
        ids = [submission.workflow_id for submission in submissions]
        show.tell(
            f"{len(ids)} workflows are submitted. Some meet a gateway or a file that fails, as real ones do:"
        )
        database = stack.runtime.database
        watch(database, submissions, show.console, meanwhile=stack.check, timeout_seconds=RUN_SECONDS)
        evidence = checks.collect(database, ids)
        _insist(checks.first_round(submissions, evidence))
        _investigate(show, gateway, _letter_of(submissions, evidence, DECLINED))
        _clear(show, [letter for letter in evidence.letters if letter.template.startswith("airports")])
        evidence = checks.collect(database, ids)
        ledger = gateway.ledger()
        _insist(checks.last_round(submissions, evidence, ledger))
        _conclude(show, submissions, evidence, ledger)
        return _summary(evidence)


def _submit(stack: LocalStack) -> list[Submission]:
    scenarios = importlib.import_module("remand_examples.scenarios").all_scenarios()
    submissions = []
    for scenario in scenarios:
        answer = submit(
            stack.runtime.engine, scenario.template, SubmitRequest(dict(scenario.input)), by="demo"
        )
        submissions.append(
            Submission(scenario.name, scenario.template, scenario.input, scenario.expect, answer.workflow_id)
        )
    return submissions


def _letter_of(submissions: Sequence[Submission], evidence: Evidence, card: str) -> LetterRow:
    declined = next(
        submission
        for submission in submissions
        if submission.is_order and submission.input["customer"]["card"] == card
    )
    return next(letter for letter in evidence.letters if letter.workflow_id == declined.workflow_id)


def _investigate(show: Show, gateway: Gateway, letter: LetterRow) -> None:
    end, workflow = short(letter.id), short(letter.workflow_id)
    show.tell(
        "Three workflows could not go on; each waits in the dead letter queue for somebody to find out why."
    )
    show.type("dlq", "groups")
    show.type("dlq", "list")
    show.tell("One is an order whose card was declined. What happened?")
    show.type("dlq", "show", end)
    show.tell("We take the investigation, call the bank, and write down what it said.")
    show.type("dlq", "claim", end)
    show.type("dlq", "note", end, "the bank says the card was never activated; it is now")
    gateway.fix_card(DECLINED)
    show.tell("The card works now. The failed step is sent back, and the same workflow completes.")
    show.type("dlq", "requeue", end, "--reason", "card was activated")
    show.type("workflow", "wait", workflow, "--timeout", "30")
    show.type("workflow", "show", workflow)


def _clear(show: Show, letters: Sequence[LetterRow]) -> None:
    show.tell("The other two are files: one never came, one was cut short. No retry helps; a person decides.")
    missing = next(letter for letter in letters if "FileNotFoundError" in letter.error_class)
    truncated = next(letter for letter in letters if letter is not missing)
    show.type("dlq", "cancel", short(missing.id), "--reason", "the file will not be delivered")
    show.type(
        "dlq",
        "resolve",
        short(truncated.id),
        "--whole-workflow",
        "--reason",
        "imported from the complete file",
    )
    show.type("dlq", "list")


def _conclude(
    show: Show, submissions: Sequence[Submission], evidence: Evidence, ledger: dict[str, Any]
) -> None:
    states = list(evidence.states.values())
    ended = {state: states.count(state) for state in dict.fromkeys(sorted(states))}
    orders = sum(submission.is_order for submission in submissions)
    replays = ledger["replays"]
    retried = " · ".join(f"{policy} {evidence.total[policy]}" for policy in _RETRIED)
    statuses = [letter.status for letter in evidence.letters]
    letters = " · ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses))
    show.tell("What happened")
    show.console.print(
        facts(
            [
                (
                    "workflows",
                    f"{len(states)}: " + ", ".join(f"{count} {state}" for state, count in ended.items()),
                ),
                ("attempts retried", retried),
                ("dead letters", f"{len(statuses)}: {letters}"),
                ("charged", f"{orders} orders, each exactly once; the gateway saw {replays} repeated calls"),
                ("lost", str(evidence.lost)),
            ]
        )
    )
    show.tell(
        "All of this in a browser, for good: workers, beat, API and a dashboard that you sign in to by link"
    )
    show.console.print(next_steps(command("remand up")))


_RETRIED = ("exponential", "linear", "immediate")


def _summary(evidence: Evidence) -> dict[str, Any]:
    states = list(evidence.states.values())
    return {
        "workflows": len(states),
        "complete": states.count(WorkflowState.COMPLETE),
        "retried": {policy: evidence.total[policy] for policy in _RETRIED},
        "dead_letters": len(evidence.letters),
        "requeued": sum(letter.status == "requeued" for letter in evidence.letters),
        "lost": evidence.lost,
    }


def _insist(reasons: Sequence[str]) -> None:
    if reasons:
        raise DemoFailed(reasons)


def _tell_exit(show: Show, gone: ProcessExit) -> None:
    show.console.print(
        Text(f"{gone.name} ended with {gone.returncode}; started again in {span(gone.restart_in_seconds)}")
    )


def _export(stack: LocalStack) -> None:
    """Let the verbs that are typed find the demo's servers."""
    os.environ["REMAND_DATABASE_URL"] = str(stack.settings.database_url)
    os.environ["REMAND_BROKER_URL"] = str(stack.settings.broker_url)


def _environment(cli: Cli, folder: Path) -> dict[str, str]:
    """Return settings of the demo's own, for it and its children; only the servers may be the user's."""
    examples = next(iter(importlib.import_module("remand_examples").__path__))
    (folder / "remand.toml").write_text("# the demo's own: yours is not read\n")
    servers = {"REMAND_DATABASE_URL": cli.given.database_url, "REMAND_BROKER_URL": cli.given.broker_url}
    return {
        **{name: value for name, value in servers.items() if value is not None},
        CONFIG_VARIABLE: str(folder / "remand.toml"),
        "REMAND_DATA_DIR": str(folder),
        "REMAND_HANDLERS": ",".join(HANDLERS),
        "REMAND_TEMPLATES": ",".join(str(Path(examples, name)) for name in TEMPLATES),
        USER_VARIABLE: os.environ.get(USER_VARIABLE) or "ada",
    }
