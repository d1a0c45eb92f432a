"""Service quotas. A quota is a limit on asking, never capacity."""

from gpuvet.aws.answers import read_rows, with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.readiness import Quota
from gpuvet.model.untyped import is_number, object_at, text_at

# AWS's API reference: "Network interfaces per Region".
INTERFACES = ("vpc", "L-DF5E4CA3")


def read_quota(door: AwsDoor, service: str, code: str) -> Envelope[Quota]:
    """Return a quota by its code; where none is applied in the region, AWS's default."""
    params = {"ServiceCode": service, "QuotaCode": code}
    answer = door.read("service-quotas:GetServiceQuota", params)
    is_default = answer.status is Status.NOT_FOUND
    if is_default:
        answer = door.read("service-quotas:GetAWSDefaultServiceQuota", params)
    for page in answer.value or ():
        row = object_at(page, "Quota")
        value = row.get("Value")
        if is_number(value):
            found = Quota(
                name=text_at(row, "QuotaName") or code,
                value=float(value),
                is_default=is_default,
                evidence=answer.evidence,
            )
            return with_value(answer, found)
    return with_value(answer, None)


def read_quotas(door: AwsDoor, service: str) -> Envelope[tuple[Quota, ...]]:
    """Return every quota of a service, for those that are known by name only."""
    return read_rows(
        door,
        "service-quotas:ListServiceQuotas",
        {"ServiceCode": service},
        "Quotas",
        lambda row, evidence: (
            Quota(name=name, value=float(value), evidence=evidence)
            if (name := text_at(row, "QuotaName")) and is_number(value := row.get("Value"))
            else None
        ),
    )
