"""`grounded` assertions: an answer whose figures were read passes, one made up fails it."""

import pytest

from gpuvet_evals.evals_json import Eval, parse_assertion
from gpuvet_evals.inspection import RunIdentity, inspect_journal
from gpuvet_evals.journal_writer import JournalWriter

GROUNDED = parse_assertion({"text": "All figures were read.", "evaluator": "grounded"})
EVAL = Eval(id="e", prompt="Is i-0a1b2c3d4e5f60011 well? Job 5120 died.", assertions=(GROUNDED,))
READ = '{"hours": 54, "node": "i-0a1b2c3d4e5f60022"}'


@pytest.mark.parametrize(
    ("answer", "passed", "evidence"),
    [
        pytest.param(
            "54 h of i-0a1b2c3d4e5f60022", True, "Every figure was read; 1 ids among them",
            id="what a tool said",
        ),
        pytest.param(
            "Job 5120 on i-0a1b2c3d4e5f60011", True, "Every figure was read; 1 ids among them",
            id="what the user said",
        ),
        pytest.param("Nothing is known.", True, "Every figure was read; 0 ids among them",
                     id="no figure"),
        pytest.param("55 h", False, "Read nowhere: 55", id="a number made up"),
        pytest.param("i-0fee1dead5eedf00d", False, "Read nowhere: i-0fee1dead5eedf00d",
                     id="an id made up"),
        pytest.param(
            " ".join(str(n) for n in range(60, 70)), False,
            "Read nowhere: 60, 61, 62, 63, 64, 65, 66, 67 and 2 more", id="a short list of many",
        ),
    ],
)  # fmt: skip
def test_every_figure_was_read_or_the_assertion_fails(
    answer: str, passed: bool, evidence: str
) -> None:
    given = {"service_name": "ec2", "operation_name": "describe_instances"}
    journal = JournalWriter().user(EVAL.prompt).use("use_aws", given).result(READ).final(answer)
    identity = RunIdentity(
        case="c", skill_name=None, eval_id="e", iteration=1, run_type="with_skill"
    )

    ((_, score),) = inspect_journal(journal.journal(), identity, EVAL).scores

    assert (score.passed, score.evidence) == (passed, evidence)


def test_a_grounded_assertion_needs_no_judge() -> None:
    assert GROUNDED.is_judged is False
