"""Replies of the AWS door turned into values, with the status of the reading kept. Pure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.untyped import objects_at

T = TypeVar("T")
Row = Mapping[str, Any]


def rows_of(answer: Envelope[tuple[Page, ...]], member: str) -> Iterator[Row]:
    """Yield the rows under a member of every page."""
    for page in answer.value or ():
        yield from objects_at(page, member)


def read_rows(
    door: AwsDoor,
    operation: str,
    params: Mapping[str, Any],
    member: str,
    take: Callable[[Row, str], T | None],
    *,
    region: str | None = None,
) -> Envelope[tuple[T, ...]]:
    """Return one listing as values; `take` gets a row and the reading's evidence id.

    Rows that `take` cannot use are left out. Where nothing was read the value is None, never an
    empty tuple.
    """
    answer = door.read(operation, params, region=region)
    if answer.value is None and not answer.status.is_complete:
        return with_value(answer, None)
    evidence = answer.evidence
    found = (take(row, evidence) for row in rows_of(answer, member))
    return with_value(answer, tuple(value for value in found if value is not None))


def with_value(answer: Envelope[Any], value: T | None) -> Envelope[T]:
    """Return a reading that came to another value, its status and its question unchanged."""
    status = answer.status
    if status is Status.OK and isinstance(value, tuple) and not value:
        status = Status.OK_EMPTY
    return Envelope[Any].model_validate(
        {**{name: getattr(answer, name) for name in type(answer).model_fields}, "status": status}
        | {"value": value}
    )


def unread(service: str, operation: str, why: str) -> Envelope[Any]:
    """Return a reading that does not apply here, with the reason as its note."""
    return Envelope[Any](
        service=service, operation=operation, status=Status.NOT_SUPPORTED, notes=(why,)
    )
