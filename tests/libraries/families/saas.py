"""Hosted APIs: payment, language models, chat, code, telephony."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.libraries.cases import Case, caught, family

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"
LIMITED = "resource/exponential resource/linear transient/exponential"


@family("stripe", "https://docs.stripe.com/error-handling, https://docs.stripe.com/error-codes")
def stripe_cases() -> Iterator[Case]:
    import stripe

    def api(kind: Any, status: int | None, code: str | None = None, headers: Any = None, kind_of: str = "") -> Any:
        body = {"error": {"code": code, "type": kind_of or "invalid_request_error", "message": "told"}}
        extra = {"json_body": body} if kind is not stripe.APIConnectionError else {}
        if kind in {stripe.CardError, stripe.InvalidRequestError}:
            return kind("told", None, code, http_status=status, headers=headers, **extra)
        return kind("told", http_status=status, headers=headers, code=code, **extra)

    yield Case("permanent/never", api(stripe.CardError, 402, "card_declined", kind_of="card_error"), NEVER)
    yield Case("permanent/never", api(stripe.CardError, 402, "expired_card", kind_of="card_error"), NEVER)
    yield Case("permanent/never", api(stripe.CardError, 402, "insufficient_funds", kind_of="card_error"), NEVER)
    yield Case("permanent/never", api(stripe.CardError, 402, "processing_error", kind_of="card_error"), f"{NEVER} {BOUNDED}")
    yield Case("permanent/never", api(stripe.CardError, 402, "authentication_required", kind_of="card_error"), NEVER)
    yield Case("validation/never", api(stripe.InvalidRequestError, 400, "parameter_missing"), NEVER)
    yield Case("validation/never", api(stripe.InvalidRequestError, 400, "amount_too_small"), NEVER)
    yield Case("permanent/never", api(stripe.InvalidRequestError, 404, "resource_missing"), NEVER)
    yield Case("transient/exponential", api(stripe.InvalidRequestError, 409, "idempotency_key_in_use"), f"{BOUNDED} transient/immediate")
    yield Case("transient/exponential", api(stripe.RateLimitError, 429, "lock_timeout"), f"{LIMITED} transient/immediate")
    yield Case("resource/exponential", api(stripe.RateLimitError, 429, "rate_limit"), LIMITED)
    yield Case("permission/never", api(stripe.AuthenticationError, 401), NEVER)
    yield Case("permission/never", api(stripe.PermissionError, 403), NEVER)
    yield Case("validation/never", api(stripe.IdempotencyError, 400, kind_of="idempotency_error"), NEVER)
    yield Case("transient/exponential", api(stripe.APIError, 500, kind_of="api_error"), BACKOFF)
    yield Case("transient/exponential", api(stripe.APIError, 503, kind_of="api_error"), BACKOFF)
    yield Case("transient/exponential", api(stripe.APIError, 400, headers={"Stripe-Should-Retry": "true"}), BACKOFF)
    yield Case("network/exponential", stripe.APIConnectionError("Unexpected error communicating with Stripe."), BACKOFF)
    yield Case("network/exponential", stripe.APIConnectionError("Request timed out.", should_retry=True), BACKOFF)
    yield Case("permanent/never", stripe.APIConnectionError("Could not verify Stripe's SSL certificate: certificate verify failed"), NEVER)


def llm(module: Any, name: str, status: int, body: Any, headers: Any = None) -> BaseException:
    """Return what the SDK makes of such an answer."""
    transport = __import__(type(module).__module__ and _transport(module))
    request = transport.Request("POST", "https://api.example.com/v1/chat")
    response = transport.Response(status, headers=headers or {}, request=request)
    error = body.get("error", body) if module.__name__ == "openai" else body
    made: BaseException = getattr(module, name)(f"Error code: {status} - {body}", response=response, body=error)
    return made


def _transport(module: Any) -> str:
    return "httpx2" if "httpx2" in str(module.APIConnectionError.__init__.__annotations__) else "httpx"


def unreached(module: Any, name: str) -> BaseException:
    request = __import__(_transport(module)).Request("POST", "https://api.example.com/v1/chat")
    made: BaseException = getattr(module, name)(request=request)
    return made


@family("openai", "https://platform.openai.com/docs/guides/error-codes; openai _base_client._should_retry")
def openai_cases() -> Iterator[Case]:
    import openai

    def api(name: str, status: int, code: str | None, kind: str | None, text: str = "told", headers: Any = None) -> BaseException:
        return llm(openai, name, status, {"error": {"message": text, "type": kind, "param": None, "code": code}}, headers)

    bad = "invalid_request_error"
    yield Case("permission/never", api("AuthenticationError", 401, "invalid_api_key", bad), NEVER)
    yield Case("permission/never", api("PermissionDeniedError", 403, "unsupported_country_region_territory", "request_forbidden"), NEVER)
    yield Case("permanent/never", api("NotFoundError", 404, "model_not_found", bad), NEVER)
    yield Case("transient/exponential", api("ConflictError", 409, None, None), f"{BOUNDED} transient/immediate")
    yield Case("validation/never", api("UnprocessableEntityError", 422, None, bad), NEVER)
    yield Case("permanent/never", api("RateLimitError", 429, "insufficient_quota", "insufficient_quota"), NEVER)
    yield Case("permanent/never", api("RateLimitError", 429, "billing_hard_limit_reached", bad), NEVER)
    yield Case("resource/exponential", api("RateLimitError", 429, "rate_limit_exceeded", "tokens", headers={"retry-after": "6"}), LIMITED)
    yield Case("resource/exponential", api("RateLimitError", 429, None, "requests", "Requests per minute limit. Quota exceeded."), LIMITED)
    yield Case("transient/exponential", api("InternalServerError", 503, None, "server_error", "The engine is currently overloaded"), BACKOFF)
    yield Case("transient/exponential", api("InternalServerError", 502, None, None), BACKOFF)
    yield Case("validation/never", api("BadRequestError", 400, "content_policy_violation", bad), NEVER)
    yield Case("validation/never", api("BadRequestError", 400, "content_filter", None), NEVER)
    yield Case("validation/never", api("BadRequestError", 400, "string_above_max_length", bad), NEVER)
    yield Case("validation/never", api("BadRequestError", 400, None, bad, "Invalid 'timeout': must be positive"), NEVER)
    yield Case("network/exponential", unreached(openai, "APIConnectionError"), BACKOFF)
    yield Case("validation/never", openai.ContentFilterFinishReasonError(), NEVER)
    yield Case("permission/never", caught(lambda: openai.OpenAI(api_key=None)), NEVER)


@family("anthropic", "https://docs.anthropic.com/en/api/errors")
def anthropic_cases() -> Iterator[Case]:
    import anthropic

    def api(name: str, status: int, kind: str, text: str = "told", headers: Any = None) -> BaseException:
        return llm(anthropic, name, status, {"type": "error", "error": {"type": kind, "message": text}}, headers)

    yield Case("resource/exponential", api("RateLimitError", 429, "rate_limit_error", headers={"retry-after": "30"}), LIMITED)
    yield Case("resource/exponential", api("InternalServerError", 529, "overloaded_error"), BACKOFF)
    yield Case("transient/exponential", api("InternalServerError", 500, "api_error"), BACKOFF)
    yield Case("transient/exponential", api("InternalServerError", 504, "timeout_error"), BACKOFF)
    yield Case("validation/never", api("BadRequestError", 400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"), NEVER)
    low = "Your credit balance is too low to access the Anthropic API."
    yield Case("permanent/never", api("BadRequestError", 400, "invalid_request_error", low), NEVER)
    yield Case("permission/never", api("AuthenticationError", 401, "authentication_error"), NEVER)
    yield Case("permission/never", api("PermissionDeniedError", 403, "permission_error"), NEVER)
    yield Case("permanent/never", api("NotFoundError", 404, "not_found_error"), NEVER)
    yield Case("validation/never", api("APIStatusError", 413, "request_too_large"), NEVER)
    yield Case("network/exponential", unreached(anthropic, "APIConnectionError"), BACKOFF)
    yield Case("network/exponential", unreached(anthropic, "APITimeoutError"), BACKOFF)


SLACK = """
not_in_channel permission/never never
missing_scope permission/never never
token_revoked permission/never never
token_expired permission/never never
account_inactive permission/never never
not_authed permission/never never
no_permission permission/never never
org_login_required permission/never never
ekm_access_denied permission/never never
is_archived permanent/never never
user_not_found permanent/never never
message_not_found permanent/never never
method_deprecated permanent/never never
cant_update_message permanent/never never
unknown_method permanent/never never
msg_too_long validation/never never
no_text validation/never never
invalid_blocks validation/never never
invalid_arguments validation/never never
invalid_arg_name validation/never never
too_many_attachments validation/never never
internal_error transient/exponential backoff
fatal_error transient/exponential backoff
service_unavailable transient/exponential backoff
request_timeout transient/exponential backoff
team_added_to_org transient/exponential backoff
accesslimited resource/exponential limited
rate_limited resource/exponential limited
"""


@family("slack_sdk", "https://api.slack.com/methods, error tables")
def slack_cases() -> Iterator[Case]:
    import slack_sdk.errors as se
    from slack_sdk.web import SlackResponse

    def api(error: str, status: int = 200, headers: Any = None) -> se.SlackApiError:
        response = SlackResponse(
            client=None, http_verb="POST", api_url="https://slack.com/api/x", req_args={},
            data={"ok": False, "error": error}, headers=headers or {}, status_code=status,
        )  # fmt: skip
        return se.SlackApiError("The request to the Slack API failed.", response)

    also = {"never": NEVER, "backoff": BACKOFF, "limited": LIMITED}
    for line in SLACK.strip().splitlines():
        error, expected, names = line.split()
        yield Case(expected, api(error), also[names], error)
    yield Case("resource/exponential", api("ratelimited", 429, {"Retry-After": "10"}), LIMITED)
    yield Case("network/exponential", se.SlackClientNotConnectedError("not connected"), BACKOFF)
    yield Case("validation/never", se.SlackObjectFormationError("text cannot exceed 75 characters"), NEVER)


@family("PyGithub", "https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api")
def github_cases() -> Iterator[Case]:
    import github

    for kind, status, text, expected, also in (
        (github.RateLimitExceededException, 403, "API rate limit exceeded for installation", "resource/exponential", LIMITED),
        (github.RateLimitExceededException, 429, "secondary rate limit", "resource/exponential", LIMITED),
        (github.BadCredentialsException, 401, "Bad credentials", "permission/never", ""),
        (github.UnknownObjectException, 404, "Not Found", "permanent/never", ""),
        (github.GithubException, 403, "Resource not accessible by personal access token", "permission/never", ""),
        (github.GithubException, 403, "You have exceeded a secondary rate limit.", "resource/exponential", LIMITED),
        (github.GithubException, 422, "Validation Failed", "validation/never", "permanent/never"),
        (github.GithubException, 502, "Server Error", "transient/exponential", BACKOFF),
        (github.GithubException, 409, "Head branch was modified", "transient/exponential", f"{NEVER} transient/immediate"),
        (github.TwoFactorException, 401, "Must specify two-factor authentication OTP code.", "permission/never", ""),
        (github.GithubException, 451, "Repository access blocked", "permanent/never", "permission/never"),
    ):  # fmt: skip
        yield Case(expected, kind(status, {"message": text}, {}, text), also, f"{status} {text}")


@family("twilio", "https://www.twilio.com/docs/api/errors")
def twilio_cases() -> Iterator[Case]:
    from twilio.base.exceptions import TwilioException, TwilioRestException

    for status, code, text, expected, also in (
        (429, 20429, "Too many requests", "resource/exponential", LIMITED), (400, 21211, "Invalid 'To' number", "validation/never", NEVER),
        (401, 20003, "Authenticate", "permission/never", ""), (403, 20005, "Account not active", "permission/never", NEVER),
        (404, 20404, "The requested resource was not found", "permanent/never", ""),
        (503, 20503, "Service unavailable", "transient/exponential", BACKOFF),
        (400, 21610, "Attempt to send to unsubscribed recipient", "permanent/never", NEVER),
        (500, 20500, "Internal Server Error", "transient/exponential", BACKOFF), (409, 50433, "already exists", "validation/never", f"{NEVER} transient/exponential"),
    ):  # fmt: skip
        yield Case(expected, TwilioRestException(status, "/2010/Messages.json", text, code, "POST"), also, text)
    yield Case("permission/never", TwilioException("Credentials are required to create a TwilioClient"), f"{NEVER} transient/exponential")
