"""What the codes of problems mean: those that an error lists in `details.problems`, all reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OF_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "SETTINGS_FILE_UNREADABLE": "The file of settings cannot be read.",
        "SETTINGS_FILE_INVALID": "The file of settings is not TOML.",
        "SETTING_UNKNOWN": "There is no setting of that name.",
        "SETTING_INVALID": "A setting has a value that it cannot have.",
        "CONFIG_INVALID": "A setting is missing, or asks for what is not installed.",
        "URL_MISSING": "One of `database_url` and `broker_url` is set, and the other is not.",
        "NOTHING_RUNS": "Neither URL is set, and no embedded stack runs here.",
        "RULE_CONFLICT": "Two rules contradict each other.",
        "RULE_ENTRY_POINT": "An entry point for rules cannot be loaded.",
    }
)
"""Problems of `CONFIG_INVALID`."""

OF_TEMPLATES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "after_nothing": "A step follows the end of its parents, and has none.",
        "and_more": "There are more problems than are told.",
        "bad_name": "A name has signs that names cannot have, or is too long.",
        "bad_pattern": "A regular expression does not compile, or has what patterns cannot have.",
        "bad_schema": "What should be a JSON Schema is none.",
        "cycle": "Steps wait for each other in a circle.",
        "dangling_ref": "A `$ref` points to nothing.",
        "dead_queue_of_step": "The queue of a step is a dead queue.",
        "duplicate_dependency": "A step names a parent twice.",
        "duplicate_key": "A key is given twice.",
        "duplicate_step": "Two steps have one name.",
        "duplicate_template": "A template is defined twice.",
        "empty": "A file holds nothing.",
        "file_encoding": "A file is not UTF-8 text.",
        "file_missing": "There is no such file or folder.",
        "file_too_large": "A file is larger than files of templates may be.",
        "file_unreadable": "A file cannot be read.",
        "foreign_ref": "A `$ref` points out of the template.",
        "input_too_large": "The fixed input of a step is larger than `input_max_bytes`.",
        "key_type": "A key of a mapping is no text.",
        "left": "Nobody waited for the answer.",
        "many_documents": "A file holds more templates than it may.",
        "missing_key": "A key is missing.",
        "no_steps": "A template has no step.",
        "not_json": "A value is none that JSON has.",
        "out_of_range": "A number is too large or too small.",
        "reserved_queue": "A step's queue is one that Remand needs for itself.",
        "rule_conflict": "Two rules contradict each other.",
        "schema_too_large": "A JSON Schema is larger than it may be.",
        "self_dependency": "A step depends on itself.",
        "too_many_rules": "There are more rules than there may be.",
        "too_many_steps": "There are more steps than there may be.",
        "too_much": "A file holds more than is read.",
        "unknown_dead_queue": "There is no dead queue of that name.",
        "unknown_dependency": "There is no step of that name.",
        "unknown_key": "There is no such key.",
        "unknown_value": "A word is not one of those that are known here.",
        "wrong_type": "A value is of another type than the key has.",
        "wrong_value": "A value does not keep a rule; the message says which.",
        "yaml_aliases": "YAML aliases are more than may be followed.",
        "yaml_merge": "YAML merge keys are not supported.",
        "yaml_nesting": "YAML is nested more deeply than it may be.",
        "yaml_syntax": "A file is not YAML.",
        "yaml_tag": "A YAML tag stands where plain values are allowed.",
    }
)
"""Problems of `TEMPLATE_INVALID`."""
