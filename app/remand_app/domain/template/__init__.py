"""Own templates: the versioned YAML definitions that workflows are made from.

Everything others need is named here; the modules inside are model (shape), source (YAML with lines), wording
and checks (problems), load (entry points) and submission (input and identity of one submit).
"""

from __future__ import annotations

from remand_app.domain.jsonvalue import canonical_json
from remand_app.domain.retry import DEFAULT_RETRY, RetryOverrides, RetrySpec, resolve_retry
from remand_app.domain.template.load import from_definition, load_file, load_paths, load_text
from remand_app.domain.template.model import StepSpec, Template, all_rule_layers, content_hash, to_definition
from remand_app.domain.template.submission import check_result, identity_key, validate_input

__all__ = [
    "DEFAULT_RETRY",
    "RetryOverrides",
    "RetrySpec",
    "StepSpec",
    "Template",
    "all_rule_layers",
    "canonical_json",
    "check_result",
    "content_hash",
    "from_definition",
    "identity_key",
    "load_file",
    "load_paths",
    "load_text",
    "resolve_retry",
    "to_definition",
    "validate_input",
]
