"""How a command is used, as the reference writes it."""

from __future__ import annotations

from typing import Any


def usage(path: str, command: Any) -> str:
    """Return a command with its arguments."""
    arguments = (_metavar(param) for param in parameters(command) if param.param_type_name == "argument")
    return " ".join(["remand", path, *arguments])


def parameters(command: Any) -> list[Any]:
    """Return what a command takes, arguments first, without what is hidden."""
    shown = [
        param for param in command.params if param.name != "help" and not getattr(param, "hidden", False)
    ]
    return sorted(shown, key=lambda param: param.param_type_name != "argument")


def written(param: Any) -> str:
    """Return how an argument or an option is written."""
    if param.param_type_name == "argument":
        return f"`{_metavar(param)}`".replace("|", "\\|")
    value = "" if param.is_flag else f" {param.metavar or 'VALUE'}".replace("|", "\\|")
    return ", ".join(f"`{name}{value}`" for name in param.opts)


def default(param: Any) -> str:
    """Return what holds where an option is not given."""
    is_option = param.param_type_name == "option"
    if not is_option or param.is_flag or param.default in (None, [], (), ""):
        return ""
    return f" Default: `{param.default}`."


def _metavar(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"
