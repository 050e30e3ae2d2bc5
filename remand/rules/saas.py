"""Rules for the error codes and classes of hosted APIs: Stripe, OpenAI, Anthropic, Slack and their like.

Codes are compared in lower case without separators and without a final "exception".
"""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
    under,
)

_CODES: Final = "error codes in the vendors' API references"
_LIB: Final = "the libraries' class trees"
_STRIPE: Final = ("stripe._error", "stripe.error", "stripe")
_LLM: Final = (
    "openai",
    "anthropic",
    "openai._exceptions",
    "anthropic._exceptions",
    "mistralai",
    "groq",
    "cohere",
)


def _codes(names: str) -> tuple[str, ...]:
    return tuple(names.split())


_SALESFORCE: Final = (
    "https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/"
    "sforce_api_calls_concepts_core_data_objects.htm#exception_code_topic"
)
_WORDS_SOURCE: Final = "how the vendors name their codes"

RULES: Final = (
    Rule(
        "api.rate",
        "api_code",
        _codes(
            "ratelimited ratelimit ratelimiterror ratelimitexceeded userratelimitexceeded toomanyrequests "
            "concurrentrequestslimitexceeded requestsperminuteexceeded tokensperminuteexceeded "
            "ratelimitreached "
            "calllimitexceeded accesslimited"
        ),
        RESOURCE,
        "the service limits how often it is called",
        _CODES,
        EXPONENTIAL,
    ),
    Rule(
        "api.overloaded",
        "api_code",
        _codes("overloaded overloadederror engineoverloaded serveroverloaded"),
        RESOURCE,
        "the service is overloaded",
        _CODES,
        EXPONENTIAL,
    ),
    Rule(
        "api.quota-spent",
        "api_code",
        _codes(
            "insufficientquota billinghardlimitreached projectspendlimitexceeded billingnotactive "
            "accountdeactivated spendlimitexceeded creditbalancetoolow billingerror billingnotenabled"
        ),
        PERMANENT,
        "the quota or budget is spent; somebody has to look at billing",
        _CODES,
    ),
    Rule(
        "api.quota",
        "api_code",
        _codes("quotaexceeded dailylimitexceeded limitexceeded quotafailure"),
        RESOURCE,
        "a quota is used up until it refills",
        _CODES,
    ),
    Rule(
        "api.try-again",
        "api_code",
        _codes(
            "locktimeout idempotencykeyinuse backenderror jobbackenderror internalservererror internalerror "
            "servererror apierror fatalerror serviceunavailable requesttimeout accesstokenrefreshing "
            "processingerror txninprogress conflictingoperation teamaddedtoorg jobinternalerror"
        ),
        TRANSIENT,
        "the service asks to try again",
        _CODES,
        confidence=0.85,
    ),
    Rule(
        "api.denied",
        "api_code",
        _codes(
            "invalidauth notauthed accountinactive tokenrevoked tokenexpired noscope missingscope "
            "notallowedtokentype "
            "invalidapikey apikeyexpired authenticationerror permissionerror accessdenied forbidden "
            "insufficientpermissions "
            "permissiondenied unauthorized unauthenticated authenticationrequired authorizationrequired "
            "orgloginrequired ekmaccessdenied restrictedaction notinchannel authenticationfailed "
            "authorizationfailed"
        ),
        PERMISSION,
        "the service refuses the credentials or the right",
        _CODES,
    ),
    Rule(
        "api.missing",
        "api_code",
        _codes(
            "channelnotfound usernotfound usersnotfound notfound modelnotfound resourcemissing isarchived "
            "unknownmethod methoddeprecated messagenotfound cantupdatemessage filenotfound deprecatedendpoint"
        ),
        PERMANENT,
        "what the call names does not exist",
        _CODES,
    ),
    Rule(
        "api.invalid",
        "api_code",
        _codes(
            "invalidrequesterror contextlengthexceeded contentpolicyviolation contentfilter "
            "invalidargument invalidarguments "
            "invalidparameter parametermissing parameterinvalid parameterunknown invalidblocks "
            "msgtoolong notext "
            "invalidrequest invalid badrequest idempotencyerror stringabovemaxlength toomanyattachments "
            "invalidinput parseerror required mapperparsing duplicate alreadyexists resourcealreadyexists "
            "documentparsing illegalargument parsing requesttoolarge"
        ),
        VALIDATION,
        "the service refuses the request as it is",
        _CODES,
    ),
    Rule(
        "api.card",
        "api_code",
        _codes(
            "carddeclined expiredcard incorrectcvc incorrectnumber insufficientfunds invalidcvc "
            "invalidnumber "
            "authenticationrequiredcard amounttoosmall amounttoolarge balanceinsufficient carderror"
        ),
        PERMANENT,
        "the payment was declined; trying again without the customer does not help",
        _CODES,
    ),
    Rule("stripe.card", "type", under(*_STRIPE, names="CardError"), PERMANENT, "the card was declined", _LIB),
    Rule(
        "stripe.denied",
        "type",
        under(*_STRIPE, names="AuthenticationError PermissionError SignatureVerificationError"),
        PERMISSION,
        "Stripe refuses the key or the signature",
        _LIB,
    ),
    Rule(
        "stripe.connection",
        "fallback",
        under(*_STRIPE, names="APIConnectionError"),
        NETWORK,
        "Stripe cannot be reached",
        _LIB,
        confidence=0.9,
    ),
    Rule(
        "stripe.rate",
        "fallback",
        under(*_STRIPE, names="RateLimitError"),
        RESOURCE,
        "Stripe limits the rate",
        _LIB,
        EXPONENTIAL,
    ),
    Rule(
        "stripe.invalid",
        "fallback",
        under(*_STRIPE, names="InvalidRequestError IdempotencyError"),
        VALIDATION,
        "Stripe refuses the request as it is",
        _LIB,
    ),
    Rule(
        "stripe.any",
        "fallback",
        under(*_STRIPE, names="APIError StripeError"),
        TRANSIENT,
        "Stripe failed",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "llm.timeout",
        "type",
        under(*_LLM, names="APITimeoutError"),
        NETWORK,
        "the API did not answer in time",
        _LIB,
    ),
    Rule(
        "llm.connection",
        "fallback",
        under(*_LLM, names="APIConnectionError"),
        NETWORK,
        "the API cannot be reached",
        _LIB,
        confidence=0.9,
    ),
    Rule(
        "llm.answer",
        "type",
        under(*_LLM, names="APIResponseValidationError ContentFilterFinishReasonError"),
        VALIDATION,
        "the answer does not have the promised shape",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "llm.length",
        "type",
        under(*_LLM, names="LengthFinishReasonError"),
        VALIDATION,
        "the answer was cut at its limit",
        _LIB,
    ),
    Rule(
        "llm.rate",
        "fallback",
        under(*_LLM, names="RateLimitError"),
        RESOURCE,
        "the API limits the rate",
        _LIB,
        EXPONENTIAL,
    ),
    Rule(
        "llm.denied",
        "fallback",
        under(*_LLM, names="AuthenticationError PermissionDeniedError"),
        PERMISSION,
        "the API refuses the key",
        _LIB,
    ),
    Rule(
        "llm.invalid",
        "fallback",
        under(*_LLM, names="BadRequestError UnprocessableEntityError"),
        VALIDATION,
        "the API refuses the request as it is",
        _LIB,
    ),
    Rule(
        "llm.missing",
        "fallback",
        under(*_LLM, names="NotFoundError"),
        PERMANENT,
        "the model or object does not exist",
        _LIB,
    ),
    Rule(
        "llm.server",
        "fallback",
        under(*_LLM, names="InternalServerError ConflictError APIError"),
        TRANSIENT,
        "the API failed",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "slack.misuse",
        "type",
        under(
            "slack_sdk.errors", names="SlackObjectFormationError SlackTokenRotationError BotUserAccessError"
        ),
        VALIDATION,
        "the Slack client was used wrongly",
        _LIB,
    ),
    Rule(
        "slack.connection",
        "fallback",
        under("slack_sdk.errors", names="SlackClientNotConnectedError SlackRequestError SlackClientError"),
        NETWORK,
        "Slack cannot be reached",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "oauth.denied",
        "api_code",
        _codes(
            "invalidgrant invalidclient unauthorizedclient insufficientscope loginrequired "
            "interactionrequired consentrequired"
        ),
        PERMISSION,
        "the token server refuses the client or its grant",
        "RFC 6749 section 5.2; RFC 6750 section 3.1",
    ),
    Rule(
        "oauth.later",
        "api_code",
        _codes("temporarilyunavailable authorizationpending"),
        TRANSIENT,
        "the token server says that it will pass",
        "RFC 6749 section 4.1.2.1; RFC 8628 section 3.5",
    ),
    Rule(
        "salesforce.denied",
        "api_code",
        _codes(
            "invalidlogin invalidsessionid apidisabledfororg apicurrentlydisabled "
            "insufficientaccess insufficientaccessorreadonly "
            "insufficientaccessoncrossreferenceentity invalidoperationwithexpiredpassword "
            "passwordlockout orglocked "
            "functionalitynotenabled trialexpired userdeactivated "
            "loginduringrestricteddomain loginduringrestrictedtime "
            "crossorgaccessdenied invalidauthheader"
        ),
        PERMISSION,
        "Salesforce refuses the login or the right",
        _SALESFORCE,
    ),
    Rule(
        "salesforce.later",
        "api_code",
        _codes(
            "unabletolockrow serverunavailable querytimeout requestrunningtoolong "
            "bulkapierror unknownexception dupesonsave exceededidlimit jobinprogress"
        ),
        TRANSIENT,
        "Salesforce says that it will pass",
        _SALESFORCE,
    ),
    Rule(
        "salesforce.limit",
        "api_code",
        _codes("loginrateexceeded storagelimitexceeded exceededquota apexlimitexceeded"),
        RESOURCE,
        "a limit of the organisation is used up",
        _SALESFORCE,
    ),
    Rule(
        "salesforce.data",
        "api_code",
        _codes(
            "requiredfieldmissing fieldcustomvalidationexception fieldcustomvalidation "
            "duplicatevalue invalidfield malformedquery stringtoolong "
            "invalidcrossreferencekey malformedid fieldintegrityexception fieldintegrity "
            "invalidfieldforinsertupdate invalidtype jsonparsererror "
            "cannotinsertupdateactivateentity duplicatesdetected invalidemailaddress "
            "numberoutsidevalidrange fieldfiltervalidation numbertoolarge"
        ),
        VALIDATION,
        "Salesforce refuses the record",
        _SALESFORCE,
    ),
    Rule(
        "salesforce.missing",
        "api_code",
        _codes("entityisdeleted cannotdeletelastdatedconversionrate deletefailed invalidquerylocator"),
        PERMANENT,
        "the record is not there any more, or cannot be changed",
        _SALESFORCE,
    ),
    Rule(
        "salesforce.session",
        "type",
        ("simple_salesforce.exceptions.SalesforceExpiredSession",),
        PERMISSION,
        "the session has expired; a retry with it is refused again",
        "simple-salesforce's class tree",
    ),
    Rule(
        "salesforce.login",
        "fallback",
        ("simple_salesforce.exceptions.SalesforceAuthenticationFailed",),
        PERMISSION,
        "Salesforce refuses the login",
        "simple-salesforce's class tree",
    ),
    Rule(
        "word.missing",
        "code_word",
        _codes("…notfound …doesnotexist …notexist …nonexistent …notfounderror …nosuch nosuch…"),
        PERMANENT,
        "what the call names does not exist",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.exists",
        "code_word",
        _codes(
            "…alreadyexists …alreadyexist …alreadyowned …alreadyused …alreadytaken …nameinuse …emailinuse"
        ),
        VALIDATION,
        "there is already such a thing",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.limited",
        "code_word",
        _codes(
            "…throttled …throttling …throttle throttling… …toomanyrequests …ratelimited "
            "…ratelimit …ratelimitexceeded …rateexceeded …slowdown"
        ),
        RESOURCE,
        "the service limits how often it is called",
        _WORDS_SOURCE,
        policy=EXPONENTIAL,
        confidence=0.75,
    ),
    Rule(
        "word.quota",
        "code_word",
        _codes("…limitexceeded …quotaexceeded …limitreached …quotareached …capacity …limit"),
        RESOURCE,
        "a quota or the capacity is used up",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.full",
        "code_word",
        _codes(
            "…diskfull …storagefull …leftondevice …outofmemory …insufficientstorage …insufficientresources"
        ),
        RESOURCE,
        "disk, memory or storage of the service is used up",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.unavailable",
        "code_word",
        _codes(
            "…unavailable …timeout …timedout …internalerror …servererror …internalfailure …internal …busy "
            "…down …notresponding …notavailable …maintenance"
        ),
        TRANSIENT,
        "the service failed or is not ready",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.moving",
        "code_word",
        _codes(
            "…inprogress …inuse …notready …recently …locked …conflict …conflicted …beingdeleted …beingcreated"
        ),
        TRANSIENT,
        "the thing is changing or in use; it will be free",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.denied",
        "code_word",
        _codes(
            "…denied …forbidden …unauthorized …notauthorized …notallowed …revoked …permission "
            "…permissions …notpermitted …expiredtoken …tokenexpired …tokeninvalid "
            "…unauthenticated"
        ),
        PERMISSION,
        "the service refuses the credentials or the right",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.invalid",
        "code_word",
        _codes(
            "invalid… malformed… …malformed …invalid …toolarge …toolong …toosmall …tooshort "
            "…toomany toomany… …outofrange …mismatch …notvalid …required missing… …missing "
            "illegal… duplicate… …parsing …parse"
        ),
        VALIDATION,
        "the service refuses the request as it is",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "word.impossible",
        "code_word",
        _codes(
            "unsupported… …unsupported …notsupported …notimplemented …disabled …deprecated "
            "…notempty …archived …redirect unknown… unrecognized… …unknown"
        ),
        PERMANENT,
        "the service cannot do that",
        _WORDS_SOURCE,
        confidence=0.75,
    ),
    Rule(
        "slack.api",
        "fallback",
        ("slack_sdk.errors.SlackApiError",),
        PERMANENT,
        "Slack refuses the call; the errors that pass are known by name",
        "https://api.slack.com/methods",
        confidence=0.6,
    ),
    Rule(
        "llm.key",
        "text",
        ("openai", "anthropic", "mistralai", "groq", "cohere"),
        PERMISSION,
        "the client was given no key",
        _LIB,
        text=r"missing credentials|api[_ ]key.*(must be set|not (set|provided))"
        r"|could not resolve authentication",
        confidence=0.85,
    ),
    Rule(
        "llm.credit",
        "status",
        (400,),
        PERMANENT,
        "the credit is used up; somebody has to look at billing",
        _CODES,
        text=r"credit balance is too low",
        confidence=0.9,
    ),
    Rule(
        "twilio.credentials",
        "text",
        ("twilio",),
        PERMISSION,
        "the client was given no credentials",
        _LIB,
        text=r"credentials are required",
    ),
)
