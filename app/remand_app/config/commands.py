"""Settings for commands that workers accept over the broker: Remand's verbs, Celery's remote control."""

from __future__ import annotations

import re
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from remand_app.config.kinds import Names
from remand_app.domain.commands import COMMON_CONTROLS, CommandAccess

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,99}")


class CommandSettings(BaseModel):
    """The table `[commands]`. Immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    access: CommandAccess = Field(
        CommandAccess.SUBMIT,
        description="Which verbs may be called over the broker without a token: `submit`: submitting and"
        " following workflows; `open`: every verb; `token`: none. See"
        " [who may do what](../operations/access.md#over-the-broker).",
    )
    control: Names = Field(
        COMMON_CONTROLS,
        description="Commands of Celery's remote control that workers obey (whole list). None of the default"
        " ones changes what a worker does.",
    )

    @field_validator("control")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [name for name in value if not _NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"{', '.join(map(repr, wrong))}: names of commands, such as `pool_grow`")
        return value
