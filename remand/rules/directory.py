"""Rules for directories: DNS through dnspython and aiodns, LDAP through ldap3 and python-ldap."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import NETWORK, PERMANENT, PERMISSION, RESOURCE, TRANSIENT, VALIDATION, Rule, under

_DNS: Final = "the class tree of dnspython; RFC 1035 section 4.1.1"
_LDAP: Final = "RFC 4511 section 4.1.9, result codes"
_LDAP3: Final = "ldap3.core.exceptions"
_PYTHON_LDAP: Final = "ldap"

RULES: Final = (
    Rule(
        "dns.missing",
        "type",
        under("dns.resolver", names="NXDOMAIN YXDOMAIN NoAnswer NotAbsolute NoRootSOA NoMetaqueries"),
        PERMANENT,
        "the name server says that there is no such name or record",
        _DNS,
        confidence=0.7,
    ),
    Rule(
        "dns.name",
        "type",
        under(
            "dns.name",
            names="LabelTooLong EmptyLabel BadEscape BadPointer BadLabelType NameTooLong NoParent "
            "NeedAbsoluteNameOrOrigin AbsoluteConcatenation IDNAException",
        )
        + under("dns.exception", names="SyntaxError FormError TooBig UnexpectedEnd"),
        VALIDATION,
        "this is no name of a host",
        _DNS,
    ),
    Rule(
        "dns.garbled",
        "type",
        ("dns.query.BadResponse", "dns.query.UnexpectedSource"),
        NETWORK,
        "the answer of the name server makes no sense",
        _DNS,
        confidence=0.8,
    ),
    Rule(
        "dns.away",
        "fallback",
        under("dns.resolver", names="NoNameservers LifetimeTimeout NoResolverConfiguration")
        + under("dns.exception", names="Timeout DNSException")
        + ("aiodns.error.DNSError",),
        NETWORK,
        "no name server answered",
        _DNS,
        confidence=0.85,
    ),
    Rule(
        "ldap.denied",
        "type",
        under(
            _LDAP3,
            names="LDAPBindError LDAPPasswordIsMandatoryError LDAPInvalidCredentialsResult "
            "LDAPInappropriateAuthenticationResult LDAPInsufficientAccessRightsResult "
            "LDAPStrongerAuthRequiredResult LDAPConfidentialityRequiredResult "
            "LDAPAuthMethodNotSupportedResult LDAPAuthorizationDeniedResult "
            "LDAPUserNameIsMandatoryError LDAPUserNameNotAllowedError",
        )
        + under(
            _PYTHON_LDAP,
            names="INVALID_CREDENTIALS INSUFFICIENT_ACCESS STRONG_AUTH_REQUIRED INAPPROPRIATE_AUTH "
            "CONFIDENTIALITY_REQUIRED",
        ),
        PERMISSION,
        "the directory refuses the login or the right",
        _LDAP,
    ),
    Rule(
        "ldap.missing",
        "type",
        under(
            _LDAP3,
            names="LDAPNoSuchObjectResult LDAPNoSuchAttributeResult LDAPUndefinedAttributeTypeResult "
            "LDAPUnwillingToPerformResult LDAPReferralError LDAPExtensionError "
            "LDAPCertificateError LDAPSSLConfigurationError LDAPConfigurationError "
            "LDAPNotAllowedOnNotLeafResult LDAPNotAllowedOnRDNResult "
            "LDAPUnavailableCriticalExtensionResult LDAPSchemaError",
        )
        + under(_PYTHON_LDAP, names="NO_SUCH_OBJECT NO_SUCH_ATTRIBUTE UNDEFINED_TYPE UNWILLING_TO_PERFORM"),
        PERMANENT,
        "the entry, attribute or setting is not there, or the directory will not do it",
        _LDAP,
    ),
    Rule(
        "ldap.data",
        "type",
        under(
            _LDAP3,
            names="LDAPEntryAlreadyExistsResult LDAPInvalidDnError LDAPInvalidDNSyntaxResult "
            "LDAPInvalidFilterError LDAPInvalidAttributeSyntaxResult LDAPInvalidValueError "
            "LDAPAttributeError LDAPObjectClassError LDAPObjectClassViolationResult "
            "LDAPConstraintViolationResult LDAPAttributeOrValueExistsResult "
            "LDAPNamingViolationResult LDAPObjectClassModsProhibitedResult LDAPInvalidScopeError "
            "LDAPInvalidPortError LDAPInvalidServerError LDAPDefinitionError",
        )
        + under(
            _PYTHON_LDAP,
            names="ALREADY_EXISTS INVALID_DN_SYNTAX FILTER_ERROR INVALID_SYNTAX OBJECT_CLASS_VIOLATION "
            "CONSTRAINT_VIOLATION TYPE_OR_VALUE_EXISTS NAMING_VIOLATION",
        ),
        VALIDATION,
        "the directory refuses the entry or the name",
        _LDAP,
    ),
    Rule(
        "ldap.limit",
        "type",
        under(_LDAP3, names="LDAPAdminLimitExceededResult LDAPSizeLimitExceededResult")
        + under(_PYTHON_LDAP, names="ADMINLIMIT_EXCEEDED SIZELIMIT_EXCEEDED"),
        RESOURCE,
        "a limit of the directory is reached",
        _LDAP,
        confidence=0.7,
    ),
    Rule(
        "ldap.busy",
        "type",
        under(
            _LDAP3,
            names="LDAPBusyResult LDAPUnavailableResult LDAPTimeLimitExceededResult "
            "LDAPLCUPResourcesExhaustedResult LDAPOtherResult",
        )
        + under(_PYTHON_LDAP, names="BUSY UNAVAILABLE TIMELIMIT_EXCEEDED OTHER"),
        TRANSIENT,
        "the directory is busy",
        _LDAP,
    ),
    Rule(
        "ldap.connection",
        "fallback",
        under(
            _LDAP3,
            names="LDAPCommunicationError LDAPSocketOpenError LDAPSocketReceiveError "
            "LDAPSocketSendError LDAPSocketCloseError LDAPSessionTerminatedByServerError "
            "LDAPServerPoolError LDAPServerPoolExhaustedError LDAPResponseTimeoutError "
            "LDAPStartTLSError",
        )
        + under(_PYTHON_LDAP, names="SERVER_DOWN CONNECT_ERROR TIMEOUT"),
        NETWORK,
        "the directory cannot be reached",
        _LDAP,
        confidence=0.85,
    ),
)
