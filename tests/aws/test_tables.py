"""The written tables at the AWS edge: reads, statuses, times."""

import re
from datetime import UTC, datetime
from functools import cache

import botocore.session
import pytest
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape

from gpuvet.aws.reads import READS, read_of, services_of
from gpuvet.aws.statuses import meaning_of
from gpuvet.aws.timestamps import TIME_MEMBERS, as_datetime
from gpuvet.errors import NotReadOnly
from gpuvet.model.evidence import Reason, Status

_READ_VERBS = re.compile(r"(?:Describe|List|Get|Lookup|Filter)[A-Z]|StartQuery$|StopQuery$")


@cache
def models(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def output_of(operation: str) -> Shape:
    row = read_of(operation)
    model = models(row.service)
    shape = model.operation_model(row.name).output_shape
    assert shape is not None
    return shape


def time_members(shape: Shape, name: str, seen: frozenset[str]) -> set[str]:
    if shape.type_name == "timestamp":
        return {name}
    if isinstance(shape, StructureShape) and shape.name not in seen:
        inner = seen | {shape.name}
        found = (time_members(member, key, inner) for key, member in shape.members.items())
        return {name for names in found for name in names}
    if isinstance(shape, ListShape):
        return time_members(shape.member, name, seen)
    if isinstance(shape, MapShape):
        return time_members(shape.value, name, seen)
    return set()


def test_the_table_of_time_members_is_that_of_the_service_models() -> None:
    found = (time_members(output_of(one), "", frozenset()) for one in READS)
    assert {name for names in found for name in names} == TIME_MEMBERS


@pytest.mark.parametrize("operation", READS)
def test_the_rows_of_a_listing_stand_where_the_service_model_has_a_list(operation: str) -> None:
    shape = output_of(operation)
    assert isinstance(shape, StructureShape)
    for name in read_of(operation).rows:
        assert shape.members[name].type_name == "list"


@pytest.mark.parametrize("operation", READS)
def test_every_operation_reads_and_has_an_iam_action(operation: str) -> None:
    row = read_of(operation)
    assert _READ_VERBS.match(row.name)
    assert row.iam_action.endswith(f":{row.name}")


def test_an_operation_that_is_not_listed_is_refused() -> None:
    with pytest.raises(NotReadOnly):
        read_of("ec2:RunInstances")


def test_a_name_that_two_services_share_belongs_to_both() -> None:
    assert services_of("DescribeCluster") == ("eks", "sagemaker")
    assert services_of("LookupEvents") == ("cloudtrail",)


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("UnauthorizedOperation", Status.UNVERIFIED, Reason.DENIED),
        ("ExpiredToken", Status.UNVERIFIED, Reason.EXPIRED),
        ("LimitExceededException", Status.UNVERIFIED, Reason.THROTTLED),
        ("NoSuchResourceException", Status.NOT_FOUND, None),
        ("ReadTimeoutError", Status.UNVERIFIED, Reason.TIMED_OUT),
        ("ValidationException", Status.UNVERIFIED, None),
    ],
)
def test_a_code_has_one_meaning(code: str, status: Status, reason: Reason | None) -> None:
    meaning = meaning_of(code)
    assert (meaning.status, meaning.reason) == (status, reason)


def test_no_code_ever_means_an_empty_answer() -> None:
    for code in ("AccessDenied", "Unheard", ""):
        assert not meaning_of(code).status.is_complete


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2026-03-02T04:00:00Z", datetime(2026, 3, 2, 4, tzinfo=UTC)),
        ("2026-03-02T02:00Z", datetime(2026, 3, 2, 2, tzinfo=UTC)),
        ("2026-03-02 04:00:00.000", datetime(2026, 3, 2, 4, tzinfo=UTC)),
        ("2026-03-02T04:00:00+02:00", datetime(2026, 3, 2, 2, tzinfo=UTC)),
        (1772424000, datetime(2026, 3, 2, 4, tzinfo=UTC)),
        ("soon", None),
        (float("nan"), None),
        (10**30, None),
        (True, None),
        (None, None),
    ],
)
def test_times_are_read_as_utc_or_not_at_all(value: object, at: datetime | None) -> None:
    assert as_datetime(value) == at
