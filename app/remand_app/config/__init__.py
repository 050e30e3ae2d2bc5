"""Own the settings: what exists, where a value comes from, what is wrong with it.

`load_settings()` is the only way in: environment over TOML file over defaults, checked as a whole, so a
process either starts with good settings or stops with a list of everything to fix. Knows no database,
broker or Celery.
"""

from remand_app.config.load import load_settings, load_settings_with_origins
from remand_app.config.reference import masked, rules_reference, settings_reference, targets_reference
from remand_app.config.settings import Settings

__all__ = [
    "Settings",
    "load_settings",
    "load_settings_with_origins",
    "masked",
    "rules_reference",
    "settings_reference",
    "targets_reference",
]
