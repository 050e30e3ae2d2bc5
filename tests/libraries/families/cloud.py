"""Clouds: AWS by error code, Google, Azure, Kubernetes, Docker, gRPC."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any

from tests.libraries.cases import Case, caught, caused, family, meanwhile

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"
LIMITED = "resource/exponential resource/linear transient/exponential"

AWS_CODES = """
Throttling                              400 resource/exponential limited
ThrottlingException                     400 resource/exponential limited
ThrottledException                      429 resource/exponential limited
RequestLimitExceeded                    503 resource/exponential limited
RequestThrottledException               400 resource/exponential limited
ProvisionedThroughputExceededException  400 resource/exponential limited
SlowDown                                503 resource/exponential limited
TooManyRequestsException                429 resource/exponential limited
BandwidthLimitExceeded                  503 resource/exponential limited
EC2ThrottledException                   502 resource/exponential limited
KMSThrottlingException                  400 resource/exponential limited
LimitExceededException                  400 resource/linear limited
OverLimit                               403 resource/linear limited
ServiceQuotaExceededException           400 resource/linear limited+never
VcpuLimitExceeded                       400 resource/linear limited+never
InstanceLimitExceeded                   400 resource/linear limited+never
InsufficientFreeAddressesInSubnet       400 resource/linear limited+never
InsufficientAddressCapacity             400 resource/linear limited
ENILimitReachedException                502 resource/linear limited
StorageQuotaExceeded                    400 resource/linear limited+never
CodeStorageExceededException            400 resource/linear limited+never
InsufficientDBInstanceCapacity          400 resource/linear limited
RequestTimeout                          400 transient/exponential backoff
RequestTimeoutException                 400 transient/exponential backoff
PriorRequestNotComplete                 400 resource/exponential limited
InternalError                           500 transient/exponential backoff
InternalServerError                     500 transient/exponential backoff
InternalFailure                         500 transient/exponential backoff
ServiceFailure                          500 transient/exponential backoff
ServiceException                        500 transient/exponential backoff
InternalServiceException                500 transient/exponential backoff
ServiceUnavailable                      503 transient/exponential backoff
ServiceUnavailableException             503 transient/exponential backoff
KMSInternalException                    500 transient/exponential backoff
DependencyTimeoutException              503 transient/exponential backoff
IDPCommunicationError                   400 transient/exponential backoff
ModelNotReadyException                  429 transient/exponential backoff
ModelTimeoutException                   408 transient/exponential backoff
OperationAborted                        409 transient/exponential bounded
ConcurrentModification                  409 transient/exponential bounded
ConcurrentModificationException         400 transient/exponential bounded
ConditionalRequestConflict              409 transient/exponential bounded
EntityTemporarilyUnmodifiable           409 transient/exponential bounded
ResourceConflictException               409 transient/exponential bounded
ResourceInUseException                  400 transient/exponential bounded+never
TransactionConflictException            400 transient/exponential bounded
QueueDeletedRecently                    400 transient/exponential bounded
AWS.SimpleQueueService.QueueDeletedRecently 400 transient/exponential bounded
ResourceNotReadyException               502 transient/exponential bounded
IncorrectInstanceState                  400 transient/exponential bounded+never
InvalidDBInstanceState                  400 transient/exponential bounded+never
EFSMountTimeoutException                408 transient/exponential bounded
IncompleteBody                          400 network/exponential bounded+never
BadDigest                               400 network/exponential bounded+never
ExpiredToken                            400 permission/never never
ExpiredTokenException                   400 permission/never never
InvalidClientTokenId                    403 permission/never never
UnrecognizedClientException             400 permission/never never
InvalidAccessKeyId                      403 permission/never never
AuthFailure                             401 permission/never never
UnauthorizedOperation                   403 permission/never never
AccessDeniedException                   400 permission/never never
MissingAuthenticationToken              403 permission/never never
IncompleteSignature                     400 permission/never never
OptInRequired                           403 permission/never never
RequestTimeTooSkewed                    403 permission/never never
RequestExpired                          400 permission/never never
NotAuthorized                           400 permission/never never
IDPRejectedClaim                        403 permission/never never
RegionDisabledException                 403 permission/never never
KMSAccessDeniedException                502 permission/never never
InvalidIdentityToken                    400 permission/never never
MailFromDomainNotVerifiedException      400 permission/never never
DisabledException                       400 permanent/never never
NoSuchBucket                            404 permanent/never never
NoSuchUpload                            404 permanent/never never
404                                     404 permanent/never never
403                                     403 permission/never never
400                                     400 validation/never never
ResourceNotFoundException               400 permanent/never never
AWS.SimpleQueueService.NonExistentQueue 400 permanent/never never
QueueDoesNotExist                       400 permanent/never never
InvalidInstanceID.NotFound              400 permanent/never never
DBInstanceNotFound                      404 permanent/never never
ClusterNotFoundException                400 permanent/never never
StateMachineDoesNotExist                400 permanent/never never
ExecutionDoesNotExist                   400 permanent/never never
StreamNotFoundException                 400 permanent/never never
EndpointDisabled                        400 permanent/never never
ExpiredIteratorException                400 permanent/never bounded+never
InvalidObjectState                      403 permanent/never never
BucketNotEmpty                          409 permanent/never never
DeleteConflict                          409 permanent/never never
MessageRejected                         400 permanent/never never
Unsupported                             400 permanent/never never
UnsupportedOperation                    400 permanent/never never
DryRunOperation                         412 permanent/never never
PreconditionFailed                      412 permanent/never never
MethodNotAllowed                        405 permanent/never never
NotImplemented                          501 permanent/never never
CertificateException                    400 permanent/never never
ValidationException                     400 validation/never never
ValidationError                         400 validation/never never
InvalidRequest                          400 validation/never never
InvalidRequestException                 400 validation/never never
InvalidParameterValueException          400 validation/never never
InvalidParameterValue                   400 validation/never never
InvalidParameterCombination             400 validation/never never
MissingParameter                        400 validation/never never
InvalidMessageContents                  400 validation/never never
InvalidArgument                         400 validation/never never
InvalidBucketName                       400 validation/never never
InvalidRange                            416 validation/never never
ConditionalCheckFailedException         400 validation/never never
ItemCollectionSizeLimitExceededException 400 validation/never never
SerializationException                  400 validation/never never
BucketAlreadyExists                     409 validation/never never
BucketAlreadyOwnedByYou                 409 validation/never never
EntityAlreadyExists                     409 validation/never never
ExecutionAlreadyExists                  400 validation/never never
AlreadyExistsException                  400 validation/never never
DBInstanceAlreadyExists                 400 validation/never never
EntityTooLarge                          400 validation/never never
RequestTooLargeException                413 validation/never never
RequestEntityTooLargeException          413 validation/never never
PackedPolicyTooLarge                    400 validation/never never
KeyTooLongError                         400 validation/never never
MalformedXML                            400 validation/never never
MalformedPolicyDocument                 400 validation/never never
XAmzContentSHA256Mismatch               400 validation/never bounded+never
BatchRequestTooLong                     400 validation/never never
TooManyEntriesInBatchRequest            400 validation/never never
EmptyBatchRequest                       400 validation/never never
InsufficientCapabilitiesException       400 validation/never never
"""
ALSO = {
    "limited": LIMITED, "backoff": BACKOFF, "bounded": f"{BOUNDED} transient/immediate", "never": NEVER,
}  # fmt: skip


@family("botocore", "the services' API references, error codes; botocore retries/standard.py")
def aws_cases() -> Iterator[Case]:
    import boto3.exceptions as b3
    import botocore.exceptions as bx
    import s3transfer.exceptions as sx

    def refused(code: str, status: int, message: str = "", operation: str = "Call", headers: Any = None) -> bx.ClientError:
        meta = {"HTTPStatusCode": status, "HTTPHeaders": headers or {}}
        return bx.ClientError({"Error": {"Code": code, "Message": message}, "ResponseMetadata": meta}, operation)

    for line in AWS_CODES.strip().splitlines():
        code, status, expected, names = line.split()
        yield Case(expected, refused(code, int(status)), " ".join(ALSO[n] for n in names.split("+")), code)
    reasons = "Transaction cancelled, please refer cancellation reasons for specific reasons [{}, None]"
    cancelled = "TransactionCanceledException"
    again = f"{BOUNDED} transient/immediate"
    yield Case("transient/exponential", refused(cancelled, 400, reasons.format("TransactionConflict")), again)
    yield Case("resource/exponential", refused(cancelled, 400, reasons.format("ThrottlingError")), again)
    yield Case("validation/never", refused(cancelled, 400, reasons.format("ConditionalCheckFailed")), NEVER)
    yield Case("resource/exponential", refused("SlowDown", 503, headers={"retry-after": "4"}), LIMITED)
    url = "https://s3.eu-west-1.amazonaws.com/"
    yield Case("network/exponential", bx.ConnectionClosedError(endpoint_url=url), BACKOFF)
    yield Case("network/exponential", bx.ConnectTimeoutError(endpoint_url=url), BACKOFF)
    yield Case("network/exponential", bx.ProxyConnectionError(proxy_url="http://proxy"), BACKOFF)
    yield Case("network/exponential", bx.HTTPClientError(error="broken"), BACKOFF)
    yield Case("network/exponential", bx.ResponseStreamingError(error="broken"), BACKOFF)
    yield Case("network/exponential", bx.IncompleteReadError(actual_bytes=1, expected_bytes=9), BACKOFF)
    yield Case("network/exponential", bx.MetadataRetrievalError(error_msg="timed out"), f"{BACKOFF} permission/never")
    yield Case("permanent/never", bx.SSLError(endpoint_url=url, error="certificate verify failed"), NEVER)
    yield Case("permission/never", bx.PartialCredentialsError(provider="env", cred_var="key"), NEVER)
    yield Case("permission/never", bx.TokenRetrievalError(provider="sso", error_msg="expired"), NEVER)
    yield Case("permission/never", bx.UnauthorizedSSOTokenError(), NEVER)
    yield Case("permission/never", bx.CredentialRetrievalError(provider="custom", error_msg="no"), f"{NEVER} {BACKOFF}")
    yield Case("permanent/never", bx.UnknownServiceError(service_name="s4", known_service_names="s3"), NEVER)
    yield Case("permanent/never", bx.ProfileNotFound(profile="x"), NEVER)
    yield Case("permanent/never", bx.DataNotFoundError(data_path="x"), NEVER)
    yield Case("permanent/never", bx.OperationNotPageableError(operation_name="x"), NEVER)
    yield Case("validation/never", bx.InvalidRegionError(region_name="a b"), NEVER)
    yield Case("validation/never", bx.InvalidS3AddressingStyleError(s3_addressing_style="x"), NEVER)
    yield Case("permanent/never", bx.EndpointProviderError(msg="x"), NEVER)
    waited = bx.WaiterError(name="instance_running", reason="Max attempts exceeded", last_response={})
    yield Case("transient/exponential", waited, BOUNDED)
    upload = b3.S3UploadFailedError("Failed to upload a to b/c: An error occurred (AccessDenied)")
    yield Case("permission/never", meanwhile(upload, refused("AccessDenied", 403)), NEVER)
    upload = b3.S3UploadFailedError("Failed to upload a to b/c: An error occurred (SlowDown)")
    yield Case("resource/exponential", meanwhile(upload, refused("SlowDown", 503)), LIMITED)
    yield Case("network/exponential", sx.RetriesExceededError(ConnectionResetError(104, "reset")), BACKOFF)
    yield Case("network/exponential", b3.RetriesExceededError(bx.ReadTimeoutError(endpoint_url=url)), BACKOFF)
    yield Case("permanent/never", b3.ResourceNotExistsError("s4", ["s3"], True), NEVER)
    import boto3

    session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="eu-west-1")
    table = session.client("dynamodb")
    missing: Any = table.exceptions.ResourceNotFoundException
    meta = {"HTTPStatusCode": 400, "HTTPHeaders": {}}
    yield Case(
        "permanent/never",
        missing({"Error": {"Code": "ResourceNotFoundException", "Message": "no"}, "ResponseMetadata": meta}, "GetItem"), NEVER,
    )  # fmt: skip
    yield Case("validation/never", caught(lambda: table.get_item(TableName="t")), NEVER)


@family("google-api-core", "https://cloud.google.com/apis/design/errors; the services' error reasons")
def google_cases() -> Iterator[Case]:
    import google.api_core.exceptions as gx
    import google.auth.exceptions as ga

    for name, expected, also in (
        ("TooManyRequests", "resource/exponential", LIMITED), ("ResourceExhausted", "resource/exponential", LIMITED),
        ("ServiceUnavailable", "transient/exponential", BACKOFF), ("GatewayTimeout", "transient/exponential", BACKOFF),
        ("DeadlineExceeded", "network/exponential", BACKOFF), ("InternalServerError", "transient/exponential", f"{BACKOFF}"),
        ("BadGateway", "transient/exponential", BACKOFF), ("Unknown", "transient/exponential", BACKOFF),
        ("Aborted", "transient/immediate", "transient/exponential"), ("Cancelled", "transient/exponential", f"{BACKOFF} transient/immediate permanent/never"),
        ("AlreadyExists", "validation/never", NEVER), ("Conflict", "transient/exponential", f"{NEVER} transient/immediate"),
        ("FailedPrecondition", "permanent/never", NEVER), ("PreconditionFailed", "permanent/never", NEVER),
        ("NotFound", "permanent/never", NEVER), ("Unauthenticated", "permission/never", ""),
        ("Unauthorized", "permission/never", ""), ("PermissionDenied", "permission/never", ""),
        ("InvalidArgument", "validation/never", NEVER), ("OutOfRange", "validation/never", NEVER),
        ("BadRequest", "validation/never", NEVER), ("DataLoss", "permanent/never", ""),
        ("MethodNotImplemented", "permanent/never", NEVER), ("MethodNotAllowed", "permanent/never", NEVER),
        ("LengthRequired", "validation/never", NEVER), ("RequestRangeNotSatisfiable", "validation/never", NEVER),
    ):  # fmt: skip
        yield Case(expected, getattr(gx, name)("told"), also, name)
    yield Case("network/exponential", gx.RetryError("Timeout of 60.0s exceeded", ConnectionError("x")), BACKOFF)
    yield Case("transient/exponential", gx.RetryError("Timeout of 60.0s exceeded", gx.ServiceUnavailable("x")), BACKOFF)

    def forbidden(reason: str) -> gx.Forbidden:
        return gx.Forbidden("told", errors=[{"reason": reason, "message": "told"}])

    yield Case("resource/exponential", forbidden("userRateLimitExceeded"), LIMITED)
    yield Case("resource/linear", forbidden("quotaExceeded"), f"{LIMITED} permanent/never")
    yield Case("permanent/never", forbidden("billingNotEnabled"), NEVER)
    yield Case("permission/never", forbidden("accessNotConfigured"), NEVER)
    yield Case("permission/never", forbidden("insufficientPermissions"), "")
    yield Case("validation/never", gx.BadRequest("Syntax error", errors=[{"reason": "invalidQuery"}]), NEVER)
    yield Case("transient/exponential", gx.BadRequest("told", errors=[{"reason": "backendError"}]), BACKOFF)
    refresh = ga.RefreshError("invalid_grant: Token has been expired or revoked.", {"error": "invalid_grant"})
    yield Case("permission/never", refresh, NEVER)
    yield Case("network/exponential", caused(ga.TransportError("x"), ConnectionResetError(104, "reset")), BACKOFF)
    yield Case("network/exponential", ga.TransportError("Failed to retrieve http://metadata: timed out"), BACKOFF)
    yield Case("transient/exponential", ga.RefreshError("internal_failure", retryable=True), BACKOFF)
    yield Case("permission/never", ga.DefaultCredentialsError("Your default credentials were not found."), NEVER)


@family("azure-core", "azure-core's retry policy; Azure storage error codes")
def azure_cases() -> Iterator[Case]:
    import azure.core.exceptions as az

    def answer(kind: Any, status: int, code: str = "", headers: dict[str, str] | None = None, text: str = "told") -> Any:
        exc = kind(text)
        exc.status_code = status
        exc.error_code = code or None
        exc.response = type("Answer", (), {"status_code": status, "headers": headers or {}, "reason": "told"})()
        return exc

    bad = az.HttpResponseError
    yield Case("permanent/never", answer(az.ResourceNotFoundError, 404, "BlobNotFound"), NEVER)
    yield Case("validation/never", answer(az.ResourceExistsError, 409, "BlobAlreadyExists"), NEVER)
    yield Case("validation/never", answer(az.ResourceExistsError, 409, "ContainerAlreadyExists"), NEVER)
    yield Case("permanent/never", answer(az.ResourceModifiedError, 412, "ConditionNotMet"), NEVER)
    yield Case("transient/exponential", answer(bad, 409, "LeaseAlreadyPresent"), f"{BOUNDED} {NEVER}")
    yield Case("transient/exponential", answer(bad, 409, "ContainerBeingDeleted"), BOUNDED)
    yield Case("resource/exponential", answer(bad, 429, "TooManyRequests", {"retry-after": "8"}), LIMITED)
    yield Case("resource/exponential", answer(bad, 503, "ServerBusy"), LIMITED)
    yield Case("transient/exponential", answer(bad, 500, "OperationTimedOut"), BACKOFF)
    yield Case("transient/exponential", answer(bad, 500, "InternalError"), BACKOFF)
    yield Case("permission/never", answer(bad, 403, "AuthorizationPermissionMismatch"), NEVER)
    yield Case("permission/never", answer(az.ClientAuthenticationError, 403, "AuthenticationFailed"), NEVER)
    yield Case("validation/never", answer(bad, 400, "InvalidHeaderValue"), NEVER)
    yield Case("validation/never", answer(bad, 413, "RequestBodyTooLarge"), NEVER)
    yield Case("permanent/never", answer(bad, 405, "UnsupportedHttpVerb"), NEVER)
    yield Case("network/exponential", az.ServiceResponseError("('Connection aborted.', RemoteDisconnected())"), BACKOFF)
    yield Case("network/exponential", az.ServiceRequestTimeoutError("Connection timed out."), BACKOFF)
    yield Case("network/exponential", az.ServiceResponseTimeoutError("Read timed out."), BACKOFF)
    yield Case("network/exponential", az.IncompleteReadError("3 bytes read, 9 more expected"), BACKOFF)
    failed = az.ServiceRequestError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    yield Case("permanent/never", failed, NEVER)
    yield Case("validation/never", az.DecodeError("Cannot deserialize content"), NEVER)
    yield Case("validation/never", az.SerializationError("Unable to build a model"), NEVER)
    yield Case("permanent/never", az.TooManyRedirectsError([]), NEVER)


@family("grpcio", "grpc/grpc doc/statuscodes.md")
def grpc_cases() -> Iterator[Case]:
    import grpc
    from grpc import _channel

    def failed(code: str, details: str = "told") -> Any:
        return _channel._InactiveRpcError(_channel._RPCState((), (), (), getattr(grpc.StatusCode, code), details))

    for code, expected, also in (
        ("UNAVAILABLE", "network/exponential", BACKOFF), ("DEADLINE_EXCEEDED", "network/exponential", BACKOFF),
        ("CANCELLED", "transient/exponential", f"{BACKOFF} transient/immediate permanent/never"),
        ("UNKNOWN", "transient/exponential", f"{BACKOFF} permanent/never"), ("NOT_FOUND", "permanent/never", NEVER),
        ("ALREADY_EXISTS", "validation/never", NEVER), ("OUT_OF_RANGE", "validation/never", NEVER),
        ("UNAUTHENTICATED", "permission/never", ""), ("INTERNAL", "permanent/never", "transient/exponential"),
        ("DATA_LOSS", "permanent/never", ""),
    ):  # fmt: skip
        yield Case(expected, failed(code), also, code)
    yield Case("validation/never", failed("RESOURCE_EXHAUSTED", "Received message larger than max (5 vs. 4)"), NEVER)
    yield Case("validation/never", failed("RESOURCE_EXHAUSTED", "CLIENT: Sent message larger than max"), NEVER)
    yield Case("transient/exponential", failed("INTERNAL", "stream terminated by RST_STREAM with NO_ERROR"), BACKOFF)
    yield Case("transient/exponential", failed("UNAVAILABLE", "GOAWAY received"), BACKOFF)
    yield Case("permanent/never", failed("INTERNAL", "assertion failed: index < size"), "transient/exponential")
    yield Case("permanent/never", failed("INTERNAL", "Exception deserializing response!"), f"{NEVER} transient/exponential")
    handshake = (
        "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:443: Ssl handshake failed: "
        "SSL_ERROR_SSL: error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED"
    )
    yield Case("permanent/never", failed("UNAVAILABLE", handshake), NEVER, "a certificate, not an outage")
    yield Case("network/exponential", failed("UNAVAILABLE", "DNS resolution failed for x:443"), BACKOFF)
    yield Case("network/exponential", grpc.FutureTimeoutError(), BACKOFF)


@family("kubernetes", "https://kubernetes.io/docs/reference/using-api/api-concepts/")
def kubernetes_cases() -> Iterator[Case]:
    from kubernetes.client.exceptions import ApiException, ApiTypeError, ApiValueError
    from kubernetes.config import ConfigException

    for status, reason, expected, also in (
        (409, "Conflict", "transient/immediate", "transient/exponential validation/never"), (404, "NotFound", "permanent/never", ""),
        (403, "Forbidden", "permission/never", ""), (401, "Unauthorized", "permission/never", ""),
        (422, "Unprocessable Entity", "validation/never", "permanent/never"), (429, "Too Many Requests", "resource/exponential", LIMITED),
        (500, "Internal Server Error", "transient/exponential", BACKOFF), (504, "Gateway Timeout", "transient/exponential", BACKOFF),
        (410, "Gone", "permanent/never", "transient/exponential transient/immediate"),
    ):  # fmt: skip
        yield Case(expected, ApiException(status=status, reason=reason), also, f"HTTP {status}")
    exists = ApiException(status=409, reason="Conflict")
    exists.body = '{"kind": "Status", "reason": "AlreadyExists", "code": 409}'
    yield Case("validation/never", exists, NEVER)
    quota = ApiException(status=403, reason="Forbidden")
    quota.body = '{"reason": "Forbidden", "message": "pods \\"a\\" is forbidden: exceeded quota: compute"}'
    yield Case("resource/linear", quota, f"{LIMITED} permission/never")
    yield Case("validation/never", ApiValueError("Missing the required parameter `namespace`"), NEVER)
    yield Case("validation/never", ApiTypeError("Got an unexpected keyword argument"), NEVER)
    yield Case("permanent/never", ConfigException("Invalid kube-config file. No configuration found."), NEVER)


@family("docker", "Docker Engine API, status codes; docker.errors")
def docker_cases() -> Iterator[Case]:
    import docker.errors as de
    import requests

    def answer(status: int, text: str, kind: Any = de.APIError) -> Any:
        response = requests.Response()
        response.status_code, response.url, response.reason = status, "http+docker://x", "told"
        return kind("told", response=response, explanation=text)

    yield Case("transient/exponential", answer(500, "dial tcp: lookup registry: i/o timeout"), BACKOFF)
    yield Case("transient/exponential", answer(500, "driver failed programming external connectivity"), f"{BACKOFF} permanent/never")
    yield Case("resource/linear", answer(500, "write /var/lib/docker/tmp: no space left on device"), BOUNDED)
    yield Case("resource/exponential", answer(429, "toomanyrequests: You have reached your pull rate limit"), LIMITED)
    yield Case("permanent/never", answer(404, "No such container: a", de.NotFound), NEVER)
    yield Case("transient/exponential", answer(409, "the container name is already in use"), f"{NEVER} {BOUNDED}")
    yield Case("validation/never", answer(400, "invalid reference format"), NEVER)
    yield Case("permission/never", answer(403, "denied: requested access to the resource is denied"), NEVER)
    yield Case("resource/linear", de.ContainerError("c", 137, "cmd", "image", b""), BOUNDED)
    yield Case("transient/exponential", de.ContainerError("c", 1, "cmd", "image", b""), "permanent/never")
    yield Case("permanent/never", de.ContainerError("c", 127, "cmd", "image", b""), NEVER)
    start = "Error while fetching server API version: ('Connection aborted.', {})"
    yield Case("network/exponential", de.DockerException(start.format("ConnectionRefusedError(111, 'Connection refused')")), BACKOFF)
    yield Case("permission/never", de.DockerException(start.format("PermissionError(13, 'Permission denied')")), NEVER)
    yield Case("permanent/never", de.DockerException(start.format("FileNotFoundError(2, 'No such file or directory')")), f"{NEVER} {BACKOFF}")
    yield Case("permanent/never", de.BuildError("The command returned a non-zero code: 1", []), f"{NEVER} transient/exponential")
    yield Case("permanent/never", de.InvalidVersion("API versions below 1.24 are no longer supported"), NEVER)
    yield Case("network/exponential", http.client.IncompleteRead(b""), BACKOFF)
