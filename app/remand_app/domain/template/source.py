"""Own the parsing of YAML text into plain values whose lines are known.

The values are those of JSON; tags, merge keys, dates and duplicate keys are problems. Knows no templates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from remand_app.domain.errors import Problem
from remand_app.domain.jsonvalue import Path

MAX_NESTING: Final = 100
MAX_ALIASED_NODES: Final = 20_000
"""How many nodes aliases may repeat in one document; a bomb of nested anchors needs billions."""

MAX_SIGNS: Final = 200_000
"""The most signs in a text that begin another node: some ten for each of ten thousand steps."""
MAX_PROBLEMS: Final = 100
"""How many problems are reported; the search stops there."""
_SIGNS: Final = (",", "\n", "[", "{", ": ", "- ")
_LOOKS_EACH: Final = 1_000

_Loader: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX: Final = "tag:yaml.org,2002:"
_SCALARS: Final = frozenset({"str", "int", "float", "bool", "null", "timestamp"})


class Enough(Exception):
    """No further problem is looked for, or nobody waits for the answer."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__()
        self.problems = problems
        """Those of the document that was read last."""


def _nobody_has_gone() -> bool:
    return False


@dataclass(slots=True)
class Document:
    """Hold one YAML document: its value, where each path stands, what was written there, what is wrong."""

    file: str
    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    """Path → line, 1-based."""
    written: dict[Path, str] = field(default_factory=dict)
    """Path → the characters of a scalar that YAML does not read as text."""
    problems: list[Problem] = field(default_factory=list)
    has_gone: Callable[[], bool] = _nobody_has_gone
    """Whether nobody waits for the answer any more."""
    _wrong: set[Path] = field(default_factory=set)

    def add(self, path: Path, message: str, code: str) -> None:
        """Note a problem at a path, with the line of the path or of its nearest known ancestor.

        Raises:
            Enough: no further problem is reported.
        """
        self._wrong.add(path)
        self.add_at(self.line_of(path), path, message, code)

    def add_at(self, line: int | None, path: Path, message: str, code: str) -> None:
        """Note a problem at a line. Raises as `add` does."""
        self.problems.append(Problem(self.file, line, dotted(path), message, code))
        if len(self.problems) >= MAX_PROBLEMS:
            raise Enough(self.problems)

    def look_up(self) -> None:
        """Return if somebody still waits for the answer.

        Raises:
            Enough: nobody does.
        """
        if self.has_gone():
            self.problems.append(Problem(self.file, None, "", "nobody waited for the answer", "left"))
            raise Enough(self.problems)

    def has_problem(self, path: Path) -> bool:
        """Tell whether something is wrong with this very path already."""
        return path in self._wrong

    def line_of(self, path: Path) -> int | None:
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


def dotted(path: Path) -> str:
    """Format a path for template authors: `steps[2].retry.factor`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def read_documents(
    text: str, file: str, has_gone: Callable[[], bool] = _nobody_has_gone
) -> Iterator[Document]:
    """Yield each document of the text; one that cannot be read has only problems, and is the last.

    Raises:
        Enough: there are too many problems, or nobody waits for them.
    """
    signs = sum(text.count(sign) for sign in _SIGNS)
    if signs > MAX_SIGNS:
        # Before it is parsed: that alone takes a kilobyte and some microseconds for each.
        message = f"holds {signs:,} values and lines, roughly; the limit is {MAX_SIGNS:,}"
        yield Document(file, problems=[Problem(file, None, "", message, "too_much")])
        return
    loader = _Loader("")
    try:
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node has just said so
            yield _Reader(loader, Document(file, has_gone=has_gone)).read(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ", ".join(part for part in (error.context, error.problem) if part)
        yield _unreadable(file, mark.line + 1 if mark else None, f"is not YAML: {message}")
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        yield _unreadable(file, line, f"holds a character that YAML forbids: {error.reason}")
    except (RecursionError, UnicodeEncodeError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else "it holds a lone surrogate"
        yield _unreadable(file, None, f"is not YAML: {reason}")
    finally:
        loader.dispose()


def _unreadable(file: str, line: int | None, message: str) -> Document:
    return Document(file, problems=[Problem(file, line, "", message, "yaml_syntax")])


class _Reader:
    """Turn the nodes of one document into values."""

    def __init__(self, loader: yaml.SafeLoader, document: Document) -> None:
        self._loader = loader
        self._document = document
        self._seen: set[int] = set()
        self._aliased = 0
        self._nodes = 0

    def read(self, node: yaml.Node) -> Document:
        self._document.value = self._value(node, ())
        return self._document

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._document.lines.setdefault(path, node.start_mark.line + 1)
        if self._too_much(node, path):
            return None
        kind = node.tag.removeprefix(_PREFIX)
        if isinstance(node, yaml.MappingNode) and kind == "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and kind == "seq":
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and kind in _SCALARS:
            return self._scalar(node, kind, path)
        self._document.add(path, f"has the YAML tag {node.tag!r}; only plain values are allowed", "yaml_tag")
        return None

    def _too_much(self, node: yaml.Node, path: Path) -> bool:
        self._nodes += 1
        if self._nodes % _LOOKS_EACH == 0:
            self._document.look_up()
        if len(path) > MAX_NESTING:
            message = (
                f"is nested deeper than {MAX_NESTING} levels; does an anchor (&) contain its own alias (*)?"
            )
            self._document.add(path[:1], message, "yaml_nesting")
            return True
        if id(node) in self._seen:
            self._aliased += 1
            if self._aliased == MAX_ALIASED_NODES + 1:
                message = f"aliases (*) repeat more than {MAX_ALIASED_NODES:,} values; write fewer of them"
                self._document.add(path, message, "yaml_aliases")
        elif not isinstance(node, yaml.ScalarNode) or self._aliased:
            self._seen.add(id(node))
        return self._aliased > MAX_ALIASED_NODES

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._key(key_node, path, line)
            if key is None:
                continue
            if key in result:
                first = self._document.lines[(*path, key)]
                self._document.add_at(
                    line, (*path, key), f"is given twice; first on line {first}", "duplicate_key"
                )
                continue
            self._document.lines[(*path, key)] = line
            result[key] = self._value(value_node, (*path, key))
        return result

    def _key(self, node: yaml.Node, path: Path, line: int) -> str | None:
        if node.tag == f"{_PREFIX}str":
            return str(node.value)
        if node.tag == f"{_PREFIX}merge":
            self._document.add_at(
                line, path, "merge keys (<<) are not supported; write the keys out", "yaml_merge"
            )
        elif isinstance(node, yaml.ScalarNode):
            self._document.add_at(
                line, path, f'the key {node.value} is not text in YAML; quote it: "{node.value}"', "key_type"
            )
        else:
            self._document.add_at(line, path, "a key must be text, not a list or a mapping", "key_type")
        return None

    def _scalar(self, node: yaml.ScalarNode, kind: str, path: Path) -> Any:
        if kind == "str":
            return node.value
        self._document.written[path] = node.value
        if kind == "timestamp":
            self._document.add(
                path, f'{node.value} is a date in YAML; quote it: "{node.value}"', "wrong_type"
            )
            return None
        try:
            value = self._loader.construct_object(node)
        except (ValueError, yaml.YAMLError):
            self._document.add(
                path, f"{node.value:.40} is not a good YAML {kind}; quote it if it is text", "wrong_type"
            )
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._document.add(path, f"{node.value} is not a number that JSON has", "wrong_type")
            return None
        return value
