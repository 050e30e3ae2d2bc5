"""Own how a `Template` is loaded: from YAML text, files, folders, stored definitions; reports all problems.

The only module of the domain that touches the file system, and only to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from remand_app.domain.errors import JsonInvalid, Problem, TemplateInvalid
from remand_app.domain.jsonvalue import encode, first_problem
from remand_app.domain.template.checks import check, check_rules
from remand_app.domain.template.model import Template
from remand_app.domain.template.problems import say
from remand_app.domain.template.source import MAX_PROBLEMS, Document, Enough, read_documents
from remand_app.domain.user_rules import STORED

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
MAX_DEFINITION_BYTES: Final = 64 * 1024 * 1024
MAX_DOCUMENTS: Final = 1_000
"""The most documents in one file, empty ones included."""
SUFFIXES: Final = frozenset({".yaml", ".yml"})


def load_text(text: str, source: str = "<text>", *, has_gone: Callable[[], bool] | None = None) -> Template:
    """Return the one template of a YAML text; `source` names it in problems.

    `has_gone` is called from time to time; True: nobody waits for the answer any more.

    Raises:
        TemplateInvalid: it breaks rules, or nobody waited for the answer.
    """
    problems: list[Problem] = []
    templates = _read(text, source, problems, most=2, has_gone=has_gone)
    if not problems and len(templates) > 1:
        problems.append(
            Problem(
                source,
                templates[1][1],
                "",
                f"holds {len(templates)} templates where one is asked for",
                "many_documents",
            )
        )
    if problems:
        raise TemplateInvalid(problems)
    return templates[0][0]


def load_file(path: Path | str) -> list[Template]:
    """Return the templates of a file, one for each YAML document. Raises `TemplateInvalid`."""
    return load_paths([path])


def load_paths(paths: Iterable[Path | str]) -> list[Template]:
    """Return the templates of files and of the `*.yaml` and `*.yml` files in folders, deep, in order of name.

    Raises `TemplateInvalid` with the problems of all files; one full name in two places is one of them.
    """
    problems: list[Problem] = []
    places: dict[str, str] = {}
    templates: list[Template] = []
    for file in _files(paths, problems):
        if len(problems) >= MAX_PROBLEMS:
            break
        for template, line in _read_file(file, problems):
            if template.ref in places:
                message = f"{template.ref} is also in {places[template.ref]}"
                problems.append(Problem(str(file), line, "", message, "duplicate_template"))
            places.setdefault(template.ref, f"{file}:{line}")
            templates.append(template)
    if problems:
        raise TemplateInvalid(problems)
    return templates


def from_definition(definition: dict[str, Any], source: str = "<definition>") -> Template:
    """Return the template of a stored definition (see `to_definition`), which was checked before.

    So new rules do not make a published template invalid. Raises `TemplateInvalid`.
    """
    document = Document(source, definition)
    template = _made(document, STORED)
    if template is None:
        raise TemplateInvalid(document.problems)
    return template


def _files(paths: Iterable[Path | str], problems: list[Problem]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in map(Path, paths):
        if not path.exists():
            problems.append(Problem(str(path), None, "", "there is no such file or folder", "file_missing"))
            continue
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            wanted = file == path or (
                file.suffix in SUFFIXES and file.is_file() and not file.name.startswith(".")
            )
            if wanted and file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _read_file(file: Path, problems: list[Problem]) -> list[tuple[Template, int]]:
    try:
        data = file.read_bytes()
    except OSError as error:
        problems.append(Problem(str(file), None, "", f"cannot be read: {error.strerror}", "file_unreadable"))
        return []
    if len(data) > MAX_FILE_BYTES:
        message = f"is {len(data):,} bytes; the limit is {MAX_FILE_BYTES:,}"
        problems.append(Problem(str(file), None, "", message, "file_too_large"))
        return []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(Problem(str(file), line, "", "is not UTF-8 text", "file_encoding"))
        return []
    return _read(text, str(file), problems)


def _read(
    text: str,
    source: str,
    problems: list[Problem],
    *,
    most: int = MAX_DOCUMENTS,
    has_gone: Callable[[], bool] | None = None,
) -> list[tuple[Template, int]]:
    """Return the good templates of a text with their first lines; add what is wrong with the others.

    Stops after `most` of them.
    """
    templates: list[tuple[Template, int]] = []
    documents = 0
    asked = () if has_gone is None else (has_gone,)
    try:
        for number, document in enumerate(read_documents(text, source, *asked), 1):
            if number > MAX_DOCUMENTS:
                document.add((), f"is more than {MAX_DOCUMENTS:,} documents", "many_documents")
                raise Enough(document.problems)  # noqa: TRY301 - what is read in the loop raises it, too
            if document.value is None and not document.problems:
                continue
            documents += 1
            template = _template(document)
            problems.extend(_sorted(document.problems))
            if template is not None and not document.problems:
                templates.append((template, document.line_of(()) or 1))
            if len(problems) >= MAX_PROBLEMS or documents == most:
                break
    except Enough as end:
        problems.extend(_sorted(end.problems))
    if len(problems) >= MAX_PROBLEMS:
        message = "further problems were not looked for"
        problems[MAX_PROBLEMS - 1 :] = [Problem(source, None, "", message, "and_more")]
    if documents == 0 and not problems:
        problems.append(
            Problem(source, 1, "", "is empty; a template begins with namespace, name, version", "empty")
        )
    return templates


def _sorted(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.line or 0)


def _template(document: Document) -> Template | None:
    """Return the template of a document that keeps all rules."""
    if isinstance(document.value, dict) and first_problem(document.value) is None:
        check(document)
    template = _made(document)
    if template is not None:
        check_rules(document, template)
    return None if document.problems else template


def _made(document: Document, context: dict[str, bool] | None = None) -> Template | None:
    if not isinstance(document.value, dict):
        if not document.problems:
            document.add((), "a template is a mapping with namespace, name, version and steps", "wrong_type")
        return None
    try:
        text = encode(document.value, what="template", max_bytes=MAX_DEFINITION_BYTES)
    except JsonInvalid as error:
        path, message = first_problem(document.value) or ((), error.problem)
        document.add(path, message, "not_json")
        return None
    try:
        template = Template.model_validate_json(text, strict=True, context=context)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            say(document, detail)
        return None
    return None if document.problems else template
