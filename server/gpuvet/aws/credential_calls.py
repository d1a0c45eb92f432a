"""The calls that credential providers make for us: the fourth list of what may leave.

Reads of the account stand in `reads.py`. These few change nothing of the customer's either: they
trade what the user holds (keys, a login, a token) for short-lived credentials, or say who we are.
"""

from gpuvet.aws.reads import READS

# botocore's providers (1.44.8): assume role, web identity, SSO, the refresh of an SSO token, login.
CREDENTIAL_CALLS = frozenset(
    {
        "sts:AssumeRole",
        "sts:AssumeRoleWithWebIdentity",
        "sts:AssumeRoleWithSAML",
        "sts:GetCallerIdentity",
        "sso:GetRoleCredentials",
        "sso-oidc:CreateToken",
        "signin:CreateOAuth2Token",
    }
)

# Events at the wire name a service by its service id; the lists name it by boto3's client.
SERVICE_IDS = {
    "amp": "amp",
    "cloudtrail": "cloudtrail",
    "cloudwatch": "cloudwatch",
    "ec2": "ec2",
    "eks": "eks",
    "events": "eventbridge",
    "fsx": "fsx",
    "health": "health",
    "kms": "kms",
    "logs": "cloudwatch-logs",
    "sagemaker": "sagemaker",
    "service-quotas": "service-quotas",
    "signin": "signin",
    "sso": "sso",
    "sso-oidc": "sso-oidc",
    "sts": "sts",
}


def passing() -> frozenset[tuple[str, str]]:
    """Return (service id, operation) of everything that may reach the wire."""
    every = (*READS, *CREDENTIAL_CALLS)
    pairs = (operation.partition(":") for operation in every)
    return frozenset((SERVICE_IDS[service], name) for service, _, name in pairs)
