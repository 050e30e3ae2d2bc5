"""Own the error tree of the service: every leaf has a stable `code`, its branch the exit code of the CLI.

    RemandError                      (remand/errors.py)      exit
    ├── BadInput                     what was given is wrong    2
    │   ├── TemplateInvalid  .problems
    │   ├── InputInvalid  InputTooLarge  IdentityInvalid  ResultInvalid
    │   ├── JsonInvalid  .path .problem
    │   │   └── JsonTooLarge
    │   ├── HandlerNotFound  ValueRefused  BodyTooLarge  AccessInvalid
    │   ├── KeyReused  InstantInvalid  DurationInvalid  TextInvalid
    │   └── AmbiguousId  Unfiltered
    ├── NotFound                     nothing has that name      4
    │   ├── TemplateNotFound  WorkflowNotFound  StepNotFound  DeadLetterNotFound  GroupNotFound
    │   ├── BreakerNotFound  QueueNotFound  FingerprintNotFound  RedriveNotFound
    │   ├── UserNotFound  TokenNotFound  DeadQueueNotFound  PeriodNotFound
    │   └── TargetNotFound  NotificationNotFound  ClassNotFound
    ├── Conflict                     not in this state          5
    │   ├── TemplateChanged  IllegalMove  HeldByBreaker  Busy  KeyInUse  NameTaken
    │   ├── WorkflowArchived  ArchiveMismatch  NotExported
    │   └── DeadQueueChained  DeadQueueInUse
    ├── Unfit                        the environment is wrong   3
    │   ├── ConfigInvalid  .problems
    │   ├── DatabaseUnreachable  BrokerUnreachable  EmbeddedUnavailable  StepUnreadable
    │   │   └── DatabaseMissing  DatabaseReadOnly
    │   ├── DatabaseUnsuited  RightMissing  ExtraMissing
    │   ├── NobodyCouldSignIn  AddressTaken  NotifyUnfit
    │   └── SchemaMissing  SchemaTooOld  SchemaTooNew
    ├── Refused                      not for this caller        1
    │   ├── NotSignedIn  NotAllowed  HostRefused
    │   └── TooManyLogins  .retry_after_seconds
    └── WaitTimedOut                 not yet                    1

Lost races are return values, not errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from remand.errors import RemandError


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a file or a table of settings: where, and what to do about it."""

    file: str | None
    line: int | None
    """1-based; None where the text has no lines (environment, a dict)."""
    path: str
    message: str
    code: str

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (where, self.path, self.message) if part)


class BadInput(RemandError):
    """What was given is wrong; giving it again will not help."""

    code: ClassVar[str] = "BAD_INPUT"
    exit_code: ClassVar[int] = 2


class NotFound(RemandError):
    """Nothing has that name or id."""

    code: ClassVar[str] = "NOT_FOUND"
    exit_code: ClassVar[int] = 4


class Conflict(RemandError):
    """It exists, but is not in a state that allows this."""

    code: ClassVar[str] = "CONFLICT"
    exit_code: ClassVar[int] = 5


class Unfit(RemandError):
    """The environment is not fit to work in: settings, database, broker, schema."""

    code: ClassVar[str] = "UNFIT"
    exit_code: ClassVar[int] = 3


class _WithProblems(RemandError):
    """Carry every problem at once, so that one round of editing mends them all."""

    subject: ClassVar[str]

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(
            f"{count} in {self.subject}:{lines}",
            details={"problems": [asdict(problem) for problem in self.problems]},
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class TemplateInvalid(_WithProblems, BadInput):
    """A template file breaks rules; `problems` lists all of them."""

    code = "TEMPLATE_INVALID"
    subject = "the template"


class InputInvalid(BadInput):
    """A workflow's input is not JSON or does not meet the template's schema."""

    code = "INPUT_INVALID"


class InputTooLarge(BadInput):
    """A workflow's input is larger than `input_max_bytes`."""

    code = "INPUT_TOO_LARGE"


class IdentityInvalid(BadInput):
    """The caller's key is missing, empty, or given where the template forbids it."""

    code = "IDENTITY_INVALID"


class ResultInvalid(BadInput):
    """A handler returned something that is not JSON, or too much of it."""

    code = "RESULT_INVALID"


class JsonInvalid(BadInput):
    """A value cannot be stored as JSON. The doors say it again as `InputInvalid` or `ResultInvalid`."""

    code = "JSON_INVALID"

    def __init__(self, path: str, problem: str, *, what: str = "value", hint: str = "") -> None:
        super().__init__(
            f"{what} at {path}: {problem}", hint=hint, details={"path": path, "problem": problem}
        )
        self.path = path
        self.problem = problem
        self.what = what

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_json_invalid, (type(self), self.path, self.problem, self.what, self.hint)


def _rebuild_json_invalid(
    kind: type[JsonInvalid], path: str, problem: str, what: str, hint: str
) -> JsonInvalid:
    return kind(path, problem, what=what, hint=hint)


class JsonTooLarge(JsonInvalid):
    """A value is good JSON but more bytes than allowed."""

    code = "JSON_TOO_LARGE"


class HandlerNotFound(BadInput):
    """No handler is registered under the name a step gives."""

    code = "HANDLER_NOT_FOUND"


class Unfiltered(BadInput):
    """A bulk verb was asked for every dead letter without saying that this is meant."""

    code = "UNFILTERED"


class AmbiguousId(BadInput):
    """A shortened id is ambiguous."""

    code = "AMBIGUOUS_ID"


class TemplateNotFound(NotFound):
    """No template has that namespace, name and version."""

    code = "TEMPLATE_NOT_FOUND"


class WorkflowNotFound(NotFound):
    """No workflow has that id."""

    code = "WORKFLOW_NOT_FOUND"


class StepNotFound(NotFound):
    """The workflow has no step of that name."""

    code = "STEP_NOT_FOUND"


class DeadLetterNotFound(NotFound):
    """No dead letter has that id."""

    code = "DEAD_LETTER_NOT_FOUND"


class GroupNotFound(NotFound):
    """No group of dead letters has that id."""

    code = "GROUP_NOT_FOUND"


class BreakerNotFound(NotFound):
    """No circuit breaker of that name has ever moved."""

    code = "BREAKER_NOT_FOUND"


class RedriveNotFound(NotFound):
    """No redrive has that id."""

    code = "REDRIVE_NOT_FOUND"


class ClassNotFound(NotFound):
    """No class of that name is installed here, and no rule names it."""

    code = "CLASS_NOT_FOUND"


class FingerprintNotFound(NotFound):
    """No unclassified failure has that fingerprint."""

    code = "FINGERPRINT_NOT_FOUND"


class QueueNotFound(NotFound):
    """No queue of that name is built in or named by a template."""

    code = "QUEUE_NOT_FOUND"


class DeadQueueNotFound(NotFound):
    """There is no dead queue of that name."""

    code = "DEAD_QUEUE_NOT_FOUND"


class TargetNotFound(NotFound):
    """The settings have no target of notifications of that name."""

    code = "TARGET_NOT_FOUND"


class NotificationNotFound(NotFound):
    """The target has no such notice, or no longer."""

    code = "NOTIFICATION_NOT_FOUND"


class DeadQueueChained(Conflict):
    """One name would be a dead queue and a queue of steps: letters could go in circles."""

    code = "DEAD_QUEUE_CHAINED"


class DeadQueueInUse(Conflict):
    """A dead queue cannot be deleted: letters lie in it, or something names it."""

    code = "DEAD_QUEUE_IN_USE"


class PeriodNotFound(NotFound):
    """No partition of the live tables, or of the archive, has that name."""

    code = "PERIOD_NOT_FOUND"


class TemplateChanged(Conflict):
    """A version that is already stored was given again with other content."""

    code = "TEMPLATE_CHANGED"


class IllegalMove(Conflict):
    """No row of the transition table leads from this state by this event."""

    code = "ILLEGAL_MOVE"


class WorkflowArchived(Conflict):
    """The workflow is in the archive, where nothing can be changed: restore it first."""

    code = "WORKFLOW_ARCHIVED"


class ArchiveMismatch(Conflict):
    """What came out of a move into the archive or back is not what went in; nothing was changed."""

    code = "ARCHIVE_MISMATCH"


class NotExported(Conflict):
    """A period of the archive was not exported as it stands, and must still be kept: it is not dropped."""

    code = "NOT_EXPORTED"


class HeldByBreaker(Conflict):
    """A circuit breaker keeps the step back: it would only be held again."""

    code = "HELD_BY_BREAKER"


class Busy(Conflict):
    """Others work on the same rows; nothing was changed, and trying again in a moment will help."""

    code = "BUSY"


class KeyReused(BadInput):
    """An Idempotency-Key came with another request than the first time."""

    code = "KEY_REUSED"


class InstantInvalid(BadInput):
    """What was given is no instant, has no offset from UTC, or lies outside the years 1970 to 2999."""

    code = "INSTANT_INVALID"


class DurationInvalid(BadInput):
    """What was given is no duration such as `90s`, `15m`, `2h` or `7d`, or one beyond the bounds."""

    code = "DURATION_INVALID"


class TextInvalid(BadInput):
    """A text holds what cannot be stored (NUL, a lone surrogate), is blank, or is too long."""

    code = "TEXT_INVALID"


class KeyInUse(Conflict):
    """The first request with an Idempotency-Key is still under way."""

    code = "KEY_IN_USE"


class ConfigInvalid(_WithProblems, Unfit):
    """Settings are wrong; `problems` lists all of them."""

    code = "CONFIG_INVALID"
    subject = "the settings"


class ValueRefused(BadInput):
    """Postgres cannot store a value that passed all our checks."""

    code = "VALUE_REFUSED"


class StepUnreadable(Unfit):
    """What a step is to work on, its input or its parents' results, cannot be read from the database."""

    code = "STEP_UNREADABLE"


class DatabaseUnreachable(Unfit):
    """Postgres does not answer at `database_url`."""

    code = "DATABASE_UNREACHABLE"


class DatabaseMissing(DatabaseUnreachable):
    """The server answers, but has no database of the name in `database_url`."""

    code = "DATABASE_MISSING"


class DatabaseReadOnly(DatabaseUnreachable):
    """The server answers, but takes no writes: a standby, a failover, or a setting."""

    code = "DATABASE_READ_ONLY"


class DatabaseUnsuited(Unfit):
    """The database is not one that Remand can work in: its encoding, or the age of its server."""

    code = "DATABASE_UNSUITED"


class RightMissing(Unfit):
    """The role of `database_url` may not do what is needed; `details.grant` is what would let it."""

    code = "RIGHT_MISSING"


class ExtraMissing(Unfit):
    """Packages are not installed that an extra of the distribution brings, such as `remand[server]`."""

    code = "EXTRA_MISSING"


class BrokerUnreachable(Unfit):
    """The broker does not answer at `broker_url`."""

    code = "BROKER_UNREACHABLE"


class SchemaMissing(Unfit):
    """The database has no schema `remand` yet: migrate first."""

    code = "SCHEMA_MISSING"


class SchemaTooOld(Unfit):
    """The database is behind this program: migrate it."""

    code = "SCHEMA_TOO_OLD"


class SchemaTooNew(Unfit):
    """The database is ahead of this program: upgrade the program."""

    code = "SCHEMA_TOO_NEW"


class EmbeddedUnavailable(Unfit):
    """The embedded Postgres or broker cannot run here."""

    code = "EMBEDDED_UNAVAILABLE"


class NobodyCouldSignIn(Unfit):
    """The server should listen beyond loopback, and there is neither user nor token yet."""

    code = "NOBODY_COULD_SIGN_IN"


class NotifyUnfit(Unfit):
    """The address or the secret of a target of notices cannot be had where the settings say."""

    code = "NOTIFY_UNFIT"


class AddressTaken(Unfit):
    """The server cannot listen at the address and port it was given."""

    code = "ADDRESS_TAKEN"


class WaitTimedOut(RemandError):
    """What was waited for had not come about when the wait ended; nothing is wrong with it."""

    code: ClassVar[str] = "WAIT_TIMED_OUT"
    exit_code: ClassVar[int] = 1


class BodyTooLarge(BadInput):
    """A request's body is larger than `web.max_body_bytes`."""

    code = "BODY_TOO_LARGE"


class AccessInvalid(BadInput):
    """A name, a password or scopes that will not do for a user or a token."""

    code = "ACCESS_INVALID"


class UserNotFound(NotFound):
    """Nobody has that name."""

    code = "USER_NOT_FOUND"


class TokenNotFound(NotFound):
    """No token has that name or id, or it is revoked."""

    code = "TOKEN_NOT_FOUND"


class NameTaken(Conflict):
    """A user, a token or a dead queue of that name exists."""

    code = "NAME_TAKEN"


class Refused(RemandError):
    """The request may be good, but not from this caller."""

    code: ClassVar[str] = "REFUSED"
    exit_code: ClassVar[int] = 1


class NotSignedIn(Refused):
    """Nobody is recognised: no token or session, or one that is wrong, expired or revoked."""

    code = "NOT_SIGNED_IN"


class NotAllowed(Refused):
    """Somebody is recognised who may not do this."""

    code = "NOT_ALLOWED"


class HostRefused(Refused):
    """A request names a host that is not in `web.allowed_hosts`, as a rebound DNS name would."""

    code = "HOST_REFUSED"


class TooManyLogins(Refused):
    """Too many wrong passwords; come again after `retry_after_seconds`."""

    code = "TOO_MANY_LOGINS"

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(
            f"too many wrong passwords: try again in {retry_after_seconds} s",
            details={"retry_after_seconds": retry_after_seconds},
        )
        self.retry_after_seconds = retry_after_seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.retry_after_seconds,)
