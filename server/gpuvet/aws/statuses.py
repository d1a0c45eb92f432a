"""What a service's error code means for a reading, as a table.

Codes are matched exactly. A code that stands nowhere here is UNVERIFIED without a reason of its
own: we then know that nothing was read, and not why.
"""

from types import MappingProxyType
from typing import NamedTuple

from gpuvet.model.evidence import Reason, Status


class Meaning(NamedTuple):
    """What to record, and how to go on."""

    status: Status
    reason: Reason | None
    is_retried: bool = False
    ends_gathering: bool = False  # every later call fails the same way


_DENIED = Meaning(Status.UNVERIFIED, Reason.DENIED)
_EXPIRED = Meaning(Status.UNVERIFIED, Reason.EXPIRED, ends_gathering=True)
_THROTTLED = Meaning(Status.UNVERIFIED, Reason.THROTTLED, is_retried=True)
_UNREACHABLE = Meaning(Status.UNVERIFIED, Reason.UNREACHABLE, is_retried=True)
_TIMED_OUT = Meaning(Status.UNVERIFIED, Reason.TIMED_OUT, is_retried=True)
_ABSENT = Meaning(Status.NOT_FOUND, None)
_GATED = Meaning(Status.NOT_SUPPORTED, Reason.NOT_SUPPORTED)
_UNKNOWN = Meaning(Status.UNVERIFIED, None)

# EC2 says UnauthorizedOperation; the query protocol says AccessDenied without "Exception".
_AWS = {
    "UnauthorizedOperation": _DENIED,
    "AccessDeniedException": _DENIED,
    "AccessDenied": _DENIED,
    "AuthFailure": _DENIED,
    "OptInRequired": _DENIED,
    "UnauthorizedException": _DENIED,
    "ForbiddenException": _DENIED,
    "ExpiredTokenException": _EXPIRED,
    "ExpiredToken": _EXPIRED,
    "RequestExpired": _EXPIRED,
    "InvalidClientTokenId": _EXPIRED,
    "UnrecognizedClientException": _EXPIRED,
    "InvalidAccessKeyId": _EXPIRED,
    "InvalidToken": _EXPIRED,
    "MissingAuthenticationToken": _EXPIRED,
    "MissingAuthenticationTokenException": _EXPIRED,
    "IncompleteSignature": _EXPIRED,
    "IncompleteSignatureException": _EXPIRED,
    "InvalidSignatureException": _EXPIRED,
    "SignatureDoesNotMatch": _EXPIRED,
    "RequestTimeTooSkewed": _EXPIRED,
    "ThrottlingException": _THROTTLED,
    "Throttling": _THROTTLED,
    "ThrottledException": _THROTTLED,
    "RequestThrottledException": _THROTTLED,
    "EC2ThrottledException": _THROTTLED,
    "PriorRequestNotComplete": _THROTTLED,
    "TooManyRequestsException": _THROTTLED,
    "RequestLimitExceeded": _THROTTLED,
    "RequestThrottled": _THROTTLED,
    "SlowDown": _THROTTLED,
    "LimitExceededException": _THROTTLED,
    "SubscriptionRequiredException": Meaning(Status.UNVERIFIED, Reason.NOT_SUBSCRIBED),
    "ResourceNotFound": _ABSENT,
    "ResourceNotFoundException": _ABSENT,
    "FileSystemNotFound": _ABSENT,
    "NoSuchResourceException": _ABSENT,
    "InvalidInstanceID.NotFound": _ABSENT,
    "InvalidSubnetID.NotFound": _ABSENT,
    "InvalidGroup.NotFound": _ABSENT,
    "InvalidCapacityReservationId.NotFound": _ABSENT,
    "InvalidRouteTableID.NotFound": _ABSENT,
    "InvalidNetworkInterfaceID.NotFound": _ABSENT,
    "InvalidPrefixListID.NotFound": _ABSENT,
    "InvalidVpcEndpointId.NotFound": _ABSENT,
    "NotFoundException": _ABSENT,
    "ServiceUnavailableException": _UNREACHABLE,
    "ServiceUnavailable": _UNREACHABLE,
    "InternalServerError": _UNREACHABLE,
    "InternalServiceException": _UNREACHABLE,
    "InternalFailure": _UNREACHABLE,
    "InternalError": _UNREACHABLE,
    # botocore's own exceptions, by class name: there is no response to read a code from.
    "HTTPClientError": _UNREACHABLE,
    "EndpointConnectionError": _UNREACHABLE,
    "ConnectionClosedError": _UNREACHABLE,
    "ProxyConnectionError": _UNREACHABLE,
    "ResponseParserError": _UNREACHABLE,  # something between us and AWS answered
    "SSLError": _UNREACHABLE,
    "UnknownEndpointError": _UNREACHABLE,
    "EndpointProviderError": _UNREACHABLE,
    "ConnectTimeoutError": _TIMED_OUT,
    "ReadTimeoutError": _TIMED_OUT,
    "NoCredentialsError": _EXPIRED,
    "PartialCredentialsError": _EXPIRED,
    "CredentialRetrievalError": _EXPIRED,
    "MetadataRetrievalError": _EXPIRED,
    "InvalidConfigError": _EXPIRED,
    "ConfigNotFound": _EXPIRED,
    "InfiniteLoopConfigError": _EXPIRED,
    "SSOError": _EXPIRED,
    "TokenRetrievalError": _EXPIRED,
    "LoginError": _EXPIRED,
    "NoRegionError": Meaning(Status.UNVERIFIED, Reason.UNREACHABLE),
}

# Of the doors that are no AWS API (`live_http.py`): our own names for what came of a request.
_OURS = {
    # Prometheus' "execution" and Kubernetes' own words are left to the HTTP status.
    "AnswerTooLarge": Meaning(Status.UNVERIFIED, Reason.ROW_CAP),
    "TooManySamples": Meaning(Status.UNVERIFIED, Reason.ROW_CAP),
    "Redirected": Meaning(Status.UNVERIFIED, Reason.REFUSED),
    "ForeignHost": Meaning(Status.UNVERIFIED, Reason.REFUSED),
    "NoSuchKind": Meaning(Status.NOT_SUPPORTED, Reason.NOT_SUPPORTED),
    # A private endpoint asked from outside: the next try would wait as long.
    "ConnectTimeout": Meaning(Status.UNVERIFIED, Reason.TIMED_OUT),
}
MEANINGS = MappingProxyType({**_AWS, **_OURS})

# No connection came about; a read time-out or a 5xx is one request's own.
NO_CONNECTION = frozenset(
    {
        *("EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError"),
        "ConnectTimeout",
    }
)

# ListClusterEvents and DescribeClusterEvent answer so on clusters without that mode.
_MODE_GATE = "only supported for cluster with NodeProvisioningMode set to Continuous"


def meaning_of(code: str, message: str = "", http_status: int | None = None) -> Meaning:
    """Return what an error says about the reading that got it.

    Args:
        code: `Error.Code` of the response, or the class name of a botocore exception.
        message: `Error.Message`; read only for the one gate that has no code of its own.
        http_status: Decides for codes the table lacks: 401 and 403 are denials, 429 a throttle,
            5xx a service that was not reached.
    """
    if code == "ValidationException" and _MODE_GATE in message:
        return _GATED
    if code in MEANINGS:
        return MEANINGS[code]
    if http_status in {401, 403}:
        return _DENIED
    if http_status == 429:
        return _THROTTLED
    if http_status is not None and http_status >= 500:
        return _UNREACHABLE
    return _UNKNOWN
