"""The standard library: the system's errors, Python's own, data formats, processes, mail and files."""

from __future__ import annotations

import asyncio
import binascii
import builtins
import concurrent.futures
import configparser
import csv
import decimal
import errno
import ftplib
import gzip
import http.client
import http.cookies
import imaplib
import io
import json
import lzma
import multiprocessing
import os
import pickle
import poplib
import queue
import shutil
import smtplib
import socket
import ssl
import struct
import subprocess
import tarfile
import threading
import tomllib
import urllib.error
import xml.etree.ElementTree
import xmlrpc.client
import zipfile
import zlib
import zoneinfo
from collections.abc import Iterator
from email.message import Message
from typing import Any

from tests.libraries.cases import Case, caught, caused, family, meanwhile

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"


def os_error(name: str, *path: str) -> OSError:
    number = getattr(errno, name)
    return OSError(number, os.strerror(number), *path)


@family("errno", "errno(3), PEP 3151")
def errno_cases() -> Iterator[Case]:
    for name in ["ECONNABORTED", "ENETDOWN", "EHOSTDOWN", "ENETRESET", "ESHUTDOWN", "ENOTCONN"]:
        yield Case("network/exponential", os_error(name), "transient/exponential")
    yield Case("network/exponential", os_error("EADDRNOTAVAIL"), BOUNDED, "no free local port")
    for name in ["ENOMEM", "ENOBUFS", "ENFILE"]:
        yield Case("resource/linear", os_error(name), "resource/exponential")
    yield Case("transient/immediate", os_error("EINTR"), "transient/exponential")
    yield Case("transient/immediate", BlockingIOError("no bytes"), BOUNDED, "no number at all")
    for name in ["EBUSY", "ETXTBSY", "EDEADLK", "ESTALE", "EADDRINUSE", "ENOLCK"]:
        yield Case("transient/exponential", os_error(name, "/data/x"), f"{BOUNDED} transient/immediate")
    yield Case("transient/exponential", os_error("EIO", "/dev/sdb1"), f"{BOUNDED} permanent/never")
    for name in ["EPERM", "EROFS"]:
        yield Case("permission/never", os_error(name, "/etc/app"), "permanent/never")
    for name in ["EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ELOOP", "EXDEV", "EBADF", "ENOSYS", "ENODEV", "ENXIO", "ESRCH", "ECHILD", "ENOEXEC", "ENOTSUP", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ENOTSOCK", "EISCONN", "EMLINK", "ESPIPE", "ENOTTY"]:
        yield Case("permanent/never", os_error(name, "/data/x"), "validation/never")
    for name in ["EINVAL", "EFBIG", "E2BIG", "EILSEQ", "EMSGSIZE", "ERANGE", "EOVERFLOW", "EFAULT"]:
        yield Case("validation/never", os_error(name), "permanent/never")
    yield Case("permission/never", PermissionError("the share is read-only"))
    yield Case("permanent/never", FileNotFoundError(2, "No such file", "/srv/retry/503.txt"), NEVER, "digits")
    yield Case("permanent/never", FileNotFoundError("timeout.cfg"), NEVER, "a word in a name")
    yield Case("permanent/never", IsADirectoryError("/connection"), NEVER)
    yield Case("network/exponential", ConnectionRefusedError(), "transient/exponential", "no text")
    yield Case("network/exponential", BrokenPipeError(), "transient/exponential")
    yield Case("network/exponential", ConnectionAbortedError("aborted"), "transient/exponential")


@family("socket", "getaddrinfo(3), the socket module")
def socket_cases() -> Iterator[Case]:
    yield Case(
        "network/exponential", socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
        "transient/exponential",
    )  # fmt: skip
    yield Case(
        "permanent/never", socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
        "network/exponential validation/never",
    )  # fmt: skip
    yield Case("permanent/never", socket.gaierror(socket.EAI_SERVICE, "Servname not supported"), NEVER)
    yield Case("resource/linear", socket.gaierror(socket.EAI_MEMORY, "Memory allocation failure"), BOUNDED)
    yield Case("network/exponential", socket.timeout("timed out"), "transient/exponential")  # noqa: UP041
    yield Case("network/exponential", socket.herror(2, "Host name lookup failure"), "transient/exponential")
    yield Case(
        "network/exponential",
        caught(lambda: socket.create_connection(("127.0.0.1", 1), timeout=2)), "transient/exponential",
    )  # fmt: skip
    yield Case("permanent/never", caught(lambda: socket.getaddrinfo("127.0.0.1", "no-such-service")), NEVER)
    yield Case("validation/never", caught(lambda: socket.socket().connect(("127.0.0.1", 70000))), NEVER)
    yield Case("permanent/never", caught(lambda: socket.socket().connect(("/tmp/x",))), NEVER)


@family("ssl", "OpenSSL reason codes, RFC 8446 section 6")
def ssl_cases() -> Iterator[Case]:
    yield Case("network/exponential", ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), BACKOFF)
    yield Case("network/exponential", ssl.SSLZeroReturnError(6, "TLS/SSL connection has been closed"), BACKOFF)
    yield Case("network/exponential", ssl.SSLError("The handshake operation timed out"), BACKOFF)
    yield Case("network/exponential", ssl.SSLError(1, "[SSL] record layer failure (_ssl.c:2590)"), BACKOFF)
    yield Case(
        "network/exponential",
        ssl.SSLError(1, "[SSL: DECRYPTION_FAILED_OR_BAD_RECORD_MAC] decryption failed or bad record mac"),
        f"{BACKOFF} network/immediate",
    )
    for text in (
        "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca (_ssl.c:2590)",
        "[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] sslv3 alert certificate expired (_ssl.c:2590)",
        "[SSL: SSLV3_ALERT_BAD_CERTIFICATE] sslv3 alert bad certificate",
        "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required",
        "[SSL: SSLV3_ALERT_HANDSHAKE_FAILURE] sslv3 alert handshake failure (_ssl.c:1006)",
        "[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version",
        "[SSL: NO_SHARED_CIPHER] no shared cipher", "[SSL: UNSUPPORTED_PROTOCOL] unsupported protocol",
        "[SSL: TLSV1_UNRECOGNIZED_NAME] tlsv1 unrecognized name",
        "[SSL: UNSAFE_LEGACY_RENEGOTIATION_DISABLED] unsafe legacy renegotiation disabled",
        "[SSL: DH_KEY_TOO_SMALL] dh key too small", "[SSL] PEM lib (_ssl.c:4149)",
        "[X509: KEY_VALUES_MISMATCH] key values mismatch",
    ):  # fmt: skip
        yield Case("permanent/never", ssl.SSLError(1, text), "permission/never validation/never")
    yield Case(
        "permanent/never",
        ssl.SSLCertVerificationError("Hostname mismatch, certificate is not valid for 'db.example.com'."),
        NEVER,
    )
    yield Case("permanent/never", caught(lambda: ssl.create_default_context(cafile=__file__)), NEVER)
    yield Case("permanent/never", caught(lambda: ssl.create_default_context(cafile="/no/such.pem")), NEVER)


def raiser(code: str) -> BaseException:
    return caught(lambda: exec(code, {}))


@family("builtins", "https://docs.python.org/3/library/exceptions.html")
def builtin_cases() -> Iterator[Case]:
    for code in (
        "[][3]", "undefined", "def f():\n  print(x)\n  x = 1\nf()", "import no_such_module",
        "from os import nothing", "1 +", "if 1:\nprint()", "next(iter([]))", "2.0 ** 100000",
        "(lambda: 0)(1)", "None.connection", "len(5)", "1 << (1 << 70)", "assert 0, 'rate limit exceeded'",
        "{}['timeout']", "f = lambda: f()\nf()", "raise NotImplementedError('retry later')",
        "import weakref\nclass A: pass\nprint(weakref.proxy(A()).x)", "class A(int, str): pass",
        "from abc import ABC, abstractmethod\nclass A(ABC):\n  @abstractmethod\n  def f(self): ...\nA()",
    ):  # fmt: skip
        yield Case("permanent/never", raiser(code), "validation/never")
    for code in (
        "int('429')+int('x')", "float('connection')", "'\\udc80'.encode()", "b'\\xff'.decode()",
        "import datetime\ndatetime.date.fromisoformat('503')", "import uuid\nuuid.UUID('timeout')",
        "raise ValueError('port 8503 given twice')", "raise ValueError('invalid timeout value')",
        "raise ValueError('too many connections in the list: at most 10')", "import ipaddress\nipaddress.ip_address('500')",
        "import base64\nbase64.b64decode('a', validate=True)", "raise UnicodeError('label empty or too long')",
    ):  # fmt: skip
        yield Case("validation/never", raiser(code), "permanent/never")
    for exc in (
        KeyError("connection"), AttributeError("module 'requests' has no attribute 'retry'"),
        TypeError("a bytes-like object is required, not 'ConnectionError'"), BufferError("exports exist"),
        SystemError("bad argument"), builtins.ReferenceError("gone"), LookupError("unknown encoding: timeout"),
        StopAsyncIteration(), FloatingPointError("x"), ImportError("cannot import name 'network'"),
    ):  # fmt: skip
        yield Case("permanent/never", exc, "validation/never")
    yield Case("resource/linear", MemoryError("Unable to allocate 7.5 GiB"), "resource/exponential")
    yield Case("permanent/never", meanwhile(TypeError("x"), ConnectionResetError(104, "reset")), NEVER)
    yield Case("network/exponential", meanwhile(RuntimeError("upload"), ConnectionResetError(104, "reset")))
    yield Case("validation/never", caused(RuntimeError("import failed"), ValueError("bad row")), NEVER)
    yield Case("permission/never", caused(Exception("sync failed"), PermissionError(13, "denied")), NEVER)
    yield Case("network/exponential", caused(Exception("a"), caused(Exception("b"), TimeoutError())))
    yield Case("transient/exponential", RuntimeError("dictionary changed size during iteration"), NEVER)
    yield Case("transient/exponential", Exception("something odd"), "permanent/never validation/never")
    yield Case("transient/exponential", RuntimeError("Service Unavailable, please try again later"), BACKOFF)
    yield Case("network/exponential", RuntimeError("connect ECONNREFUSED: Connection refused"), BACKOFF)
    yield Case("resource/exponential", RuntimeError("API answered: 429 Too Many Requests"), "resource/linear")
    yield Case("network/exponential", EOFError(), f"{BACKOFF} permanent/never validation/never")
    yield Case("transient/immediate", KeyboardInterrupt(), "transient/exponential permanent/never")
    yield Case("permanent/never", SystemExit("bad usage"), "validation/never transient/exponential")


@family("groups", "https://docs.python.org/3/library/exceptions.html#exception-groups")
def group_cases() -> Iterator[Case]:
    yield Case("permission/never", ExceptionGroup("g", [TimeoutError(), PermissionError(13, "x")]), NEVER)
    yield Case("network/exponential", ExceptionGroup("g", [ExceptionGroup("h", [TimeoutError()])]))
    yield Case("permanent/never", ExceptionGroup("g", [ExceptionGroup("h", [KeyError("x")])]), NEVER)
    yield Case("resource/linear", ExceptionGroup("g", [OSError(errno.ENOSPC, "full"), TimeoutError()]), BOUNDED)


@family("formats", "the modules' manuals")
def format_cases() -> Iterator[Case]:
    def load(text: str) -> BaseException:
        return caught(lambda: json.loads(text))

    yield Case("validation/never", load("<html>502 Bad Gateway</html>"), "permanent/never")
    yield Case("validation/never", load("{'a': 1}"), "permanent/never")
    cut = "validation/never transient/exponential permanent/never"
    yield Case("network/exponential", load('{"items": [{"id": 1}, {"id'), cut, "cut off: not to be final")
    yield Case("network/exponential", load('[{"id": 1},'), cut, "cut off")
    yield Case("permanent/never", caught(lambda: json.dumps({"x": object()})), "validation/never")
    for action in (
        lambda: struct.unpack(">I", b"ab"), lambda: binascii.unhexlify("xyz"), lambda: zlib.decompress(b"nope"),
        lambda: zipfile.ZipFile(io.BytesIO(b"no zip")), lambda: gzip.GzipFile(fileobj=io.BytesIO(b"nope")).read(),
        lambda: lzma.decompress(b"nope"), lambda: tarfile.open(fileobj=io.BytesIO(b"nope")),
        lambda: xml.etree.ElementTree.fromstring("<a>"), lambda: configparser.ConfigParser().read_string("x=1"),
        lambda: configparser.ConfigParser().get("timeout", "x"), lambda: tomllib.loads("a ="),
        lambda: pickle.loads(b"nope"), lambda: pickle.dumps(lambda: 0), lambda: decimal.Decimal("503x"),
        lambda: decimal.Decimal(1) / 0, lambda: decimal.Decimal(10) ** 10**18, lambda: (next(csv.reader(["\0a"], strict=True)) and None) or 1 / 0,
        lambda: http.cookies.SimpleCookie().__setitem__("a b", "c"), lambda: zoneinfo.ZoneInfo("No/Where"),
        lambda: io.BytesIO().fileno(), lambda: shutil.copyfile(__file__, __file__),
        lambda: shutil.unpack_archive("x.unknown"), lambda: json.loads("[" * 100_000),
    ):  # fmt: skip
        yield Case("validation/never", caught(action), "permanent/never")
    yield Case(
        "validation/never",
        caught(lambda: gzip.decompress(gzip.compress(b"x" * 999)[:-9])),
        f"{BACKOFF} permanent/never",
    )


@family("concurrency", "asyncio, concurrent.futures, threading, multiprocessing: the manuals")
def concurrency_cases() -> Iterator[Case]:
    yield Case("transient/exponential", asyncio.CancelledError(), "transient/immediate permanent/never")
    yield Case("transient/exponential", concurrent.futures.CancelledError(), "transient/immediate permanent/never")
    yield Case("permanent/never", asyncio.InvalidStateError("Result is not set."), "validation/never")
    yield Case("permanent/never", concurrent.futures.InvalidStateError("FINISHED: <Future>"), NEVER)
    yield Case("network/exponential", asyncio.IncompleteReadError(b"ab", 10), BACKOFF)
    yield Case("permanent/never", asyncio.LimitOverrunError("Separator not found", 65536), "validation/never")
    yield Case("resource/exponential", asyncio.QueueFull(), BOUNDED)
    yield Case("resource/exponential", queue.Full(), BOUNDED)
    yield Case("resource/exponential", queue.Empty(), f"{BOUNDED} transient/immediate")
    yield Case("transient/exponential", threading.BrokenBarrierError(), f"{BOUNDED} permanent/never")
    yield Case("network/exponential", concurrent.futures.TimeoutError(), "transient/exponential")
    yield Case("transient/exponential", multiprocessing.TimeoutError("late"), BACKOFF)
    yield Case("permission/never", multiprocessing.AuthenticationError("digest sent was rejected"), NEVER)
    yield Case("permanent/never", multiprocessing.BufferTooShort(b"x"), "validation/never")
    yield Case("resource/linear", concurrent.futures.BrokenExecutor("a worker died"), BOUNDED)
    yield Case("transient/exponential", RuntimeError("cannot schedule new futures after shutdown"), f"{NEVER} transient/immediate")


def exited(code: int) -> BaseException:
    return caught(lambda: subprocess.run(["sh", "-c", f"exit {code}"], check=True))


@family("subprocess", "sysexits(3); bash manual, exit status; signal(7)")
def process_cases() -> Iterator[Case]:
    for code, expected, also in (
        (1, "transient/exponential", "permanent/never"), (2, "permanent/never", "validation/never transient/exponential"),
        (64, "permanent/never", "validation/never"), (66, "permanent/never", "validation/never"),
        (67, "permanent/never", "validation/never"), (68, "permanent/never", "validation/never network/exponential"),
        (69, "transient/exponential", BACKOFF), (70, "permanent/never", "transient/exponential"),
        (71, "transient/exponential", f"{BOUNDED} permanent/never"), (72, "permanent/never", ""),
        (73, "permanent/never", "permission/never"), (74, "transient/exponential", BOUNDED),
        (76, "network/exponential", "transient/exponential permanent/never"), (78, "permanent/never", "validation/never"),
        (124, "transient/exponential", BOUNDED), (139, "resource/linear", f"{BOUNDED} permanent/never"),
        (143, "transient/exponential", f"{BOUNDED} transient/immediate"),
        (134, "resource/linear", f"{BOUNDED} permanent/never"), (152, "resource/linear", BOUNDED),
    ):  # fmt: skip
        yield Case(expected, exited(code), also, f"exit code {code}")
    for signal in (1, 2, 6, 11):
        also = f"{BOUNDED} transient/immediate" + (" permanent/never" if signal in {6, 11} else "")
        yield Case("transient/exponential", subprocess.CalledProcessError(-signal, ["job"]), also)
    yield Case("permanent/never", caught(lambda: subprocess.run(["no-such-program-anywhere"])), NEVER)  # noqa: PLW1510
    yield Case("permission/never", caught(lambda: subprocess.run([__file__])), "permanent/never")  # noqa: PLW1510
    yield Case("transient/exponential", subprocess.TimeoutExpired("job", 3), BOUNDED)


@family("mail", "RFC 5321 section 4.2.1, RFC 4954, RFC 3501, RFC 1939")
def mail_cases() -> Iterator[Case]:
    refused = smtplib.SMTPRecipientsRefused
    yield Case("network/exponential", smtplib.SMTPServerDisconnected("Connection unexpectedly closed"), BACKOFF)
    yield Case("network/exponential", smtplib.SMTPServerDisconnected("please run connect() first"), f"{BACKOFF} {NEVER}")
    yield Case("transient/exponential", smtplib.SMTPConnectError(421, b"too busy"), BACKOFF)
    yield Case("permanent/never", smtplib.SMTPConnectError(554, b"no SMTP service here"), NEVER)
    yield Case("permanent/never", smtplib.SMTPHeloError(504, b"not implemented"), NEVER)
    yield Case("permanent/never", smtplib.SMTPNotSupportedError("STARTTLS extension not supported by server."), NEVER)
    yield Case("transient/exponential", smtplib.SMTPDataError(451, b"4.7.1 try again later"), BACKOFF)
    yield Case("validation/never", smtplib.SMTPDataError(552, b"5.3.4 message size exceeds fixed limit"), NEVER)
    yield Case("permanent/never", smtplib.SMTPDataError(550, b"5.7.1 rejected by policy"), NEVER)
    yield Case("validation/never", smtplib.SMTPSenderRefused(553, b"5.1.8 sender rejected", "a@b"), NEVER)
    yield Case("permission/never", smtplib.SMTPSenderRefused(530, b"5.7.0 Must issue a STARTTLS command", "a@b"), NEVER)
    yield Case("resource/exponential", smtplib.SMTPSenderRefused(452, b"4.3.1 out of space", "a@b"), BOUNDED)
    yield Case("transient/exponential", smtplib.SMTPAuthenticationError(454, b"4.7.0 temporary failure"), BACKOFF)
    yield Case("permission/never", smtplib.SMTPAuthenticationError(534, b"5.7.9 application password required"), NEVER)
    yield Case("transient/exponential", refused({"a@b": (550, b"no"), "c@d": (451, b"later")}), BOUNDED)
    yield Case("permanent/never", refused({"a@b": (550, b"no"), "c@d": (551, b"moved")}), NEVER)
    yield Case("resource/exponential", refused({"a@b": (452, b"4.2.2 mailbox full")}), BOUNDED)
    yield Case("validation/never", refused({"a@b": (552, b"5.2.2 mailbox full")}), f"{NEVER} resource/linear")
    yield Case("network/exponential", imaplib.IMAP4.abort("socket error: EOF"), BACKOFF)
    yield Case("permission/never", imaplib.IMAP4.error("b'[AUTHENTICATIONFAILED] Authentication failed.'"), NEVER)
    yield Case("permission/never", poplib.error_proto(b"-ERR [AUTH] Invalid login"), NEVER)
    yield Case("transient/exponential", poplib.error_proto(b"-ERR [IN-USE] mailbox is locked"), BOUNDED)


@family("ftplib", "RFC 959 section 4.2")
def ftp_cases() -> Iterator[Case]:
    yield Case("transient/exponential", ftplib.error_temp("421 Too many connections (8) from this IP"), BOUNDED)
    yield Case("transient/exponential", ftplib.error_temp("450 File busy"), BOUNDED)
    yield Case("resource/exponential", ftplib.error_temp("452 Insufficient storage space"), BOUNDED)
    yield Case("network/exponential", ftplib.error_temp("425 Can't open data connection"), BOUNDED)
    yield Case("permission/never", ftplib.error_perm("530 Login incorrect."), NEVER)
    yield Case("permanent/never", ftplib.error_perm("550 Failed to open file."), NEVER)
    yield Case("permanent/never", ftplib.error_perm("553 Could not create file."), NEVER)
    yield Case("validation/never", ftplib.error_perm("501 Syntax error in parameters"), NEVER)
    yield Case("permanent/never", ftplib.error_perm("552 Exceeded storage allocation"), f"{NEVER} resource/linear")
    yield Case("network/exponential", ftplib.error_proto("garbage"), f"{BACKOFF} permanent/never")


def http_error(code: int, headers: dict[str, str] | None = None, body: bytes = b"") -> urllib.error.HTTPError:
    held = Message()
    for name, value in (headers or {}).items():
        held[name] = value
    return urllib.error.HTTPError("https://api.example.com/v1", code, "told", held, io.BytesIO(body))


@family("urllib", "RFC 9110 section 15; the urllib manual")
def urllib_cases() -> Iterator[Case]:
    yield Case("permission/never", http_error(403))
    yield Case("permanent/never", http_error(404), "validation/never")
    yield Case("resource/exponential", http_error(429, {"Retry-After": "9"}), "resource/linear")
    yield Case("transient/exponential", http_error(500), BACKOFF)
    yield Case("transient/exponential", http_error(503), BACKOFF)
    yield Case("network/exponential", urllib.error.URLError(socket.gaierror(-3, "Temporary failure")), BACKOFF)
    yield Case("permanent/never", urllib.error.URLError(socket.gaierror(-2, "Name not known")), "network/exponential")
    yield Case("network/exponential", urllib.error.URLError(ConnectionRefusedError(111, "refused")))
    yield Case("network/exponential", urllib.error.URLError(TimeoutError("timed out")), BACKOFF)
    yield Case("network/exponential", urllib.error.URLError("timed out"), BACKOFF)
    certificate = ssl.SSLCertVerificationError(1, "certificate verify failed: certificate has expired")
    yield Case("permanent/never", urllib.error.URLError(certificate), NEVER)
    opener: Any = __import__("urllib.request", fromlist=["urlopen"]).urlopen
    yield Case("validation/never", caught(lambda: opener("gopher://example.com")), "permanent/never")
    yield Case("validation/never", caught(lambda: opener("http:///path")), "permanent/never")
    yield Case("validation/never", caught(lambda: opener("no url")), "permanent/never")
    yield Case("permanent/never", caught(lambda: opener("file:///no/such/file")), NEVER)
    yield Case("network/exponential", http.client.IncompleteRead(b"abc", 20), BACKOFF)
    yield Case("network/exponential", http.client.BadStatusLine("\x15\x03"), f"{BACKOFF} permanent/never")
    yield Case("validation/never", http.client.InvalidURL("URL can't contain control characters."), NEVER)
    yield Case("permanent/never", http.client.CannotSendHeader(), "validation/never network/exponential transient/exponential")
    yield Case("transient/exponential", xmlrpc.client.ProtocolError("h/RPC", 503, "Unavailable", {}), BACKOFF)
    yield Case("permission/never", xmlrpc.client.ProtocolError("h/RPC", 401, "Unauthorized", {}))
