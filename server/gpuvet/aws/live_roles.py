"""Sessions of an assumed role: never more than the list of reads, whatever the role may do."""

from collections.abc import Mapping
from typing import Any

from botocore.credentials import (
    CredentialProvider,
    CredentialResolver,
    DeferredRefreshableCredentials,
)
from botocore.session import Session

from gpuvet.aws.iam_policy import session_policy
from gpuvet.aws.live_wire import guard
from gpuvet.aws.login import Login

# Shown in the customer's CloudTrail as the caller of every read.
SESSION_NAME = "gpuvet"
_METHOD = "assume-role"


def assume(source: Session, login: Login, config: Mapping[str, Any]) -> Session:
    """Return a session of the role; AssumeRole is called when its first request is signed.

    Args:
        source: The session whose credentials may assume it; guarded already.
        login: The role, and the external id where the role asks for one.
        config: How the STS client is made: region, endpoint, time-outs.
    """
    params = {
        "RoleArn": login.role,
        "RoleSessionName": SESSION_NAME,
        "Policy": session_policy(),
        **({} if login.external_id is None else {"ExternalId": login.external_id}),
    }

    def fetch() -> dict[str, Any]:
        client: Any = source.create_client("sts", **config)
        given = client.assume_role(**params)["Credentials"]
        return {
            "access_key": given["AccessKeyId"],
            "secret_key": given["SecretAccessKey"],
            "token": given["SessionToken"],
            "expiry_time": given["Expiration"].isoformat(),
        }

    session = Session()
    provider = _Provider(DeferredRefreshableCredentials(refresh_using=fetch, method=_METHOD))
    session.register_component("credential_provider", CredentialResolver([provider]))
    guard(session)
    return session


class _Provider(CredentialProvider):
    """A credential provider with one answer."""

    METHOD = _METHOD

    def __init__(self, credentials: DeferredRefreshableCredentials) -> None:
        super().__init__()
        self._credentials = credentials

    def load(self) -> DeferredRefreshableCredentials:
        return self._credentials
