"""Rules that read the name of a library's class of which no rule knows more.

They are asked after the text rules and before Python's own general classes. The words of codes (`code_word`)
count here, too. Users' own classes are not judged by their names.
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
)

_SOURCE: Final = "how libraries name their classes"
_LOW: Final = 0.5


def _words(names: str) -> tuple[str, ...]:
    return tuple(names.split())


RULES: Final = (
    Rule(
        "name.network",
        "name",
        _words(
            "…connection …connect …network …connectionfailed …connectionlost "
            "…connectionloss …connectionclosed "
            "…connectionreset …connectionrefused …connectiondropped …connectionaborted "
            "…disconnected …disconnect "
            "…unreachable …notconnected …transport …socket …eof …interface …nohostavailable "
            "…serverdisconnected …resolution …hostunreachable "
            "…invalidsession …invalidsessionid …sessiondeleted "
            "…sessionexpired …sessionclosed …sessionlost …sessioninvalidated …leaseexpired"
        ),
        NETWORK,
        "the name says that a connection failed",
        _SOURCE,
        confidence=_LOW,
    ),
    Rule(
        "name.timeout",
        "name",
        _words("…timeout …timedout …timeouts …deadlineexceeded …deadline …timeoutexceeded"),
        NETWORK,
        "the name says that there was no answer in time",
        _SOURCE,
        confidence=_LOW,
    ),
    Rule(
        "name.limited",
        "name",
        _words(
            "ratelimit… throttl… …limited …ratelimit …ratelimited …ratelimitexceeded "
            "…ratelimiting …toomanyrequests …throttled …throttling …throttle "
            "…retryafter …overloaded …overload …backpressure …resourceexhausted …exhausted …quota "
            "…quotaexceeded …limitexceeded …limitreached …full …insufficientstorage …outofmemory …resources "
            "…insufficientresources …slowdown …queuefull "
            "…toomanysessions …toomanyconnections …toomanyoperations "
        ),
        RESOURCE,
        "the name says that something is limited or used up",
        _SOURCE,
        EXPONENTIAL,
        confidence=_LOW,
    ),
    Rule(
        "name.spent",
        "name",
        _words(
            "…insufficientcredits …outofcredits …paymentrequired …insufficientfunds "
            "…insufficientbalance …billing"
        ),
        PERMANENT,
        "the name says that somebody has to pay first",
        _SOURCE,
        confidence=_LOW,
    ),
    Rule(
        "name.passing",
        "name",
        _words(
            "temporary… transient… retryable… …unavailable …serviceunavailable "
            "…temporarilyunavailable …temporaryfailure …temporary …transient "
            "…retryable …tryagain …internal …internalserver …server …servererror …badgateway "
            "…gateway …gatewaytimeout …down …locked …busy …conflict …concurrentmodification "
            "…inprogress …notready …deadlock …deadlockdetected …interrupted …cancelled …canceled …aborted "
            "…invalidresponse …badresponse …malformedresponse …unexpectedresponse …emptyresponse …badjson "
            "…invalidjsonresponse …invalidnonce …leaderchanged …notleader "
            "…halted …stale …operational …serializationfailure …shuttingdown …maintenance"
        ),
        TRANSIENT,
        "the name says that it will pass",
        _SOURCE,
        confidence=_LOW,
    ),
    Rule(
        "name.denied",
        "name",
        _words(
            "…authentication …auth …authenticationfailed …authfailed …authenticationfailure …authorization "
            "…authorizationfailed …unauthorized …unauthenticated …forbidden …denied "
            "…accessdenied …permission "
            "…permissions …permissiondenied …login …loginfailed …loginfailure …credentials "
            "…invalidcredentials "
            "…nocredentials …notauthenticated …notauthorized …invalidtoken …tokenexpired …token "
            "…apikey …invalidapikey …missingapikey …invalidauth …signature …invalidsignature "
            "…accesscontrol …logon …passwordexpired …credentialsexpired …passwordmustchange "
            "…accountdisabled …accountlocked …accountexpired …accountsuspended "
            "…insufficientprivileges …insufficientpermissions …expiredtoken "
        ),
        PERMISSION,
        "the name says that a login or a right was refused",
        _SOURCE,
        confidence=_LOW,
    ),
    Rule(
        "name.invalid",
        "name",
        _words(
            "bad… …badrequest …validation …invalidrequest …invalidargument …invalidinput "
            "…invalidparameter …invaliddata "
            "…parse …parsing …parser …decode …decoding …encode …encoding …serialization "
            "…deserialization …malformed "
            "…integrity …constraint …constraintviolation …uniqueviolation …alreadyexists "
            "…exists …duplicate …duplicatekey "
            "incorrect… novalid… …parameter …argument …toobig …alreadystarted "
            "illegal… …collision …namecollision …sizeexceeded …illegalinput "
            "…toolarge …toolong …payloadtoolarge …unprocessableentity …mismatch …typemismatch …badvalue "
            "…schema …outofrange …lengthrequired …uritoolong …format …invalid …data"
        ),
        VALIDATION,
        "the name says that the data was refused",
        _SOURCE,
        confidence=_LOW,
    ),
    Rule(
        "name.final",
        "name",
        _words(
            "…notfound …nosuch …doesnotexist …notexist …missing …notimplemented "
            "…unimplemented …unsupported …notsupported "
            "…unsupportedoperation …notallowed …methodnotallowed …configuration …config …misconfigured "
            "…improperlyconfigured …syntax …programming …usage …deprecated …gone …deleted …disabled "
            "…preconditionfailed …failedprecondition …notacceptable …mediatype …dataloss "
            "unsupported… nonexistent… nosuch… …unsupportedfeature …unknowncommand …unknownmethod …compacted "
            "…logic "
            "…unknown …certificate …certificateverification …invalidcertificate …consumed"
        ),
        PERMANENT,
        "the name says that the thing is not there, or cannot be done",
        _SOURCE,
        confidence=_LOW,
    ),
)
