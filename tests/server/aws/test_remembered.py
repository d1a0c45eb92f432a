"""Going on with a question: what was read whole is not asked again, what failed is."""

from collections.abc import Mapping
from typing import Any

import pytest

from gpuvet.aws.door import Page
from gpuvet.aws.remembered import MOST_QUESTIONS, Memory
from gpuvet.model.evidence import Envelope, Reason, Status


class Counted:
    """An account whose every read ends in one state, and how often each was asked."""

    def __init__(self, status: Status = Status.OK) -> None:
        self.status = status
        self.asked: list[tuple[str, str | None]] = []

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """See `AwsDoor.read`."""
        del params
        self.asked.append((operation, region))
        service, _, name = operation.partition(":")
        reason = None if self.status.is_complete else Reason.BUDGET
        return Envelope[tuple[Page, ...]](
            service=service, operation=name, status=self.status, reason=reason
        )


NODES = ("sagemaker:ListClusterNodes", {"ClusterName": "a"})


@pytest.mark.parametrize("status", [Status.OK, Status.OK_EMPTY, Status.NOT_FOUND])
def test_what_was_read_whole_is_not_asked_again(status: Status) -> None:
    memory, account = Memory(), Counted(status)
    first = memory.door("question", account).read(*NODES)
    again = memory.door("question", account).read(*NODES)
    assert again == first
    assert len(account.asked) == 1


@pytest.mark.parametrize(
    "status", [Status.PARTIAL, Status.UNVERIFIED, Status.NOT_CHECKED, Status.NOT_SUPPORTED]
)
def test_what_was_not_read_whole_is_asked_again(status: Status) -> None:
    memory, account = Memory(), Counted(status)
    memory.door("question", account).read(*NODES)
    account.status = Status.OK
    assert memory.door("question", account).read(*NODES).status is Status.OK
    assert len(account.asked) == 2


def test_another_question_other_parameters_and_another_region_are_asked() -> None:
    memory, account = Memory(), Counted()
    memory.door("question", account).read(*NODES)
    memory.door("other identity", account).read(*NODES)
    memory.door("question", account).read(NODES[0], {"ClusterName": "b"})
    memory.door("question", account).read(*NODES, region="eu-west-1")
    assert len(account.asked) == 4


def test_only_the_last_few_questions_are_kept() -> None:
    memory, account = Memory(), Counted()
    for question in range(MOST_QUESTIONS + 1):
        memory.door(question, account).read(*NODES)
    memory.door(MOST_QUESTIONS, account).read(*NODES)
    assert len(account.asked) == MOST_QUESTIONS + 1
    memory.door(0, account).read(*NODES)
    assert len(account.asked) == MOST_QUESTIONS + 2
