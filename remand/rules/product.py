"""Rules for the failures that the product itself makes."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import IMMEDIATE, PERMANENT, RESOURCE, TRANSIENT, VALIDATION, Rule

_SOURCE: Final = "remand/errors.py, remand_app/domain/errors.py"

RULES: Final = (
    Rule(
        "product.step-timeout",
        "type",
        ("remand.errors.StepTimeout",),
        TRANSIENT,
        "the step ran longer than its timeout",
        _SOURCE,
    ),
    Rule(
        "product.step-cancelled",
        "type",
        ("remand.errors.StepCancelled",),
        PERMANENT,
        "the step was taken away from this worker; its outcome no longer counts",
        _SOURCE,
    ),
    Rule(
        "product.worker-lost",
        "type",
        ("remand.errors.WorkerLost",),
        RESOURCE,
        "the process that ran the step died; another can take it at once, a few times",
        _SOURCE,
        IMMEDIATE,
    ),
    Rule(
        "product.result-invalid",
        "type",
        ("remand_app.domain.errors.ResultInvalid",),
        VALIDATION,
        "the handler returned what cannot be stored, and would again",
        _SOURCE,
    ),
    Rule(
        "product.handler-not-found",
        "type",
        ("remand_app.domain.errors.HandlerNotFound",),
        PERMANENT,
        "no handler of that name is loaded; deploy it or correct the template",
        _SOURCE,
    ),
    Rule(
        "product.dependency-unreachable",
        "type",
        ("remand_app.domain.errors.DatabaseUnreachable", "remand_app.domain.errors.BrokerUnreachable"),
        "network",
        "the product's own database or broker cannot be reached",
        _SOURCE,
    ),
    Rule(
        "product.input-invalid",
        "type",
        tuple(
            f"remand_app.domain.errors.{n}"
            for n in ("TemplateInvalid", "InputInvalid", "InputTooLarge", "IdentityInvalid")
        ),
        VALIDATION,
        "what was handed to the product was refused",
        _SOURCE,
    ),
    Rule(
        "product.error",
        "base",
        ("remand.errors.RemandError",),
        PERMANENT,
        "the product refused what the handler asked of it",
        _SOURCE,
        confidence=0.7,
    ),
)
