"""`remand user`: add, list, set-role, password, disable, enable, link. Who may sign in to the dashboard."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import By, Cli, Group, Reason
from remand_app.cli.dashboard_address import base_url, link_to
from remand_app.cli.decider import operator
from remand_app.cli.render.output import age, now, table
from remand_app.cli.render.wording import command, next_steps
from remand_app.domain.access import Role, User, account_name_like
from remand_app.domain.errors import AccessInvalid, NameTaken, UserNotFound
from remand_app.domain.page import Page
from remand_app.engine import access
from remand_app.resources import access as stored

GROUP = Group("user", "Let people sign in to the dashboard: who, and what they may do.")

UserName = Annotated[str, typer.Argument(metavar="NAME", help="Who; case does not count.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, do not ask.")
]
FromVariable = Annotated[
    str | None,
    typer.Option("--password-variable", metavar="VARIABLE", help="Take it from this environment variable."),
]


@GROUP.verb(
    "add",
    exits=(5,),
    examples=(
        "remand user add grace --role admin",
        "cat password | remand user add grace --role operator --password-stdin",
    ),
)
def add(
    cli: Cli,
    name: UserName,
    role: Annotated[Role, typer.Option("--role", help="What they may do.")] = Role.VIEWER,
    password_stdin: FromStdin = False,
    password_variable: FromVariable = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Where there is one of that name, leave it as it is: no error.")
    ] = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Let somebody sign in. Asks for the password, unless told where it is."""
    password = _password(password_stdin, password_variable)
    try:
        user = access.add_user(cli.engine, name, role, password, cli.who(by, reason))
    except NameTaken:
        if not keep:
            raise
        user = next(user for user in stored.list_users(cli.database) if user.name == name.strip().lower())
        cli.out.answer(user, f"user {user.name} was there, as {user.role}: left as it is")
        return
    cli.out.answer(
        user,
        f"user {user.name} may sign in, as {user.role}",
        next_steps(Text(f"{base_url(cli.given)}/login", style="bold cyan")),
    )


@GROUP.verb("list", examples=("remand user list", "remand user list --json"))
def list_(cli: Cli) -> None:
    """List who may sign in."""
    users = stored.list_users(cli.database)
    nobody = Text.assemble("nobody yet: ", command("remand user add NAME --role admin"))
    cli.out.answer_page(Page.whole(users), _listing(users) if users else nobody)


@GROUP.verb("set-role", exits=(4,), examples=("remand user set-role grace operator",))
def set_role(cli: Cli, name: UserName, role: Role, reason: Reason = None, by: By = None) -> None:
    """Give a user another role; it holds for open sessions, too."""
    user = access.set_role(cli.engine, name, role, cli.who(by, reason))
    cli.out.answer(user, f"user {user.name} is {user.role} now")


@GROUP.verb("password", exits=(4,), examples=("remand user password grace",))
def password(
    cli: Cli,
    name: UserName,
    password_stdin: FromStdin = False,
    password_variable: FromVariable = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Give a user another password, and sign them out everywhere."""
    secret = _password(password_stdin, password_variable)
    user = access.set_password(cli.engine, name, secret, cli.who(by, reason))
    cli.out.answer(user, f"user {user.name} has a new password and is signed out everywhere")


@GROUP.verb("disable", exits=(4,), examples=('remand user disable grace --reason "left the team"',))
def disable(cli: Cli, name: UserName, reason: Reason = None, by: By = None) -> None:
    """Sign a user out everywhere, and let them in no more. What they decided stays on record."""
    user = access.disable_user(cli.engine, name, cli.who(by, reason))
    cli.out.answer(user, f"user {user.name} is out and may not sign in")


@GROUP.verb("enable", exits=(4,), examples=("remand user enable grace",))
def enable(cli: Cli, name: UserName, reason: Reason = None, by: By = None) -> None:
    """Let a user in again, with the password they had."""
    user = access.enable_user(cli.engine, name, cli.who(by, reason))
    cli.out.answer(user, f"user {user.name} may sign in again")


@GROUP.verb("link", exits=(4,), examples=("remand user link", "remand user link grace"))
def link(
    cli: Cli,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which user; default: you, added as admin.")
    ] = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Print a link that signs in once, within ten minutes. Whoever opens it first is in."""
    who = cli.who(by, reason)
    if name is not None and stored.role_of(cli.database, name) is None:
        raise UserNotFound(f"no user {name!r} who may sign in", hint="see `remand user list`")
    wanted = account_name_like(operator()) if name is None else name
    code = access.create_login_code(cli.engine, wanted, Role.ADMIN, who)
    url, role = link_to(base_url(cli.given), code), stored.role_of(cli.database, wanted)
    cli.out.answer({"login_url": url, "role": role}, Text(url, style="bold cyan"))


def _password(from_stdin: bool, variable: str | None) -> str:
    if variable is not None:
        secret = os.environ.get(variable)
        if not secret:
            raise AccessInvalid(f"the environment variable {variable} holds no password")
        return secret
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise AccessInvalid(
            "there is nobody to ask for the password",
            hint="give it by --password-stdin or --password-variable",
        )
    asked: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return asked


def _listing(users: Sequence[User]) -> RenderableType:
    at = now()
    return table(
        "name", "role", "state", "added", "by", "password set",
        rows=[
            (
                user.name, str(user.role), "disabled" if user.disabled_at else "ok",
                f"{age(user.created_at, at)} ago", user.created_by, f"{age(user.password_at, at)} ago",
            )
            for user in users
        ],
    )  # fmt: skip
