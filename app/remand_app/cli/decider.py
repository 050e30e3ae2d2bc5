"""Who decides, as the command line records it."""

from __future__ import annotations

import getpass
import os

from remand_app.cli.verbs import USER_VARIABLE


def decider(by: str | None) -> str:
    """Return who decides: the one that `--by` names, else who types.

    Raises:
        InputInvalid: it is the product's own name.
    """
    from remand_app.domain.access import OWN_NAME

    if by is not None and by.strip().lower() == OWN_NAME:
        from remand_app.domain.errors import InputInvalid

        raise InputInvalid(f"{OWN_NAME} is what the product itself signs as", hint="name a person")
    return by or operator()


def operator() -> str:
    """Return who types: $REMAND_USER, else the OS user."""
    from remand_app.domain.access import OWN_NAME

    named = os.environ.get(USER_VARIABLE, "").strip() or _os_user()
    # The user of the container image has this name, too.
    return f"user:{named}" if named.lower() == OWN_NAME else named


def _os_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a user id that no account has.
        return f"uid {os.getuid()}"
