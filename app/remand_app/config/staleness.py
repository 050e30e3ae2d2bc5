"""Settings for workflows that show no sign of life. Source: D1, D2."""

from __future__ import annotations

from pydantic import Field

from remand_app.config.kinds import Count
from remand_app.domain.staleness import Lifecycle


class StalenessSettings(Lifecycle):
    """How workflows without a sign of life are found, and what holds where their templates do not say."""

    enabled: bool = Field(
        True, description="Whether stale workflows are taken out of work and told of; they are shown anyway."
    )
    batch_size: Count = Field(
        500, ge=1, le=5000, description="Most stale workflows that are taken out of work in one transaction."
    )

    @property
    def lifecycle(self) -> Lifecycle:
        """What holds where a template does not say."""
        return Lifecycle.model_validate({name: getattr(self, name) for name in Lifecycle.model_fields})
