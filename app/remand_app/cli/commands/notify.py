"""`remand notify`: list, test, retry. Shows whether messages to people outside are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import After, By, Cli, Group, Limit, Reason
from remand_app.cli.render.output import age, now, short, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.domain.notifications import DeliveryState
from remand_app.domain.webhook_answers import Delivered
from remand_app.engine import notification_targets
from remand_app.resources.notifications import Notification, TargetStatus, find_ids, list_page

GROUP = Group("notify", "See whether notices reach their targets; try one, send again what was given up.")
_STYLE = {DeliveryState.PENDING: "yellow", DeliveryState.SENT: "green", DeliveryState.GIVEN_UP: "red"}
Target = Annotated[str, typer.Argument(metavar="TARGET", help="Its name in the settings.")]


@GROUP.verb(
    "list",
    examples=(
        "remand notify list",
        "remand notify list --state given_up --target pager",
        "remand notify list --json",
    ),
)
def list_(
    cli: Cli,
    state: Annotated[
        list[DeliveryState] | None, typer.Option("--state", help="Only these; may be given again.")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", help="Only of this target.")] = None,
    after: After = None,
    limit: Limit = 50,
) -> None:
    """List the targets, how each fares, and the notices: newest first, with why a try failed."""
    targets = notification_targets.standings(cli.engine)
    page = list_page(cli.database, states=state or (), target=target, after=after, limit=limit)
    steps = [command("remand notify retry", target.name) for target in targets if target.given_up]
    cli.out.answer_page(
        page,
        _targets(targets) if targets else Text("no target is set, and nobody is told anything"),
        Text(),
        _notices(page.items) if page.items else Text("no such notice is kept"),
        *([next_steps(*steps)] if steps else []),
        targets=targets,
    )


@GROUP.verb(
    "test",
    exits={1: "the target did not take it", 4: "nothing has that name"},
    examples=("remand notify test pager", "remand notify test pager --json"),
)
def test(cli: Cli, target: Target) -> None:
    """Send a target a message that says it is a test, now and once, with the settings of this shell."""
    outcome = notification_targets.try_target(cli.engine, target)
    delivered = isinstance(outcome, Delivered)
    said = outcome.answer if isinstance(outcome, Delivered) else outcome.why
    answer = Text(f"{target} took it: {said}" if delivered else f"{target} did not take it: {said}")
    answer.stylize("green" if delivered else "red")
    cli.out.answer({"target": target, "delivered": delivered, "answer": said}, answer)
    if not delivered:
        raise typer.Exit(1)


@GROUP.verb(
    "retry",
    exits=(4, 5),
    examples=(
        'remand notify retry pager --reason "its certificate was renewed"',
        "remand notify retry pager --notice 7be301",
    ),
)
def retry(
    cli: Cli,
    target: Target,
    notice: Annotated[
        list[str] | None,
        typer.Option("--notice", metavar="ID", help="Only the message with this notice; may be given again."),
    ] = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Have sent again what was given up, under the same ids; the sweep sends it."""
    only = find_ids(cli.database, notice or ())
    count = notification_targets.retry(cli.engine, target, cli.who(by, reason), only)
    answer = f"{counted(count, 'notice')} will be sent again" if count else "nothing was given up"
    cli.out.answer({"target": target, "count": count}, answer)


def _targets(statuses: Sequence[TargetStatus]) -> RenderableType:
    at = now()
    return table(
        "target", "last took one", "waiting", "given up", "failures in a row", "next not before",
        rows=[
            (
                status.name,
                "never" if status.sent_at is None else f"{age(status.sent_at, at)} ago",
                str(status.pending or "–"),
                Text(str(status.given_up), style="red") if status.given_up else "–",
                Text(str(status.failures), style="yellow") if status.failures else "–",
                f"{status.next_at:%H:%M:%S} UTC" if status.next_at and status.next_at > at else "now",
            )
            for status in statuses
        ],
    )  # fmt: skip


def _notices(notices: Sequence[Notification]) -> RenderableType:
    at = now()
    return table(
        "notice", "at", "target", "kind", "state", "tries", "about", "why not",
        rows=[
            (
                short(notice.id),
                f"{age(notice.created_at, at)} ago",
                notice.target,
                notice.kind.replace("_", " "),
                Text(str(notice.state).replace("_", " "), style=_STYLE[notice.state]),
                str(notice.attempts),
                str(notice.payload["title"]),
                notice.last_error or "",
            )
            for notice in notices
        ],
    )  # fmt: skip
