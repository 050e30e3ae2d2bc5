"""How templates are referred to."""

from __future__ import annotations


def split_reference(text: str) -> tuple[str, str, str]:
    """Return namespace, name and version of "namespace/name:version"; "" for what is left out of it."""
    path, _, version = text.partition(":")
    namespace, _, name = path.rpartition("/")
    return namespace, name, version
