"""Mask the values of fields with a secret's name, wherever a text names one.

Reads assignments and mappings of many languages (`key=value`, `key: value`, `"key" => 'value'`, JSON within a
string of JSON, percent-encoded), headers, cookies, flags, tags of XML, pairs and a few turns of prose. Pure,
in time linear in the text: names are found by the words of the keys, and no part of the text is read twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from remand.secret_names import PASSWORDS, is_counted, is_secret, plain
from remand.secret_shapes import MASK, looks_random

Span = tuple[int, int]

_OF_NAMES: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_NAME_END: Final = re.compile(r"[A-Za-z0-9_.-]*+")
_LONGEST_NAME: Final = 128
_AFTER: Final = re.compile(
    r"(?P<close>(?:\\{0,7}[\"']|%22)?\]?)"
    r"(?:[ \t]{0,4}(?P<sep>=>|:=|=(?!=)|:(?![:=])|%3[AaDd])[ \t]{0,4}"
    r"|(?P<pair>,?\s{0,40}\\{0,7}[\"']?(?i:value)\\{0,7}[\"']?[ \t]{0,4}[:=][ \t]{0,4})"
    r"|(?P<listed>,[ \t]{0,4})"
    r"|(?P<blank>[ \t]{1,4}))"
)
_SPACE_OF_NAMES: Final = re.compile(r"(?:[\w.-]+:)?")
_TAG: Final = re.compile(r"[^<>/]{0,200}>(?P<value>[^<]{0,4096})")
_WRAPPER: Final = re.compile(r"(?:Secret[A-Za-z]{0,20}\()?[bBuUrR]{0,2}(?=\\{0,7}[\"'])")
_QUOTE: Final = re.compile(r"\\{0,7}[\"']|%22")
_REST: Final = {
    '"': re.compile(r"(?:[^\"\\]|\\.)*+", re.DOTALL),
    "'": re.compile(r"(?:[^'\\]|\\.)*+", re.DOTALL),
}
_BRACKET: Final = re.compile(r"[{}\[\]()]|\\{0,7}[\"']")
_LONGEST_STRUCTURE: Final = 16_384
_BLOCK: Final = re.compile(r"[|>][+-]?[ \t]{0,4}\r?\n(?P<lines>(?:[ \t]+[^\n]*(?:\n|\Z))++)")
_BARE: Final = re.compile(
    r"(?:[^\s;&\"'<>,\\]|\\(?!\\{0,7}[\"']|[nrt])|,(?=[^\s\"'\[{(,])(?![\w.-]{1,64}[\"']?[=:])|['>](?=\w))++"
)
_BARE_QUOTED: Final = re.compile(r"(?:[^\s;&\"'<>,\\%]|%(?!26|22|2[Cc]))++")
_TRIMMED: Final = ")]}>.,:"
_MASKED_PEM: Final = re.compile(rf"\s*-----BEGIN [^\r\n]{{0,60}}{re.escape(MASK)}.*", re.DOTALL)
_SPARED: Final = re.compile(
    r"\*+|[xX]{3,}|\.{3,}|…+|[-?]+|<[^<>]{0,64}>|\$[A-Z_][A-Z0-9_]*|\$[{(].*|\{\{.*|%[sr]|%\(.*|\{[\w.]{0,64}\}"
    r"|[\[<(]?(?i:redacted|hidden|masked|filtered|none|null|nil|undefined|true|false|yes|no)[\]>)]?",
    re.DOTALL,
)
_SAID: Final = frozenset(
    {
        "a", "absent", "an", "and", "any", "authentication", "bad", "blank", "bool", "bytes", "cannot",
        "could", "denied", "does", "empty", "expected", "expired", "float", "for", "from", "given",
        "has", "incorrect", "int", "invalid", "is", "it", "malformed", "mismatch", "missing", "must",
        "needed", "never", "no", "none", "not", "ok", "optional", "or", "rejected", "required",
        "revoked", "should", "str", "string", "the", "this", "to", "unauthorized", "unexpected",
        "unknown", "unset", "used", "was", "were", "will", "with", "wrong",
    }
)  # fmt: skip
"""Words that prose puts after a secret's name and a colon, and names of types."""
_CODE: Final = re.compile(
    r"(?:self|cls|settings|config|os|env|environ|process|request|params|kwargs|args|options)(?:\.\w+)+[\[(]?.*"
    r"|[A-Za-z_]{3,}(?:\.[A-Za-z_]+)*\(.*|Optional\[.*",
    re.DOTALL,
)
_FOLDER: Final = re.compile(r"~?/|~$|\.{1,2}(?:/|$)|[A-Za-z]:\\")
_ACTOR: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}(?![A-Za-z0-9_/+=-])")
_BY: Final = re.compile(r"(?:\b|_)by\\{0,7}[\"']?[ \t]{0,2}[:=]?[ \t]{0,2}\\{0,7}[\"']?\Z")
_SCHEME: Final = re.compile(
    r"(?:bearer|basic|token|apikey|api-key|jwt|oauth|negotiate|ntlm|key|ssws|geniekey|splunk|bot)[ \t]{1,4}"
    r"(?!\w+=\\{0,7}[\"'])",
    re.IGNORECASE | re.ASCII,
)
_OF_PARTS: Final = re.compile(r"(?:digest|aws4-[\w-]{1,20}|token|oauth)[ \t]", re.IGNORECASE | re.ASCII)
_CRUMB: Final = re.compile(
    r"(?:(?P<name>[^\s=;,\"'\\]{1,256})=(?P<value>[^\s;,\"'\\]*+)|(?i:httponly|secure|partitioned))"
    r"(?:;[ \t]{0,4})?"
)
_ATTRIBUTES: Final = frozenset({"path", "domain", "expires", "max-age", "samesite", "priority"})


def mask_values(text: str, keys: tuple[str, ...]) -> str:
    """Return the text with the values masked whose names hold one of the keys."""
    stems = _stems(keys)
    if stems is None:
        return text
    parts: list[str] = []
    done = at = 0
    while (hit := stems.search(text, at)) is not None:
        window = text[max(at, hit.start() - _LONGEST_NAME) : hit.start()]
        name = _Name(text, hit.start() - len(window) + len(window.rstrip(_OF_NAMES)), hit.end())
        at = name.end
        if is_secret(name.text, keys):
            for start, end in _secrets_of(name, keys):
                parts += [text[done:start], MASK]
                at = done = end
    return "".join(parts) + text[done:]


@lru_cache(maxsize=64)
def _stems(keys: tuple[str, ...]) -> re.Pattern[str] | None:
    words = (plain(key).split("_") for key in keys)
    stems = ["[_. -]{0,2}".join(map(re.escape, some)) for some in words if any(some)]
    return re.compile("|".join(dict.fromkeys(stems)), re.IGNORECASE | re.ASCII) if stems else None


class _Name:
    """Where a text names something: `start` to `end` without quotes, and how it goes on."""

    __slots__ = ("end", "source", "start", "text")

    def __init__(self, source: str, start: int, end: int) -> None:
        self.source, self.start = source, start
        match = _NAME_END.match(source, end)
        self.end = end if match is None else max(end, start + len(source[start : match.end()].rstrip(".-")))
        self.text = source[max(start, self.end - _LONGEST_NAME) : self.end]

    @property
    def is_flag(self) -> bool:
        return self.text.startswith("--")

    @property
    def last_word(self) -> str:
        return plain(self.text).rpartition("_")[2]


def _secrets_of(name: _Name, keys: tuple[str, ...]) -> Iterator[Span]:
    after = _AFTER.match(name.source, name.end)
    if _opens_tag(name):
        yield from _within_tag(name)
    elif after is None:
        return
    elif after["sep"]:
        yield from _assigned(name, after.end(), after["sep"])
    elif after["pair"]:
        yield from _value(name, after.end())
    elif after["listed"]:
        yield from _listed(name, after, keys)
    elif name.is_flag and not name.source.startswith("-", after.end()):
        yield from _assigned(name, after.end(), " ")
    elif not after["close"]:
        yield from _in_prose(name, after.end())


def _assigned(name: _Name, at: int, sep: str) -> Iterator[Span]:
    if sep == ":" and _is_actor(name, at):
        return
    if name.last_word == "authorization":
        yield from _authorization(name, at)
    elif name.last_word in ("cookie", "cookies"):
        yield from _cookies(name, at)
    else:
        yield from _value(name, at, sep)


def _value(name: _Name, at: int, sep: str = "=") -> Iterator[Span]:
    """Yield the secret part of a value that begins at `at`, if there is one."""
    text = name.source
    wrapper = _WRAPPER.match(text, at)
    at = at if wrapper is None else wrapper.end()
    if text.startswith(MASK, at):
        return
    quote = _QUOTE.match(text, at)
    if quote is not None:
        yield from _spared(name, quote.end(), _end_of_quoted(text, quote.end(), quote[0]))
    elif text[at : at + 1] in ("{", "[", "("):
        end = _end_of_structure(text, at)
        if not _SPARED.fullmatch(text, at, end) and not text.startswith("{{", at):
            yield at, end
    elif (block := _BLOCK.match(text, at)) is not None:
        lines = block["lines"]
        yield block.end() - len(lines.lstrip()), block.end() - len(lines) + len(lines.rstrip())
    else:
        yield from _bare(name, at, sep)


def _bare(name: _Name, at: int, sep: str) -> Iterator[Span]:
    text = name.source
    match = (_BARE_QUOTED if sep.startswith("%") else _BARE).match(text, at)
    if match is None or match[0].startswith("-----BEGIN"):
        return
    value = match[0].rstrip(_TRIMMED)
    is_prose = sep in (":", " ") and text[at - 1 : at].isspace()
    if (is_prose and value.lower() in _SAID) or value in ("str", "bytes") or _CODE.fullmatch(match[0]):
        return
    if name.last_word.endswith("pwd") and _FOLDER.match(value) and text[name.start - 1 : name.start] != ";":
        return
    yield from _spared(name, at, at + len(value))


def _spared(name: _Name, start: int, end: int) -> Iterator[Span]:
    """Yield the span unless it holds no secret: nothing, a mask, a variable, a count."""
    value = name.source[start:end]
    is_count = value.isdigit() and is_counted(name.text)
    if value.strip() and not is_count and not _SPARED.fullmatch(value) and not _MASKED_PEM.fullmatch(value):
        yield start, end


def _end_of_quoted(text: str, start: int, quote: str) -> int:
    rest = _REST.get(quote)
    end = text.find(quote, start) if rest is None else _found_end(rest.match(text, start), start)
    if 0 <= end < len(text):
        return end
    line = text.find("\n", start)  # never closed: text that was cut
    return len(text) if line < 0 else line


def _end_of_structure(text: str, start: int) -> int:
    """Return where the bracket that opens at `start` closes; never closed: the end of the part looked at."""
    depth, at, limit = 0, start, min(len(text), start + _LONGEST_STRUCTURE)
    while (match := _BRACKET.search(text, at, limit)) is not None:
        at = match.end()
        if match[0] in "{[(":
            depth += 1
        elif match[0] in "}])":
            depth -= 1
            if depth <= 0:
                return at
        else:
            closed = text.find(match[0], at, limit)
            at = limit if closed < 0 else closed + len(match[0])
    return limit


def _authorization(name: _Name, at: int) -> Iterator[Span]:
    """Yield the credentials of a header; its scheme stays, and so do schemes whose parts have names."""
    text = name.source
    wrapper, quote = _WRAPPER.match(text, at), None
    if wrapper is not None:
        quote = _QUOTE.match(text, wrapper.end())
    start = at if quote is None else quote.end()
    scheme = _SCHEME.match(text, start)
    if scheme is None:
        if not _OF_PARTS.match(text, start):
            yield from _value(name, at, ":")
    elif quote is None:
        yield from _bare(name, scheme.end(), ":")
    else:
        yield from _spared(name, scheme.end(), _end_of_quoted(text, scheme.end(), quote[0]))


def _cookies(name: _Name, at: int) -> Iterator[Span]:
    """Yield the values of all cookies of a header; the attributes of `Set-Cookie` stay."""
    text = name.source
    quote = _QUOTE.match(text, at)
    start = at if quote is None else quote.end()
    match = _CRUMB.match(text, start)
    if match is None:
        yield from _value(name, at, ":")
    while match is not None and match.end() > start:
        if match["value"] and match["name"].lower() not in _ATTRIBUTES and match["value"] != MASK:
            yield match.span("value")
        start = match.end()
        match = _CRUMB.match(text, start)


def _listed(name: _Name, after: re.Match[str], keys: tuple[str, ...]) -> Iterator[Span]:
    """Yield the second of a pair in brackets, `('X-Token', 'abc')`, or what follows a flag in a list."""
    text, at = name.source, after.end()
    wrapper = _WRAPPER.match(text, at)
    quote = None if wrapper is None else _QUOTE.match(text, wrapper.end())
    if quote is None or not after["close"]:
        return
    start, end = quote.end(), _end_of_quoted(text, quote.end(), quote[0])
    before = text[max(0, name.start - 10) : name.start].rstrip("\\\"'").rstrip("bu")[-1:]
    is_pair = before == "(" or (before == "[" and looks_random(text[start:end], 8))
    if name.is_flag or (is_pair and not is_secret(text[start:end], keys)):
        scheme = _SCHEME.match(text, start, end)
        yield from _spared(name, start if scheme is None else scheme.end(), end)


def _in_prose(name: _Name, at: int) -> Iterator[Span]:
    """Yield what follows the name after only a blank, if it looks like a secret."""
    if name.last_word == "pass":
        return
    text, is_password = name.source, name.last_word.endswith(PASSWORDS)
    quote = _QUOTE.match(text, at)
    if quote is None:
        start, end = at, _found_end(_BARE.match(text, at), at)
        end = start + len(text[start:end].rstrip(_TRIMMED))
    else:
        start, end = quote.end(), _end_of_quoted(text, quote.end(), quote[0])
    value = text[start:end]
    if looks_random(value, 6 if is_password else 16) or (
        quote and is_password and value.lower() not in _SAID
    ):
        yield from _spared(name, start, end)


def _is_actor(name: _Name, at: int) -> bool:
    """Say whether `token:NAME` is an actor in the form that the history uses."""
    text = name.source
    match = _ACTOR.match(text, at)
    if match is None or name.text != "token" or text[at - 1] != ":" or looks_random(match[0], 20):
        return False
    is_all = name.start == 0 and match.end() == len(text) and not looks_random(match[0], 12)
    return is_all or _BY.search(text[max(0, name.start - 16) : name.start]) is not None


def _opens_tag(name: _Name) -> bool:
    opened = name.source.rfind("<", max(0, name.start - 32), name.start)
    return opened >= 0 and _SPACE_OF_NAMES.fullmatch(name.source, opened + 1, name.start) is not None


def _within_tag(name: _Name) -> Iterator[Span]:
    """Yield what stands between `<password …>` and the next tag."""
    match = _TAG.match(name.source, name.end)
    if match is not None and match["value"]:
        yield from _spared(name, *match.span("value"))


def _found_end(match: re.Match[str] | None, otherwise: int) -> int:
    return otherwise if match is None else match.end()
