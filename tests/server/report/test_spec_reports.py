"""Findings and simulations as text, SARIF, annotations and pictures."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from spec_examples import BASE, job

from gpuvet.checks.spec_pages import explanation, rule_texts, spec_checks_page
from gpuvet.errors import UsageError
from gpuvet.model.log_monitor import RestartPolicy, Simulation
from gpuvet.model.untyped import is_object
from gpuvet.modes.spec import check_text
from gpuvet.modes.spec_simulate import simulate_spec
from gpuvet.parse.yaml_text import load_documents
from gpuvet.report.observe import observe_yaml
from gpuvet.report.sarif import sarif
from gpuvet.report.simulation import bar, simulation_text
from gpuvet.report.spec import github_annotations, spec_markdown, spec_text
from gpuvet.report.spec_schema import job_schema
from gpuvet.report.svg import simulation_svg

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "cases"
FAULTY = job(
    ("replicas: 4", "replicas: 0"),
    ("value: WARN", "value: DEBUG"),
    ("expectedStartCutOffInSeconds: 900", "expectedStartCutOffInSeconds: 45"),
)


def simulated(name: str) -> Simulation:
    folder = CASES / "log_monitors" / name
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    return simulate_spec(
        (folder / "monitors.yaml").read_text(encoding="utf-8"),
        log=folder / case["streams"][0]["log"],
        name="rank0.log",
        stage_start=case["stage_start"],
        end_seconds=case["streams"][0]["end_seconds"],
    )


def test_the_text_shows_line_caret_and_fix(golden: Callable[[str, str], None]) -> None:
    golden("spec_check.txt", spec_text(check_text(FAULTY, file="job.yaml"), FAULTY))


def test_a_secret_s_line_is_not_shown() -> None:
    secret = "hf_" + "Q" * 30
    text = job(("value: WARN", f"value: {secret}"))

    assert secret not in spec_text(check_text(text), text)


def test_control_characters_are_escapes() -> None:
    text = job(
        ("name: StepHang", 'name: "Step\\u202eHang\\e[31m"'),
        ("CutOffInSeconds: 900", "CutOffInSeconds: 5"),
    )

    shown = spec_text(check_text(text), text)

    assert "\u202e" not in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("case", ["10-spec-epoch0-sample-copied", "11-spec-operator-inverted"])
def test_a_field_case_is_told_what_matters(case: str) -> None:
    folder = CASES / "spec_field" / case
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    source = next(folder.glob("inputs/*.yaml")).read_text(encoding="utf-8")

    text = spec_text(check_text(source), source)

    missing = [
        each
        for each in expected["must_mention"]
        if not re.search(each, text, re.IGNORECASE | re.DOTALL)
    ]
    claimed = [each for each in expected["must_not_say"] if re.search(each, text, re.IGNORECASE)]
    assert (missing, claimed) == ([], [])


def test_markdown_holds_no_live_markup() -> None:
    text = job(
        ("name: StepHang", "name: '[x](http://a) <b>'"),
        ("CutOffInSeconds: 900", "CutOffInSeconds: 5"),
    )

    shown = spec_markdown([check_text(text)])

    assert "](http" not in shown.replace("\\]\\(", "").replace("\\](", "")
    assert "<b>" not in shown


def test_annotations_are_escaped_as_github_does() -> None:
    text = job(
        ("name: StepHang", 'name: "a%b\\n::error::c"'),
        ("CutOffInSeconds: 900", "CutOffInSeconds: 5"),
    )

    lines = github_annotations([check_text(text, file="a,b:c.yaml")]).splitlines()

    assert all(re.match(r"::(error|warning|notice) file=a%2Cb%3Ac\.yaml,", line) for line in lines)
    assert any("a%25b" in line for line in lines)


def test_sarif_describes_every_rule_it_uses() -> None:
    report = check_text(FAULTY, file="dir/job file.yaml")

    document = sarif([report], rule_texts(), version="0.1.0")

    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert document["version"] == "2.1.0"
    assert [each["ruleId"] for each in run["results"]] == [each.code for each in report.findings]
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in run["results"])
    assert {each["level"] for each in run["results"]} <= {"error", "warning", "note"}
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "dir/job%20file.yaml"
    assert location["region"]["startLine"] >= 1


def test_a_suppression_stays_visible_in_sarif() -> None:
    text = job(("replicas: 4", "replicas: 0  # gpuvet: ignore HPJ021 later"))

    results = sarif([check_text(text)], rule_texts(), version="0")["runs"][0]["results"]

    assert [each["suppressions"] for each in results if "suppressions" in each] == [
        [{"kind": "inSource", "justification": "later"}]
    ]


def schema_errors(text: str) -> int:
    validator: Any = Draft7Validator(job_schema())  # its overloads are only partly typed
    value = json.loads(json.dumps(load_documents(text)[0], default=dict))
    return len(list(validator.iter_errors(value)))


def test_the_schema_takes_the_clean_job_and_refuses_a_misspelling() -> None:
    assert schema_errors(BASE) == 0
    assert schema_errors(job(("jobMaxRetryCount", "jobMaxRetryCounts"))) == 1


def test_an_explanation_says_why_and_how_to_mend() -> None:
    assert "false HANGING" in explanation("hpj133")
    with pytest.raises(UsageError, match="HPJ130"):
        explanation("HPJ138x")


def test_the_reference_page_is_current() -> None:
    page = (ROOT / "references" / "spec-checks.md").read_text(encoding="utf-8")

    assert page == spec_checks_page()


def test_what_observe_writes_passes_our_own_checks() -> None:
    text = observe_yaml(RestartPolicy(restarts_before_full=3), 300)

    report = check_text(text)
    kinds = [each["kind"] for each in load_documents(text) if is_object(each)]

    assert [each for each in report.findings if each.severity != "advice"] == []
    assert kinds == ["ServiceMonitor", "PrometheusRule"]
    assert text.count("hyperpod_training_operator_jobs_") >= 7


def test_the_simulation_says_verdict_first_then_what_it_assumed(
    golden: Callable[[str, str], None],
) -> None:
    golden("spec_simulate.txt", simulation_text(simulated("l02_seed_main_all_fire")))


def test_a_time_line_never_hides_a_trip() -> None:
    outcome = simulated("l02_seed_main_all_fire").rules[3]

    assert "S" in bar(outcome, 2300.0, 10)


def test_the_picture_is_well_formed_and_escaped() -> None:
    result = simulated("l01_seed_main_quiet")
    hostile = result.rules[0].model_copy(update={"rule": '<script>"&'})
    result = result.model_copy(update={"rules": (hostile, *result.rules[1:])})

    root = ET.fromstring(simulation_svg(result))  # noqa: S314  (our own output)

    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [each for each in root.iter() if each.tag.endswith("script")]
