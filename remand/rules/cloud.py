"""Rules for AWS, Google Cloud and Azure clients. Codes as in `saas`.

Lower case, no separators, no "exception".
"""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    IMMEDIATE,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
    under,
)

_AWS: Final = "https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html"
_LIB: Final = "the libraries' class trees"
_BOTO: Final = "botocore.exceptions"
_GOOGLE: Final = "google.api_core.exceptions"
_AUTH: Final = "google.auth.exceptions"
_AZURE: Final = "azure.core.exceptions"


def _codes(names: str) -> tuple[str, ...]:
    return tuple(names.split())


RULES: Final = (
    Rule(
        "aws.throttled",
        "api_code",
        _codes(
            "throttling throttled throttlingerror requestthrottled requestlimitexceeded "
            "bandwidthlimitexceeded "
            "slowdown priorrequestnotcomplete provisionedthroughputexceeded ec2throttled "
            "requestthrottledbyservice "
            "serverbusy operationtimedoutthrottled kmsthrottling"
        ),
        RESOURCE,
        "the service throttles the caller",
        _AWS,
        EXPONENTIAL,
    ),
    Rule(
        "aws.capacity",
        "api_code",
        _codes(
            "insufficientinstancecapacity insufficientcapacity insufficienthostcapacity "
            "insufficientreservedinstancecapacity instancelimitexceeded vcpulimitexceeded "
            "servicequotaexceeded "
            "maxspotinstancecountexceeded addresslimitexceeded clustercapacityexceeded allocationfailed "
            "skunotavailable zonalallocationfailed zoneresourcepoolexhausted resourceexhausted "
            "resourcesexceeded overlimit insufficientfreeaddressesinsubnet"
        ),
        RESOURCE,
        "the cloud has no capacity or quota left for this",
        _AWS,
    ),
    Rule(
        "aws.transient",
        "api_code",
        _codes(
            "internalfailure unavailable idpcommunicationerror modelnotready modeltimeout "
            "transactioninprogress "
            "transactionconflict operationaborted conditionalrequestconflict replicatedwriteconflict "
            "tableinuse "
            "resourceinuse concurrentmodification deadlineexceeded aborted operationtimedout "
            "resourcenotready "
            "kmsinternal serviceinternal lambdainternal queuedeletedrecently servicefailure toomanyupdates "
            "awssimplequeueservicequeuedeletedrecently entitytemporarilyunmodifiable "
            "incorrectinstancestate incompletebody"
        ),
        TRANSIENT,
        "the service asks to send it again",
        _AWS,
    ),
    Rule(
        "aws.denied",
        "api_code",
        _codes(
            "unauthorizedoperation unrecognizedclient unrecognizedclientid invalidclienttokenid "
            "signaturedoesnotmatch "
            "invalidaccesskeyid expiredtoken authfailure optinrequired missingauthenticationtoken "
            "notauthorized "
            "incompletesignature invalidsignature invalidtoken tokenrefreshrequired accountproblem "
            "invalidauthenticationtoken authenticationfailedinvalidheader kmsaccessdenied "
            "invalididentitytoken "
            "invalidsecurity allaccessdisabled linkedauthorizationfailed"
        ),
        PERMISSION,
        "the cloud refuses the credentials or the right",
        _AWS,
    ),
    Rule(
        "aws.clock",
        "api_code",
        _codes("requesttimetooskewed requestexpired"),
        PERMISSION,
        "the clock of this machine is wrong, so the signature is refused",
        _AWS,
        confidence=0.7,
    ),
    Rule(
        "aws.missing",
        "api_code",
        _codes(
            "nosuchkey nosuchbucket nosuchentity nosuchupload nosuchversion resourcenotfound tablenotfound "
            "queuedoesnotexist nonexistentqueue functionnotfound blobnotfound containernotfound "
            "invalidinstanceidnotfound invalidaction awssimplequeueservicenonexistentqueue "
            "dbinstancenotfound stackdoesnotexist parameternotfound secretnotfound "
            "bucketnotempty deleteconflict "
            "invalidobjectstate dependencyviolation unsupported unsupportedoperation "
            "endpointdisabled messagerejected"
        ),
        PERMANENT,
        "what the call names does not exist",
        _AWS,
    ),
    Rule(
        "aws.invalid",
        "api_code",
        _codes(
            "validation validationerror conditionalcheckfailed transactioncanceled invalidparametervalue "
            "invalidparametercombination missingparameter malformedpolicydocument malformedxml "
            "entitytoolarge "
            "entitytoosmall invalidbucketname bucketalreadyexists bucketalreadyownedbyyou "
            "entityalreadyexists "
            "itemcollectionsizelimitexceeded serialization invaliddigest baddigest invalidrange keytoolong "
            "invalidparameters invalidpart invalidrequestcontent requestentitytoolarge"
        ),
        VALIDATION,
        "the service refuses the request as it is",
        _AWS,
    ),
    Rule(
        "aws.cancelled-conflict",
        "api_code",
        ("transactioncanceled",),
        TRANSIENT,
        "the transaction met another one; run it again",
        _AWS,
        policy=IMMEDIATE,
        text=r"\A(?!.*(ConditionalCheckFailed|ValidationError|ItemCollectionSize"
        r"|DuplicateItem))[\s\S]*TransactionConflict",
    ),
    Rule(
        "aws.cancelled-throttled",
        "api_code",
        ("transactioncanceled",),
        RESOURCE,
        "the transaction was throttled",
        _AWS,
        policy=EXPONENTIAL,
        text=r"\A(?!.*(ConditionalCheckFailed|ValidationError|ItemCollectionSize"
        r"|DuplicateItem))[\s\S]*(Throttling|ThroughputExceeded)",
    ),
    Rule(
        "aws.client-network",
        "fallback",
        under(
            _BOTO,
            names="ConnectionError EndpointConnectionError HTTPClientError ConnectionClosedError "
            "ProxyConnectionError "
            "ResponseStreamingError IncompleteReadError",
        ),
        NETWORK,
        "the endpoint cannot be reached",
        _LIB,
        confidence=0.9,
    ),
    Rule(
        "aws.client-timeout",
        "type",
        under(_BOTO, names="ReadTimeoutError ConnectTimeoutError"),
        NETWORK,
        "the endpoint did not answer in time",
        _LIB,
    ),
    Rule(
        "aws.tls",
        "fallback",
        under(_BOTO, names="SSLError"),
        PERMANENT,
        "TLS was refused",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "aws.credentials",
        "type",
        (
            *under(
                _BOTO,
                names="NoCredentialsError PartialCredentialsError CredentialRetrievalError "
                "TokenRetrievalError "
                "UnauthorizedSSOTokenError SSOTokenLoadError NoAuthTokenError RefreshWithMFAUnsupportedError",
            ),
            "boto3.exceptions.NoCredentialsError",
        ),
        PERMISSION,
        "there are no credentials",
        _LIB,
    ),
    Rule(
        "aws.parameters",
        "type",
        under(
            _BOTO,
            names="ParamValidationError ValidationError InvalidRegionError UnknownParameterError RangeError "
            "InvalidEndpointConfigurationError InvalidDNSNameError",
        ),
        VALIDATION,
        "the client refuses the parameters",
        _LIB,
    ),
    Rule(
        "aws.checksum",
        "type",
        under(_BOTO, names="ChecksumError FlexibleChecksumError"),
        NETWORK,
        "the data was damaged on the way",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "aws.waiter",
        "type",
        under(_BOTO, names="WaiterError"),
        TRANSIENT,
        "what was waited for has not happened yet",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "aws.configuration",
        "fallback",
        under(_BOTO, names="BotoCoreError"),
        PERMANENT,
        "the AWS client is configured or used wrongly",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "aws.client-any",
        "fallback",
        under(_BOTO, names="ClientError"),
        TRANSIENT,
        "AWS failed",
        _LIB,
        confidence=0.5,
    ),
    Rule(
        "google.internal",
        "type",
        under(_GOOGLE, names="InternalServerError"),
        TRANSIENT,
        "the service failed",
        "google.api_core.retry.if_transient_error",
    ),
    Rule(
        "google.retries",
        "fallback",
        under(_GOOGLE, names="RetryError"),
        TRANSIENT,
        "the client's own retries are used up",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "google.credentials",
        "type",
        under(
            _AUTH,
            names="DefaultCredentialsError MalformedError InvalidOperation InvalidValue ReauthFailError",
        ),
        PERMISSION,
        "there are no usable credentials",
        _LIB,
    ),
    Rule(
        "google.refresh",
        "fallback",
        under(_AUTH, names="RefreshError"),
        PERMISSION,
        "the token could not be renewed",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "google.auth-transport",
        "fallback",
        under(_AUTH, names="TransportError GoogleAuthError"),
        NETWORK,
        "the token server cannot be reached",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "google.unavailable",
        "fallback",
        under(_GOOGLE, names="ServiceUnavailable InternalServerError BadGateway GatewayTimeout ServerError"),
        TRANSIENT,
        "the service failed",
        _LIB,
    ),
    Rule(
        "azure.denied",
        "fallback",
        (
            *under(_AZURE, names="ClientAuthenticationError"),
            "azure.identity._exceptions.CredentialUnavailableError",
        ),
        PERMISSION,
        "Azure refuses the credentials",
        _LIB,
    ),
    Rule(
        "azure.missing",
        "fallback",
        under(_AZURE, names="ResourceNotFoundError"),
        PERMANENT,
        "the resource does not exist",
        _LIB,
    ),
    Rule(
        "azure.exists",
        "fallback",
        under(_AZURE, names="ResourceExistsError ResourceModifiedError ResourceNotModifiedError"),
        VALIDATION,
        "the resource is not in the state the call presumes",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "azure.connection",
        "fallback",
        under(
            _AZURE,
            names="ServiceRequestError ServiceResponseError ServiceRequestTimeoutError "
            "ServiceResponseTimeoutError "
            "IncompleteReadError StreamClosedError",
        ),
        NETWORK,
        "Azure cannot be reached",
        _LIB,
        confidence=0.9,
    ),
    Rule(
        "azure.body-cut",
        "type",
        under(_AZURE, names="IncompleteReadError"),
        NETWORK,
        "the answer was cut short",
        _LIB,
    ),
    Rule(
        "azure.exists-moving",
        "type",
        under(_AZURE, names="ResourceExistsError"),
        TRANSIENT,
        "the resource is leased or changing",
        "Azure Storage error codes",
        text=r"LeaseAlready|Being(Created|Deleted|Disabled|Moved)|InProgress|Conflict|another operation",
        confidence=0.8,
    ),
    Rule(
        "azure.exists-already",
        "type",
        under(_AZURE, names="ResourceExistsError"),
        VALIDATION,
        "there is already such a resource",
        _LIB,
    ),
    Rule(
        "kubernetes.config",
        "type",
        ("kubernetes.config.config_exception.ConfigException",),
        PERMANENT,
        "there is no usable configuration of the cluster",
        "the libraries' class trees",
    ),
    Rule(
        "kubernetes.quota",
        "status",
        (403,),
        RESOURCE,
        "a quota of the cluster is used up",
        "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
        text=r"exceeded quota",
        confidence=0.85,
    ),
    Rule(
        "aws.transfer",
        "fallback",
        (
            "s3transfer.exceptions.RetriesExceededError",
            "s3transfer.exceptions.S3DownloadFailedError",
            "boto3.exceptions.RetriesExceededError",
        ),
        NETWORK,
        "the transfer failed again and again",
        "the libraries' class trees",
        confidence=0.7,
    ),
    Rule(
        "aws.resource-misuse",
        "type",
        under(
            "boto3.exceptions",
            names="ResourceNotExistsError UnknownAPIVersionError ResourceLoadException NoVersionFound "
            "DynamoDBNeedsConditionError DynamoDBNeedsKeyConditionError PythonDeprecationWarning "
            "InvalidCrtTransferConfigError",
        ),
        PERMANENT,
        "boto3 was used wrongly",
        "the libraries' class trees",
    ),
    Rule(
        "azure.data",
        "type",
        under(
            _AZURE,
            names="DecodeError SerializationError DeserializationError ODataV4Error TooManyRedirectsError",
        ),
        VALIDATION,
        "the data cannot be read",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "cosmos.moved",
        "vendor",
        ("COSMOS-410",),
        TRANSIENT,
        "the partition has moved or split; the next try finds it",
        "https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb",
    ),
    Rule(
        "cosmos.timeout",
        "type",
        ("azure.cosmos.exceptions.CosmosClientTimeoutError",),
        NETWORK,
        "the service did not answer in time",
        _LIB,
    ),
    Rule(
        "azure.any",
        "fallback",
        under(_AZURE, names="HttpResponseError AzureError"),
        TRANSIENT,
        "Azure failed",
        _LIB,
        confidence=0.5,
    ),
)
