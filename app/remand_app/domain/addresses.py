"""Where a server is: the one reading of a URL that settings, connections and messages share.

`parse` refuses a URL that could be read in two ways. No error quotes the URL, because any part of it may
belong to a password. `shown` returns what is safe to show of a URL, even of a malformed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from remand.redact import MASK

DATABASE_SCHEMES: Final = ("postgresql", "postgresql+psycopg2")
BROKER_SCHEMES: Final = ("redis", "rediss", "redis+socket", "amqp", "amqps")
TLS_SCHEMES: Final = ("rediss", "amqps")
_SECRET_KEYS = ("pass", "secret", "token", "key")
_NO_SECRETS = frozenset({"sslkey", "ssl_keyfile", "global_keyprefix"})
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"[\w.~-]+")
_SIGNS = "write # as %23, / as %2F, ? as %3F, @ as %40 and % as %25 in names, passwords and values"


class UrlInvalid(ValueError):
    """A URL that names no server, or could name two. The text quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """One host, or the folder of a Unix socket; "" and None: whatever is usual."""

    host: str
    port: int | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """What a `postgresql://` URL says: the forms of libpq and those of SQLAlchemy."""

    places: tuple[Place, ...]
    user: str | None
    password: str | None = field(repr=False)
    database: str | None
    options: Mapping[str, str] = field(repr=False)
    """Further keywords of libpq: `sslmode`, `options`, …"""

    @classmethod
    def parse(cls, url: str) -> DatabaseAddress:
        """Read a URL.

        Raises:
            UrlInvalid: it is none, or none of these servers'.
        """
        parts = _Parts.of(url, DATABASE_SCHEMES, "only PostgreSQL can hold the workflows")
        query = dict(parts.query)
        hosts = [host for key, value in parts.query if key == "host" for host in value.split(",")]
        places = [_place(host) for host in hosts] or [_place(_text(host)) for host in parts.hosts]
        return cls(
            _with_ports(places, query.pop("port", None)),
            query.pop("user", parts.user),
            query.pop("password", parts.password),
            query.pop("dbname", None) or _text(parts.path) or None,
            {key: value for key, value in query.items() if key != "host"},
        )

    def keywords(self) -> dict[str, str]:
        """Return libpq's keywords for it."""
        hosts, ports = (place.host for place in self.places), [place.port for place in self.places]
        named = {
            "host": ",".join(hosts),
            "port": ",".join("" if port is None else str(port) for port in ports) if any(ports) else "",
            "user": self.user,
            "password": self.password,
            "dbname": self.database,
        }
        return {**self.options, **{key: value for key, value in named.items() if value}}

    def __str__(self) -> str:
        """Return it without its secrets."""
        where = ",".join(str(Place(_quoted(place.host, "/:"), place.port)) for place in self.places)
        login = _login(self.user, self.password)
        name = "" if self.database is None else _quoted(self.database)
        return f"postgresql://{login}{where}/{name}{_query(self.options)}"

    @property
    def name(self) -> str:
        """What messages call it: hosts and database."""
        where = ",".join(str(Place(place.host or "localhost", place.port or 5432)) for place in self.places)
        return f"{where}/{self.database or self.user or ''}"


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """What one URL of a broker says; a setting may name several, `;` between them."""

    scheme: str
    place: Place
    user: str | None
    password: str | None = field(repr=False)
    path: str
    """As written: the number of a Redis database, RabbitMQ's virtual host, the path of a socket."""
    options: Mapping[str, str] = field(repr=False)

    @classmethod
    def parse_all(cls, urls: str) -> tuple[BrokerAddress, ...]:
        """Read what `broker_url` holds: one URL, or several with `;` between them.

        Raises:
            UrlInvalid: one is no URL, or no broker's of the product; or they are of different kinds.
        """
        brokers = tuple(cls._parse(url) for url in urls.split(";") if url.strip() or urls.count(";") == 0)
        if len({broker.scheme for broker in brokers}) > 1:
            raise UrlInvalid("names brokers of different kinds: several must be alike")
        if len({tuple(sorted(broker.options.items())) for broker in brokers}) > 1:
            raise UrlInvalid("has different options behind `?`: several brokers must have the same")
        return brokers

    @classmethod
    def _parse(cls, url: str) -> BrokerAddress:
        parts = _Parts.of(url, BROKER_SCHEMES, "bells are tested on Redis and RabbitMQ alone")
        if len(parts.hosts) > 1:
            raise UrlInvalid("names several hosts in one URL: write a URL for each, with `;` between them")
        options = dict(parts.query)
        _check_options(parts.scheme, options)
        place = _place(_text(parts.hosts[0]))
        if parts.scheme == "redis+socket":
            if place.host or not parts.path:
                raise UrlInvalid("should be redis+socket:///path/of/the.sock?virtual_host=0")
        elif parts.scheme.startswith("redis") and not re.fullmatch(r"\d*", parts.path):
            raise UrlInvalid("should end with the number of a Redis database, such as /0")
        return cls(parts.scheme, place, parts.user, parts.password, parts.path, options)

    def url(self) -> str:
        """Return the URL for Celery, secrets included, options left out but a socket's database."""
        tail = self.path
        if self.scheme == "redis+socket" and "virtual_host" in self.options:
            tail += f"?virtual_host={_quoted(self.options['virtual_host'])}"
        return f"{self.scheme}://{_login(self.user, self.password, hide=False)}{self.place}/{tail}"

    def __str__(self) -> str:
        """Return it without its secrets."""
        login = _login(self.user, self.password)
        return f"{self.scheme}://{login}{self.place}/{self.path}{_query(self.options)}"


def tidied(url: str) -> str:
    """Return a valid URL with its full scheme, without extra characters around it from a file or variable."""
    tidy = url.strip().strip("\ufeff").strip()
    return re.sub(r"^postgres://", "postgresql://", tidy)


def shown(url: str) -> str:
    """Return the URL of a database or of brokers as it may be shown, without any part of a password."""
    try:
        if url.strip().startswith("postgres"):
            return str(DatabaseAddress.parse(url))
        return ";".join(str(broker) for broker in BrokerAddress.parse_all(url))
    except UrlInvalid:
        return MASK


@dataclass(frozen=True, slots=True)
class _Parts:
    scheme: str
    user: str | None
    password: str | None = field(repr=False)
    hosts: Sequence[str]
    """As written, ports included; at least one, possibly empty."""
    path: str
    query: Sequence[tuple[str, str]] = field(repr=False)

    @classmethod
    def of(cls, url: str, schemes: Sequence[str], reason: str) -> _Parts:
        # A secret file written by `echo` or a Windows editor has extra characters around the URL.
        scheme, rest = _after_scheme(tidied(url), schemes, reason)
        _check_signs(rest)
        around = re.fullmatch(r"([^/?]*)(?:/([^?]*))?(?:\?(.*))?", rest)
        assert around is not None
        authority, path, query = around.groups(default="")
        if "@" in path or "@" in query or authority.count("@") > 1:
            raise UrlInvalid(f"has a sign that ends a part of the URL before its end: {_SIGNS}")
        login, at, hosts = authority.rpartition("@")
        user, colon, password = login.partition(":")
        return cls(
            scheme,
            (_text(user) or None) if at else None,
            _text(password) if colon else None,
            hosts.split(","),
            path,
            list(_pairs(query)),
        )


def _after_scheme(url: str, schemes: Sequence[str], reason: str) -> tuple[str, str]:
    scheme, colon, rest = url.partition("://")
    if not colon:
        raise UrlInvalid(f"should be a URL that starts with {_any_of(schemes)}")
    if scheme not in schemes:
        stated = scheme if re.fullmatch(r"[a-z][a-z0-9+.-]{0,30}", scheme) else "what stands there"
        raise UrlInvalid(f"should start with {_any_of(schemes)}, not {stated}://: {reason}")
    return scheme, rest


def _check_signs(rest: str) -> None:
    if any(sign.isspace() or not sign.isprintable() for sign in rest):
        raise UrlInvalid("has a blank, a line end or a control character in it: write a blank as %20")
    if "#" in rest:
        raise UrlInvalid(f"has a #, which ends a URL: {_SIGNS}")
    if _BROKEN_PERCENT.search(rest):
        raise UrlInvalid(f"has a % without two hexadecimal digits behind it: {_SIGNS}")


def _pairs(query: str) -> Iterator[tuple[str, str]]:
    for pair in query.split("&") if query else ():
        key, equals, value = pair.partition("=")
        if not equals or not re.fullmatch(r"\w+", key):
            raise UrlInvalid(f"has something behind ? that is not key=value: {_SIGNS}")
        yield key, _text(value.replace("+", " "))


def _text(quoted: str) -> str:
    try:
        text = unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise UrlInvalid("holds %XX that is not UTF-8") from None
    if "\0" in text:
        raise UrlInvalid("holds %00, which nothing may")
    return text


def _place(text: str) -> Place:
    if text.startswith(("/", "@")):
        # A socket's folder may carry a port, which is a part of the socket's name.
        folder, _, port = text.rpartition(":")
        return Place(folder, _port(port)) if folder and port.isdecimal() else Place(text)
    bracketed = re.fullmatch(r"\[([0-9A-Fa-f:.%\w]*)\](?::(.*))?", text)
    if bracketed:
        return Place(bracketed[1], _port(bracketed[2]))
    if text.count(":") > 1:
        return Place(_host(text, re.compile(r"[0-9A-Fa-f:.]+")))
    host, _, port = text.partition(":")
    return Place(_host(host, _HOST), _port(port))


def _host(text: str, form: re.Pattern[str]) -> str:
    if text and not form.fullmatch(text):
        raise UrlInvalid(f"is not a URL: its host is no name or address; {_SIGNS}")
    return text


def _port(text: str | None) -> int | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65_535:
        raise UrlInvalid(f"is not a URL: its port should be a number from 1 to 65535; {_SIGNS}")
    return int(text)


def _with_ports(places: Sequence[Place], ports: str | None) -> tuple[Place, ...]:
    if ports is None:
        return tuple(places)
    numbers = [_port(number) for number in ports.split(",")]
    if len(numbers) == 1:
        numbers *= len(places)
    if len(numbers) != len(places):
        raise UrlInvalid(f"names {len(places)} hosts and {len(numbers)} ports: one for all, or one for each")
    return tuple(Place(place.host, port or place.port) for place, port in zip(places, numbers, strict=True))


TLS_FILES: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_TLS_OPTIONS: Final = frozenset({*TLS_FILES, "ssl_cert_reqs", "ssl_check_hostname"})
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "redis": frozenset({"global_keyprefix"}),
    "rediss": _TLS_OPTIONS | {"global_keyprefix"},
    "redis+socket": frozenset({"global_keyprefix", "virtual_host"}),
    "amqp": frozenset({"heartbeat"}),
    "amqps": _TLS_OPTIONS | {"heartbeat"},
}


def _check_options(scheme: str, options: Mapping[str, str]) -> None:
    known = _OPTIONS[scheme]
    if not known.issuperset(options):
        raise UrlInvalid(
            f"has an option that no {scheme}:// has; behind ? there may be {', '.join(sorted(known))}"
        )
    if options.get("ssl_cert_reqs", "required") not in ("required", "optional", "none"):
        raise UrlInvalid("should say ssl_cert_reqs=required, which is the default, optional or none")
    if options.get("ssl_check_hostname", "true") not in ("true", "false"):
        raise UrlInvalid("should say ssl_check_hostname=true, which is the default, or false")
    if not re.fullmatch(r"\d{0,5}", options.get("heartbeat", "") + options.get("virtual_host", "")):
        raise UrlInvalid("should give heartbeat and virtual_host as numbers")


def _any_of(schemes: Sequence[str]) -> str:
    *most, last = (f"{scheme}://" for scheme in schemes)
    return f"{', '.join(most)} or {last}"


def _quoted(text: str, safe: str = "") -> str:
    return quote(text, safe=safe)


def _login(user: str | None, password: str | None, *, hide: bool = True) -> str:
    if user is None and password is None:
        return ""
    secret = "" if password is None else f":{MASK if hide and password else _quoted(password)}"
    return f"{_quoted(user or '')}{secret}@"


def _query(options: Mapping[str, str]) -> str:
    shown_options = (
        f"{key}={MASK if _is_secret(key) else _quoted(value, '/,:')}" for key, value in options.items()
    )
    return f"?{'&'.join(shown_options)}" if options else ""


def _is_secret(key: str) -> bool:
    return key not in _NO_SECRETS and any(word in key.lower() for word in _SECRET_KEYS)
