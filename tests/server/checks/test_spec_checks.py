"""Every check of a job spec: raised where it should be, silent on a near miss."""

import json
from pathlib import Path

import pytest
from spec_examples import BASE, EXAMPLES

from gpuvet.checks.spec import CODES, DOCUMENT_CHECKS, FIELD_CHECKS, JOB_CHECKS, MONITOR_CHECKS
from gpuvet.model.check import CheckOptions, Severity
from gpuvet.modes.spec import check_text

CASES = Path(__file__).parents[2] / "cases" / "job_specs"


def codes(text: str, options: CheckOptions | None = None) -> set[str]:
    return {finding.code for finding in check_text(text, options=options).findings}


def judged(text: str) -> set[str]:
    """Return the codes of errors and warnings."""
    findings = check_text(text).findings
    return {each.code for each in findings if each.severity is not Severity.ADVICE}


def test_every_check_has_a_spec_that_raises_it_and_a_near_miss() -> None:
    assert sorted(EXAMPLES) == list(CODES)
    assert len(CODES) == len(set(CODES)) == 144


def test_the_clean_job_raises_nothing() -> None:
    assert judged(BASE) == set()


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_fault_is_found(code: str) -> None:
    example = EXAMPLES[code]

    assert code in codes(example.bad, example.bad_options)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_near_miss_is_left_alone(code: str) -> None:
    example = EXAMPLES[code]

    assert code not in codes(example.near, example.near_options)


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_finding_names_place_reason_and_remedy(code: str) -> None:
    example = EXAMPLES[code]
    found = check_text(example.bad, file="job.yaml", options=example.bad_options).findings

    for finding in found:
        assert finding.file == "job.yaml"
        assert finding.line >= 1
        assert finding.column >= 1
        assert all((finding.message, finding.why, finding.fix, finding.source))


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_case_raises_what_is_expected_and_no_false_alarm(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")

    found = judged(text)

    assert set(expected["expected"]) - found == set(), "missed"
    assert found - set(expected["expected"]) - set(expected["may"]) == set(), "false alarm"
    assert codes(text) & set(expected["must_not"]) == set()


def test_every_check_states_its_flaw_and_its_source() -> None:
    named = [(check.name, check.why, check.fix, check.source) for check in DOCUMENT_CHECKS]
    named += [
        (check.name, check.why, check.fix, check.source)
        for check in (*FIELD_CHECKS, *JOB_CHECKS, *MONITOR_CHECKS)
    ]

    assert all(all(texts) for texts in named)
    assert len({texts[0] for texts in named}) == len(CODES)
