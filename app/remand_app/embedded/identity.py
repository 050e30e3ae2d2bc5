"""Choose the user that the servers run as: ourselves, or an unprivileged account when we are root.

Postgres refuses to run as root. No account is made for it, and the permissions of existing directories stay
as they are. Where the account cannot reach the files, the child keeps one capability instead (`launch`).
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from remand_app.domain.errors import EmbeddedUnavailable

_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Identity:
    """The user and group of a child; None keeps our own."""

    uid: int | None = None
    gid: int | None = None
    overrides_access: bool = False
    """Keep CAP_DAC_OVERRIDE, because the files are out of the account's reach."""

    def give(self, path: Path) -> None:
        """Make the account the owner of `path`, which we created."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


OURSELVES = Identity()


def choose(paths: Iterable[Path]) -> Identity:
    """Return who runs servers that need all of `paths`.

    Raises: EmbeddedUnavailable when this user is unknown to the system, or root has nobody to become.
    """
    if os.geteuid() != 0:
        _require_account(os.geteuid())
        return OURSELVES
    account = _unprivileged_account()
    reachable = all(_is_reachable(path, account.pw_uid, account.pw_gid) for path in paths)
    return Identity(account.pw_uid, account.pw_gid, overrides_access=not reachable)


def _require_account(uid: int) -> None:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedUnavailable(
            f"user id {uid} has no entry in the password database, and initdb needs one",
            hint=f"add a passwd line for {uid}, or run as another user, or use servers of your own by URL",
        ) from None


def _unprivileged_account() -> pwd.struct_passwd:
    for name in _ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise EmbeddedUnavailable(
        f"running as root, and there is no account {' or '.join(_ACCOUNTS)} to run Postgres as",
        hint="run as an ordinary user",
    )


def _is_reachable(path: Path, uid: int, gid: int) -> bool:
    return all(_may_enter(step.stat(), uid, gid) for step in (path, *path.parents))


def _may_enter(status: os.stat_result, uid: int, gid: int) -> bool:
    if status.st_uid == uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
