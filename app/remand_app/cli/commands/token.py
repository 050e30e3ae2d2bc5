"""`remand token`: create, list, revoke. Programs use tokens to sign in to the API."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.arguments import read_seconds
from remand_app.cli.context import By, Cli, Group, Reason
from remand_app.cli.render.output import age, ahead, facts, now, table
from remand_app.domain.access import Permission, Role, Token
from remand_app.domain.errors import InputInvalid
from remand_app.domain.page import Page
from remand_app.engine import access
from remand_app.resources import access as stored
from remand_app.resources.values import fields_of

GROUP = Group("token", "Let programs use the API: what they may do, until when.")


@GROUP.verb(
    "create",
    exits=(5,),
    examples=(
        "remand token create ci --role operator --expires-in 90d",
        "remand token create prometheus --scope metrics:read",
        "remand token create prometheus --scope metrics:read --file remand-token",
    ),
)
def create(
    cli: Cli,
    name: Annotated[str, typer.Argument(help="Decisions made with it are recorded as token:NAME.")],
    role: Annotated[Role, typer.Option("--role", help="What it may do.")] = Role.VIEWER,
    scope: Annotated[
        list[Permission] | None,
        typer.Option("--scope", help="Only this of what the role may do; may be given often."),
    ] = None,
    expires_in: Annotated[
        str | None, typer.Option("--expires-in", metavar="DURATION", help="90d, 12h; default: never.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            help="Keep it there, unshown; one that is there and good stays, else it takes its place.",
        ),
    ] = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Make a token and show it, once: only its digest is stored."""
    seconds = None if expires_in is None else timedelta(seconds=read_seconds(expires_in))
    who = cli.who(by, reason)
    if file is not None:
        _keep(
            cli,
            file,
            name,
            lambda held: access.keep_token(
                cli.engine, name, role, who, held, scopes=scope, expires_in=seconds
            ),
        )
        return
    token, secret = access.create_token(cli.engine, name, role, who, scopes=scope, expires_in=seconds)
    _show(cli, token, secret)


def _keep(cli: Cli, file: Path, name: str, keep: Callable[[str | None], str | None]) -> None:
    """Have a good token in the file; `keep`: takes what it holds, returns a new one unless that is good."""
    new = keep(_read(file))
    if new is not None:
        _write(file, new)
    state = f"{file} holds a new token" if new is not None else f"the token in {file} is good: left as it is"
    cli.out.answer({"name": name, "file": str(file), "is_new": new is not None}, state)


def _show(cli: Cli, token: Token, secret: str) -> None:
    cli.out.answer(
        {**fields_of(token), "token": secret},
        facts(
            [("token", Text(secret, style="bold")), ("name", token.name), ("may", _may(token)),
             ("ends", _ends(token))]
        ),
        Text("\nIt is shown this once. Programs send it as: Authorization: Bearer rmd_…", style="dim"),
    )  # fmt: skip


@GROUP.verb("list", examples=("remand token list", "remand token list --all --json"))
def list_(cli: Cli, all: Annotated[bool, typer.Option("--all", help="Revoked ones, too.")] = False) -> None:
    """List the tokens: what each may do, until when, and when it was last used."""
    tokens = stored.list_tokens(cli.database, revoked=all)
    nothing = Text("no token; see remand token create")
    cli.out.answer_page(Page.whole(tokens), _listing(tokens) if tokens else nothing)


@GROUP.verb("revoke", exits=(4,), examples=('remand token revoke ci --reason "was in a log"',))
def revoke(
    cli: Cli,
    token: Annotated[str, typer.Argument(help="Its name, its first characters, or its id.")],
    reason: Reason = None,
    by: By = None,
) -> None:
    """Let a token sign in no more, from its next request on."""
    gone = access.revoke_token(cli.engine, token, cli.who(by, reason))
    cli.out.answer(gone, f"token {gone.name} ({gone.hint}…) is revoked")


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputInvalid(f"{file} cannot be read: {error}") from None


def _write(file: Path, secret: str) -> None:
    """Put the token there at once and whole, for owner and group alone."""
    beside = file.with_name(f".{file.name}.new")
    try:
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(secret)
        beside.chmod(0o640)
        beside.replace(file)
    except OSError as error:
        raise InputInvalid(
            f"the token cannot be written to {file}: {error.strerror}", hint="run it again: it makes another"
        ) from None


def _listing(tokens: Sequence[Token]) -> RenderableType:
    at = now()
    return table(
        "name", "begins", "may", "made", "by", "last used", "ends",
        rows=[
            (
                token.name,
                f"{token.hint}…",
                _may(token),
                f"{age(token.created_at, at)} ago",
                token.created_by,
                f"{age(token.used_at, at)} ago" if token.used_at else "never", _ends(token),
            )
            for token in tokens
        ],
    )  # fmt: skip


def _may(token: Token) -> str:
    return str(token.role) if token.scopes is None else f"{token.role}: {', '.join(token.scopes)}"


def _ends(token: Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is None:
        return "never"
    return ahead(token.expires_at) if token.expires_at > now() else "over"
