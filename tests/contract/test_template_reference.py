"""The reference of templates has every key of the model, and each of its examples is good."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from remand_app.domain.template import load_text
from remand_app.domain.template.model import StepSpec, Template
from tools.docgen.template import SECTIONS, Section, template

WHERE = {
    "Template": (), "Step": ("steps", 0), "Retry": ("retry",), "Rules": ("rules", 0),
}  # fmt: skip
STEPS = [{"name": "quote", "handler": "shop.quote"}]
RULE = {"name": "any", "category": "transient", "message": "busy"}


def models(model: type[BaseModel]) -> set[type[BaseModel]]:
    found = {model}
    for field in model.model_fields.values():
        for kind in _kinds(field.annotation):
            found |= models(kind)
    return found


def _kinds(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type):
        return {annotation} if issubclass(annotation, BaseModel) else set()
    return {kind for part in getattr(annotation, "__args__", ()) for kind in _kinds(part)}


def test_every_key_of_every_model_is_told() -> None:
    assert {one.model for one in SECTIONS} == models(Template)
    for one in SECTIONS:
        assert list(one.keys) == list(one.model.model_fields), one.title


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.title)
def test_every_example_is_good_and_means_something(section: Section) -> None:
    for name, told in section.keys.items():
        value = yaml.safe_load(told.example)
        assert value != section.model.model_fields[name].default, name
        load_text(yaml.safe_dump(placed(section, name, value)), "example")
        assert f"`{name}: {told.example}`" in template()


def placed(section: Section, name: str, value: Any) -> dict[str, Any]:
    """Return a whole template that has this key."""
    made: dict[str, Any] = {"namespace": "t", "name": "n", "version": "1", "steps": [dict(STEPS[0])]}
    if section.model is StepSpec:
        step = {"name": "last", "handler": "shop.last", "depends_on": ["quote"], name: value}
        made["steps"].append(step)
        return made
    inside = made
    for word in _path(section):
        inside = inside.setdefault(word, {})
    if section.title == "Rules":
        made["rules"] = [{**RULE, name: value}]
    else:
        inside[name] = value
    return made


def _path(section: Section) -> list[str]:
    if section.title in {"Template", "Rules"}:
        return []
    return section.title.lower().split(".")
