"""Build what a row of the corpus describes with the library itself: its class, its constructor, its codes."""

from __future__ import annotations

import builtins
import concurrent.futures.process
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
URL = "https://api.example.com/v1/items"


def rebuild(row: Row) -> BaseException:
    """Return the exception of a row. Raises ImportError when its library is not installed."""
    facts: dict[str, Any] = json.loads(row["attributes"] or "{}")
    kind = None if row["library"] == "custom" else class_of(row["class"])
    make = SPECIAL.get(row["class"]) or BY_LIBRARY: dict[str, Make] = {
    cls.__module__}.{cls.__qualname__}" def plain(kind: Any, message: str, _facts: dict[str, Any]) -> BaseException: made: BaseException = kind(message) return made # --- HTTP --------------------------------------------------------------------------------------------- def requests_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: import http.client import requests import urllib3.exceptions as ux if "status" not in facts: inner: dict[str, Exception] = { "RemoteDisconnected": http.client.RemoteDisconnected("closed without response"),
    "ConnectionResetError": ConnectionResetError(104,
    "Connection reset by peer"),
    "IncompleteRead": http.client.IncompleteRead(b"abc", 97), } found = next((cause for name, cause in inner.items() if name in message), None) made: BaseException = kind(ux.ProtocolError(message, found)) if found else kind(message) return made response = requests.Response() response.status_code, response.url, response._content = ( facts["status"], URL, facts.get("body",
    "").encode(), ) response.reason = message.partition(": ")[2].partition(" for url")[0] response.headers.update(facts.get("headers", {})) return caught(response.raise_for_status) def max_retries(kind: Any, message: str, _facts: dict[str, Any]) -> BaseException: import urllib3 reason = ssl.SSLCertVerificationError(1,
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired") made: BaseException = kind(urllib3.HTTPSConnectionPool("api.example.com"),
    "/v1", reason) assert "SSLCertVerificationError" in message return made def urllib_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: made: BaseException = kind(URL, facts["status"], message, email.message.Message(), io.BytesIO()) return made def aiohttp_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: import aiohttp from aiohttp.client_reqrep import ConnectionKey from multidict import CIMultiDict, CIMultiDictProxy import yarl if "status" in facts: info = aiohttp.RequestInfo(yarl.URL(URL),
    "GET", CIMultiDictProxy(CIMultiDict()), yarl.URL(URL)) headers = CIMultiDictProxy(CIMultiDict(facts.get("headers", {}))) made: BaseException = kind(info, (), status=facts["status"], message=message, headers=headers) return made if kind is aiohttp.ClientConnectorError: key = ConnectionKey("api.example.com", 443, True, True, None, None, None) return aiohttp.ClientConnectorError(key, OSError(111,
    "Connect call failed")) return kind(message) if message else kind() # type: ignore[no-any-return] # --- the standard library ----------------------------------------------------------------------------- def standard(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: made: BaseException if "errno" in facts: made = ( OSError(facts["errno"], message) if kind.__module__ == "builtins" else kind(facts["errno"], message) ) elif "returncode" in facts: made = kind(facts["returncode"], ["convert",
    "in.png"]) elif "members" in facts: made = ExceptionGroup( "unhandled errors in a TaskGroup", [class_of(m)("inner") for m in facts["members"]] ) elif kind is UnicodeDecodeError: return caught(b"\xff".decode) elif kind is json.JSONDecodeError: return caught(lambda: json.loads("")) elif kind is decimal.InvalidOperation: return caught(lambda: decimal.Decimal("no number")) elif kind is concurrent.futures.process.BrokenProcessPool or kind.__module__ != "builtins": made = kind(["convert",
    "in.png"], 30) if kind.__name__ == "TimeoutExpired" else kind(message) else: made = kind(message) if message else kind() return made def chain(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: outer: BaseException = kind(message) if "cause" in facts: return caused(outer, class_of(facts["cause"])("inner")) return meanwhile(outer, class_of(facts["context"].removeprefix("builtins."))("inner")) class PaymentConnectionSettingsError(ValueError): pass class TransientError(Exception): pass class ThreeArgs(Exception): def __init__(self, code: str, where: str, payload: object) -> None: self.code, self.where, self.payload = code, where, payload # --- databases and brokers ---------------------------------------------------------------------------- def psycopg2_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: exc: Any = kind(f"{message}\n") if facts.get("pgcode"): exc.__setstate__({"pgcode": facts["pgcode"],
    "pgerror": f"ERROR: {message}\n"}) return exc # type: ignore[no-any-return] def alchemy_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: if "orig" not in facts: return plain(kind, message, facts) orig = class_of(facts["orig"].removeprefix("builtins."))(message) made: BaseException = ( kind(message,
    "UPDATE t SET a=1", {}, orig) if kind.__name__ == "StatementError" else kind("UPDATE t SET a=1", {}, orig) ) return made def amqp_error(kind: Any, message: str, _facts: dict[str, Any]) -> BaseException: made: BaseException = kind(message, (50, 10)) return made def moved(kind: Any, _message: str, _facts: dict[str, Any]) -> BaseException: made: BaseException = kind("3999 203.0.113.7:6381") return made def mongo_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: details = {name: facts[name] for name in ("errorLabels",) if name in facts} made: BaseException = kind(message, facts["code"], details) if "code" in facts else kind(message) return made # --- services ----------------------------------------------------------------------------------------- def botocore_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: if "code" in facts: meta = {"HTTPStatusCode": facts["status"],
    "HTTPHeaders": {}} made: BaseException = kind( {"Error": {"Code": facts["code"],
    "Message": message},
    "ResponseMetadata": meta},
    "Call" ) else: made = kind(endpoint_url=URL, report=message) return made def grpc_error(kind: Any, _message: str, facts: dict[str, Any]) -> BaseException: import grpc from grpc import _channel code = getattr(grpc.StatusCode, facts["code"]) made: BaseException = kind(_channel._RPCState((), (), (), code, facts["details"])) # type: ignore[arg-type] return made def google_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: made: BaseException = kind(message, errors=[{"reason": facts["reason"]}]) return made def stripe_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: if kind.__name__ == "SignatureVerificationError": made: BaseException = kind(message,
    "t=1,v1=00") else: made = kind(message, http_status=facts["status"], headers=facts.get("headers")) return made def openai_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: import openai from tests.libraries.families.saas import llm, unreached if "status" not in facts: return unreached(openai, kind.__name__) error = {"message": message,
    "type": facts["type"],
    "param": None,
    "code": facts["code"]} return llm(openai, kind.__name__, facts["status"], {"error": error}, facts.get("headers")) def slack_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: from slack_sdk.web import SlackResponse data = {"ok": False,
    "error": facts["error"]} response = SlackResponse( client=None, http_verb="POST", api_url="https://slack.com/api/x", req_args={}, data=data, headers=facts.get("headers", {}), status_code=facts["status"], ) # fmt: skip made: BaseException = kind(message.partition("\n")[0], response) return made def azure_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: made: BaseException = kind(message) if "status_code" in facts: made.status_code = facts["status_code"] # type: ignore[attr-defined] return made def search_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: import elastic_transport error = message.split("'")[1] meta = elastic_transport.ApiResponseMeta( status=facts["status"], http_version="1.1", headers=elastic_transport.HttpHeaders(), duration=0.1, node=None, ) # fmt: skip made: BaseException = kind( message=error, meta=meta, body={"error": {"type": error},
    "status": facts["status"]} ) return made def opensearch_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: told = { "error": {"reason": "index [logs] blocked by: [FORBIDDEN/12/index read-only / allow delete (api)];"} } made: BaseException = kind(facts["status_code"], message.split("'")[1], told) return made def kafka_error(kind: Any, message: str, _facts: dict[str, Any]) -> BaseException: made: BaseException = kind() if message == kind.__name__ else kind(message.partition(": ")[2]) return made def ssh_error(kind: Any, message: str, _facts: dict[str, Any]) -> BaseException: if kind.__name__ == "NoValidConnectionsError": made: BaseException = kind({("203.0.113.5", 22): ConnectionRefusedError(111,
    "Connection refused")}) return made return plain(kind, message, {}) def smtp_error(kind: Any, message: str, facts: dict[str, Any]) -> BaseException: if "recipients" in facts: made: BaseException = kind( {who: (code, text.encode()) for who, (code, text) in facts["recipients"].items()} ) elif kind.__name__ == "SMTPSenderRefused": made = kind(facts["smtp_code"], message.encode(),
    "app@example.com") else: made = kind(facts["smtp_code"], message.encode()) return made def pydantic_error(_kind: Any, _message: str, _facts: dict[str, Any]) -> BaseException: import pydantic model = pydantic.create_model("Order", age=(int, ...)) return caught(lambda: model(age="x")) Make = Callable[[Any, str, dict[str, Any]], BaseException] BY_LIBRARY: dict[str, Make] = { "requests": requests_error,
    "aiohttp": aiohttp_error,
    "stdlib": standard,
    "chain": chain,
    "psycopg2": psycopg2_error,
    "sqlalchemy": alchemy_error,
    "amqp": amqp_error,
    "pymongo": mongo_error,
    "botocore": botocore_error,
    "grpcio": grpc_error,
    "google-api-core": google_error,
    "stripe": stripe_error,
    "openai": openai_error,
    "slack_sdk": slack_error,
    "azure-core": azure_error,
    "elasticsearch": search_error,
    "opensearch-py": opensearch_error,
    "kafka": kafka_error,
    "paramiko": ssh_error,
    "smtplib": smtp_error,
    "pydantic": pydantic_error,
}
SPECIAL: dict[str, Make] = {
    "urllib3.exceptions.MaxRetryError": max_retries,
    "urllib.error.HTTPError": urllib_error,
    "redis.exceptions.MovedError": moved,
    "app.errors.PaymentConnectionSettingsError": lambda _k, m, _f: PaymentConnectionSettingsError(m),
    "app.errors.TransientError": lambda _k, m, _f: TransientError(m),
    "app.errors.ThreeArgs": lambda _k, _m, _f: ThreeArgs("E42", "stage-2", {"k": 1}),
}
