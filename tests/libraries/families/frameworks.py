"""SSH, DNS, LDAP, data checkers, tables and pictures, and libraries that retry by themselves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from tests.libraries.cases import Case, caught, family

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"


@family("paramiko", "paramiko.ssh_exception; RFC 4254 section 5.1")
def ssh_cases() -> Iterator[Case]:
    import paramiko
    from paramiko import ssh_exception as ps

    key = paramiko.RSAKey.generate(1024)
    yield Case("permanent/never", ps.BadHostKeyException("host", key, key), NEVER)
    yield Case("permission/never", ps.PasswordRequiredException("Private key file is encrypted"), NEVER)
    yield Case("permission/never", ps.BadAuthenticationType("Bad authentication type", ["publickey"]), NEVER)
    yield Case("permission/never", ps.ChannelException(1, "Administratively prohibited"), NEVER)
    yield Case("network/exponential", ps.ChannelException(2, "Connect failed"), BACKOFF)
    yield Case("resource/linear", ps.ChannelException(4, "Resource shortage"), BOUNDED)
    yield Case("network/exponential", ps.ProxyCommandFailure("nc host 22", "Connection refused"), BACKOFF)
    yield Case("network/exponential", ps.SSHException("No existing session"), BACKOFF)
    yield Case("network/exponential", ps.SSHException("Timeout opening channel."), BACKOFF)
    yield Case("network/exponential", ps.SSHException("Server connection dropped"), BACKOFF)
    yield Case("permanent/never", ps.SSHException("Server '[host]:22' not found in known_hosts"), NEVER)
    yield Case("permanent/never", ps.SSHException("not a valid RSA private key file"), NEVER)
    yield Case("permanent/never", ps.IncompatiblePeer("Incompatible ssh peer (no acceptable kex algorithm)"), NEVER)
    yield Case("permanent/never", ps.ConfigParseError("Unparsable line"), NEVER)
    yield Case("permanent/never", FileNotFoundError(2, "No such file"), NEVER, "SFTP: no such file")


@family("dnspython", "dns.resolver, dns.exception")
def dns_cases() -> Iterator[Case]:
    import dns.exception
    import dns.name
    import dns.query
    import dns.resolver

    yield Case("permanent/never", dns.resolver.NXDOMAIN(), f"{NEVER} network/exponential")
    yield Case("permanent/never", dns.resolver.YXDOMAIN(), NEVER)
    yield Case("network/exponential", dns.resolver.NoNameservers(), BACKOFF)
    yield Case("network/exponential", dns.resolver.LifetimeTimeout(timeout=5, errors=[]), BACKOFF)
    yield Case("network/exponential", dns.exception.Timeout(timeout=5), BACKOFF)
    yield Case("validation/never", caught(lambda: dns.name.from_text("a" * 64 + ".example")), NEVER)
    yield Case("validation/never", caught(lambda: dns.name.from_text("a..b")), NEVER)
    yield Case("network/exponential", dns.query.BadResponse(), BACKOFF)


@family("ldap3", "RFC 4511 section 4.1.9, result codes")
def ldap_cases() -> Iterator[Case]:
    from ldap3.core import exceptions as lx

    for name, expected, also in (
        ("LDAPBindError", "permission/never", NEVER), ("LDAPSocketOpenError", "network/exponential", BACKOFF), ("LDAPInvalidCredentialsResult", "permission/never", ""),
        ("LDAPNoSuchObjectResult", "permanent/never", NEVER), ("LDAPBusyResult", "transient/exponential", BOUNDED), ("LDAPUnavailableResult", "transient/exponential", BOUNDED),
        ("LDAPTimeLimitExceededResult", "transient/exponential", BOUNDED), ("LDAPInsufficientAccessRightsResult", "permission/never", ""),
        ("LDAPEntryAlreadyExistsResult", "validation/never", NEVER), ("LDAPInvalidDnError", "validation/never", NEVER), ("LDAPSessionTerminatedByServerError", "network/exponential", BACKOFF),
        ("LDAPServerPoolExhaustedError", "network/exponential", BOUNDED), ("LDAPSocketReceiveError", "network/exponential", BACKOFF), ("LDAPSocketSendError", "network/exponential", BACKOFF),
        ("LDAPInvalidFilterError", "validation/never", NEVER), ("LDAPAttributeError", "validation/never", NEVER), ("LDAPResponseTimeoutError", "network/exponential", BACKOFF),
        ("LDAPCertificateError", "permanent/never", NEVER), ("LDAPAdminLimitExceededResult", "resource/linear", f"{BOUNDED} {NEVER}"), ("LDAPObjectClassViolationResult", "validation/never", NEVER),
    ):  # fmt: skip
        yield Case(expected, getattr(lx, name)("told"), also, name)


@family("pydantic", "the class trees of pydantic, jsonschema, PyYAML")
def checking_cases() -> Iterator[Case]:
    import jsonschema
    import pydantic
    import pydantic_core
    import yaml

    yield Case("validation/never", caught(lambda: pydantic.TypeAdapter(dict[str, int]).validate_json('{"timeout": "x"}')), NEVER)
    yield Case("permanent/never", caught(lambda: pydantic.create_model("M", x=(object(), ...))), NEVER)
    yield Case("validation/never", caught(lambda: pydantic_core.to_json(object())), NEVER)
    yield Case("validation/never", caught(lambda: jsonschema.validate("x", {"type": "integer"})), NEVER)
    yield Case("permanent/never", caught(lambda: jsonschema.validate("x", {"type": "nonsense"})), NEVER)
    yield Case("permanent/never", caught(lambda: jsonschema.validate("x", {"$ref": "#/no/where"})), NEVER)
    for text in ("a: [", "a: b: c", "!!python/object:os.system x", "\t- x", "a: *missing"):
        yield Case("validation/never", caught(lambda text=text: yaml.safe_load(text)), NEVER)


@family("tenacity", "tenacity: RetryError holds the last attempt")
def tenacity_cases() -> Iterator[Case]:
    import requests
    import tenacity

    def spent(exc: BaseException) -> BaseException:
        @tenacity.retry(stop=tenacity.stop_after_attempt(2))
        def call() -> None:
            raise exc

        return caught(call)

    response = requests.Response()
    response.status_code = 429
    response.headers["Retry-After"] = "17"
    yield Case("network/exponential", spent(ConnectionError("x")), BACKOFF)
    yield Case("validation/never", spent(ValueError("x")), NEVER)
    yield Case("permission/never", spent(PermissionError(13, "x")), NEVER)
    yield Case("resource/exponential", spent(caught(response.raise_for_status)), BOUNDED)


@family("pandas", "the class trees of pandas and NumPy")
def table_cases() -> Iterator[Case]:
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({"a": [1]})
    yield Case("validation/never", caught(lambda: pd.read_csv(io.StringIO("a,b\n1,2,3\n4,5,6,7\n"), index_col=False, on_bad_lines="error")), NEVER)
    yield Case("validation/never", caught(lambda: pd.read_csv(io.StringIO(""))), NEVER)
    yield Case("validation/never", caught(lambda: pd.to_datetime(["timeout"])), NEVER)
    yield Case("permanent/never", caught(lambda: frame["connection"]), NEVER)
    yield Case("validation/never", caught(lambda: frame.merge(frame, on="b")), NEVER)
    yield Case("validation/never", caught(lambda: frame.merge(frame, left_index=True)), NEVER)
    yield Case("permanent/never", caught(lambda: pd.read_parquet("/no/such")), NEVER)
    yield Case("permanent/never", caught(lambda: frame.astype({"a": "datetime64[nonsense]"})), NEVER)
    yield Case("validation/never", caught(lambda: pd.concat([])), NEVER)
    yield Case("validation/never", pd.errors.MergeError("Merge keys are not unique"), NEVER)
    yield Case("validation/never", pd.errors.ParserError("Error tokenizing data. C error: Expected 3 fields, saw 4"), NEVER)
    yield Case("permanent/never", pd.errors.UnsupportedFunctionCall("x"), NEVER)
    yield Case("permanent/never", pd.errors.DataError("No numeric types to aggregate"), NEVER)
    yield Case("permanent/never", pd.errors.SpecificationError("nested renamer is not supported"), NEVER)
    yield Case("resource/linear", caught(lambda: np.ones((1 << 30, 1 << 20))), BOUNDED)
    yield Case("validation/never", caught(lambda: np.linalg.inv(np.zeros((2, 2)))), NEVER)
    yield Case("validation/never", caught(lambda: np.zeros(2) + np.zeros(3)), NEVER)
    yield Case("validation/never", caught(lambda: np.zeros((2, 2)).sum(axis=5)), NEVER)
    yield Case("validation/never", caught(lambda: np.load(io.BytesIO(b"nope"))), f"{NEVER} network/exponential")


@family("Pillow", "Pillow handbook")
def picture_cases() -> Iterator[Case]:
    from PIL import Image

    yield Case("validation/never", caught(lambda: Image.open(io.BytesIO(b"no picture"))), NEVER, "an OSError")
    yield Case("validation/never", caught(lambda: Image.new("RGBA", (1, 1)).save(io.BytesIO(), "JPEG")), NEVER, "an OSError")
    yield Case("validation/never", Image.DecompressionBombError("Image size exceeds limit, could be a bomb"), NEVER)
    whole: Any = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(whole, "PNG")
    cut = Image.open(io.BytesIO(whole.getvalue()[:500]))
    yield Case("validation/never", caught(cut.load), f"{NEVER} {BACKOFF}")
    yield Case("validation/never", caught(lambda: Image.new("RGB", (1, 1)).save(io.BytesIO(), "NOPE")), NEVER)
