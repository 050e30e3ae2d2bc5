"""Build what a row of the corpus describes with the library itself: its class, its constructor, its codes."""

from __future__ import annotations

import builtins
import decimal
import email.message
import importlib
import io
import json
import ssl
from collections.abc import Callable
from typing import Any

from tests.libraries.cases import caught, caused, meanwhile

Row = dict[str, str]
Facts = dict[str, Any]
URL = "https://api.example.com/v1/items"
READ_ONLY = "index [logs] blocked by: [FORBIDDEN/12/index read-only / allow delete (api)];"


def rebuild(row: Row) -> BaseException:
    """Return the exception of a row. Raises ImportError when its library is not installed."""
    facts: Facts = json.loads(row["attributes"] or "{}")
    kind = None if row["library"] == "custom" else class_of(row["class"])
    make = SPECIAL.get(row["class"]) or BY_LIBRARY.get(row["library"]) or plain
    return make(kind, row["message"], facts)


def class_of(name: str) -> Any:
    module, _, cls = name.removeprefix("builtins.").rpartition(".")
    return getattr(importlib.import_module(module), cls) if module else getattr(builtins, cls)


def plain(kind: Any, message: str, _facts: Facts) -> Any:
    return kind(message)


# --- HTTP ---------------------------------------------------------------------------------------------


def requests_error(kind: Any, message: str, facts: Facts) -> Any:
    import http.client

    import requests
    import urllib3.exceptions as ux

    if "status" not in facts:
        inner: dict[str, Exception] = {
            "RemoteDisconnected": http.client.RemoteDisconnected("closed without response"),
            "ConnectionResetError": ConnectionResetError(104, "Connection reset by peer"),
            "IncompleteRead": http.client.IncompleteRead(b"abc", 97),
        }
        found = next((cause for name, cause in inner.items() if name in message), None)
        return kind(ux.ProtocolError(message, found)) if found else kind(message)
    response = requests.Response()
    response.status_code, response.url = facts["status"], URL
    response._content = facts.get("body", "").encode()
    response.reason = message.partition(": ")[2].partition(" for url")[0]
    response.headers.update(facts.get("headers", {}))
    return caught(response.raise_for_status)


def max_retries(kind: Any, message: str, _facts: Facts) -> Any:
    import urllib3

    assert "SSLCertVerificationError" in message
    reason = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired")
    return kind(urllib3.HTTPSConnectionPool("api.example.com"), "/v1", reason)


def urllib_error(kind: Any, message: str, facts: Facts) -> Any:
    return kind(URL, facts["status"], message, email.message.Message(), io.BytesIO())


def aiohttp_error(kind: Any, message: str, facts: Facts) -> Any:
    import aiohttp
    import yarl
    from aiohttp.client_reqrep import ConnectionKey
    from multidict import CIMultiDict, CIMultiDictProxy

    if "status" in facts:
        url = yarl.URL(URL)
        info = aiohttp.RequestInfo(url, "GET", CIMultiDictProxy(CIMultiDict()), url)
        headers = CIMultiDictProxy(CIMultiDict(facts.get("headers", {})))
        return kind(info, (), status=facts["status"], message=message, headers=headers)
    if kind is aiohttp.ClientConnectorError:
        key = ConnectionKey("api.example.com", 443, True, True, None, None, None)
        return kind(key, OSError(111, "Connect call failed"))
    return kind(message) if message else kind()


# --- the standard library -----------------------------------------------------------------------------


def standard(kind: Any, message: str, facts: Facts) -> Any:
    if "errno" in facts:
        # OSError chooses its subclass by the number, as the system's calls do.
        return (OSError if kind.__module__ == "builtins" else kind)(facts["errno"], message)
    if "returncode" in facts:
        return kind(facts["returncode"], ["convert", "in.png"])
    if "members" in facts:
        return kind("unhandled errors in a TaskGroup", [class_of(m)("inner") for m in facts["members"]])
    provoked: dict[str, Callable[[], object]] = {
        "UnicodeDecodeError": b"\xff".decode,
        "JSONDecodeError": lambda: json.loads(""),
        "InvalidOperation": lambda: decimal.Decimal("no number"),
    }
    if kind.__name__ in provoked:
        return caught(provoked[kind.__name__])
    if kind.__name__ == "TimeoutExpired":
        return kind(["convert", "in.png"], 30)
    return kind(message) if message else kind()


def chain(kind: Any, message: str, facts: Facts) -> Any:
    outer = kind(message)
    if "cause" in facts:
        return caused(outer, class_of(facts["cause"])("inner"))
    return meanwhile(outer, class_of(facts["context"])("inner"))


class PaymentConnectionSettingsError(ValueError):
    pass


class TransientError(Exception):
    pass


class ThreeArgs(Exception):
    def __init__(self, code: str, where: str, payload: object) -> None:
        self.code, self.where, self.payload = code, where, payload


# --- databases and brokers ----------------------------------------------------------------------------


def psycopg2_error(kind: Any, message: str, facts: Facts) -> Any:
    exc = kind(f"{message}\n")
    if facts.get("pgcode"):
        exc.__setstate__({"pgcode": facts["pgcode"], "pgerror": f"ERROR:  {message}\n"})
    return exc


def alchemy_error(kind: Any, message: str, facts: Facts) -> Any:
    if "orig" not in facts:
        return kind(message)
    orig = class_of(facts["orig"])(message)
    statement = ("UPDATE t SET a=1", {}, orig)
    return kind(message, *statement) if kind.__name__ == "StatementError" else kind(*statement)


def amqp_error(kind: Any, message: str, _facts: Facts) -> Any:
    return kind(message, (50, 10))


def mongo_error(kind: Any, message: str, facts: Facts) -> Any:
    details = {name: facts[name] for name in ("errorLabels",) if name in facts}
    return kind(message, facts["code"], details) if "code" in facts else kind(message)


def kafka_error(kind: Any, message: str, _facts: Facts) -> Any:
    return kind() if message == kind.__name__ else kind(message.partition(": ")[2])


# --- services -----------------------------------------------------------------------------------------


def botocore_error(kind: Any, message: str, facts: Facts) -> Any:
    if "code" not in facts:
        return kind(endpoint_url=URL, report=message)
    meta = {"HTTPStatusCode": facts["status"], "HTTPHeaders": {}}
    return kind({"Error": {"Code": facts["code"], "Message": message}, "ResponseMetadata": meta}, "Call")


def grpc_error(kind: Any, _message: str, facts: Facts) -> Any:
    import grpc
    from grpc import _channel

    code = getattr(grpc.StatusCode, facts["code"])
    return kind(_channel._RPCState((), (), (), code, facts["details"]))


def google_error(kind: Any, message: str, facts: Facts) -> Any:
    return kind(message, errors=[{"reason": facts["reason"]}])


def stripe_error(kind: Any, message: str, facts: Facts) -> Any:
    if kind.__name__ == "SignatureVerificationError":
        return kind(message, "t=1,v1=00")
    return kind(message, http_status=facts["status"], headers=facts.get("headers"))


def openai_error(kind: Any, message: str, facts: Facts) -> Any:
    import openai

    from tests.libraries.families.saas import llm, unreached

    if "status" not in facts:
        return unreached(openai, kind.__name__)
    error = {"message": message, "type": facts["type"], "param": None, "code": facts["code"]}
    return llm(openai, kind.__name__, facts["status"], {"error": error}, facts.get("headers"))


def slack_error(kind: Any, message: str, facts: Facts) -> Any:
    from slack_sdk.web import SlackResponse

    response = SlackResponse(
        client=None,
        http_verb="POST",
        api_url="https://slack.com/api/x",
        req_args={},
        data={"ok": False, "error": facts["error"]},
        headers=facts.get("headers", {}),
        status_code=facts["status"],
    )
    return kind(message.partition("\n")[0], response)


def azure_error(kind: Any, message: str, facts: Facts) -> Any:
    made = kind(message)
    if "status_code" in facts:
        made.status_code = facts["status_code"]
    return made


def search_error(kind: Any, message: str, facts: Facts) -> Any:
    from elastic_transport import ApiResponseMeta, HttpHeaders

    error, status = message.split("'")[1], facts["status"]
    meta = ApiResponseMeta(status=status, http_version="1.1", headers=HttpHeaders(), duration=0.1, node=None)
    return kind(message=error, meta=meta, body={"error": {"type": error}, "status": status})


def opensearch_error(kind: Any, message: str, facts: Facts) -> Any:
    return kind(facts["status_code"], message.split("'")[1], {"error": {"reason": READ_ONLY}})


def ssh_error(kind: Any, message: str, _facts: Facts) -> Any:
    if kind.__name__ == "NoValidConnectionsError":
        return kind({("203.0.113.5", 22): ConnectionRefusedError(111, "Connection refused")})
    return kind(message)


def smtp_error(kind: Any, message: str, facts: Facts) -> Any:
    if "recipients" in facts:
        return kind({who: (code, text.encode()) for who, (code, text) in facts["recipients"].items()})
    sender = ("app@example.com",) if kind.__name__ == "SMTPSenderRefused" else ()
    return kind(facts["smtp_code"], message.encode(), *sender)


def pydantic_error(_kind: Any, _message: str, _facts: Facts) -> Any:
    import pydantic

    model = pydantic.create_model("Order", age=(int, ...))
    return caught(lambda: model(age="x"))


Make = Callable[[Any, str, Facts], Any]
BY_LIBRARY: dict[str, Make] = {
    "requests": requests_error,
    "aiohttp": aiohttp_error,
    "stdlib": standard,
    "chain": chain,
    "psycopg2": psycopg2_error,
    "sqlalchemy": alchemy_error,
    "amqp": amqp_error,
    "pymongo": mongo_error,
    "kafka": kafka_error,
    "botocore": botocore_error,
    "grpcio": grpc_error,
    "google-api-core": google_error,
    "stripe": stripe_error,
    "openai": openai_error,
    "slack_sdk": slack_error,
    "azure-core": azure_error,
    "elasticsearch": search_error,
    "opensearch-py": opensearch_error,
    "paramiko": ssh_error,
    "smtplib": smtp_error,
    "pydantic": pydantic_error,
}
SPECIAL: dict[str, Make] = {
    "urllib3.exceptions.MaxRetryError": max_retries,
    "urllib.error.HTTPError": urllib_error,
    "redis.exceptions.MovedError": lambda kind, _message, _facts: kind("3999 203.0.113.7:6381"),
    "app.errors.PaymentConnectionSettingsError": lambda _kind, m, _facts: PaymentConnectionSettingsError(m),
    "app.errors.TransientError": lambda _kind, message, _facts: TransientError(message),
    "app.errors.ThreeArgs": lambda _kind, _message, _facts: ThreeArgs("E42", "stage-2", {"k": 1}),
}
