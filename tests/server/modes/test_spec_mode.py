"""A file in, findings out: documents, templates, suppressions and fixes."""

import pytest
from spec_examples import BASE, SERVICE_MONITOR, job

from gpuvet.errors import UsageError
from gpuvet.model.check import CheckOptions, Severity, Suppressed
from gpuvet.modes.spec import bounded, check_text, fixed_text

LISTED = "- name: A\n  logPattern: '.*a'\n"


def codes(text: str, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> list[str]:
    findings = check_text(text, options=CheckOptions(select=select, ignore=ignore)).findings
    return [each.code for each in findings if each.severity is not Severity.ADVICE]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LISTED, id="a bare list"),
        pytest.param("logMonitoringConfiguration:\n" + LISTED, id="under its key"),
        pytest.param('[{"name": "A", "logPattern": ".*a"}]', id="as JSON"),
    ],
)
def test_monitors_without_their_job_are_judged(text: str) -> None:
    report = check_text(text)

    assert (report.jobs, report.monitors) == (0, 1)
    assert [each.code for each in report.findings if each.severity is Severity.ERROR] == ["HPJ141"]


def test_each_job_of_a_file_is_judged_and_other_documents_are_named() -> None:
    other = "kind: ConfigMap\nmetadata: {name: c}\n"
    text = "---\n".join((BASE, job(("replicas: 4", "replicas: 0")), other))

    report = check_text(text)

    assert report.jobs == 2
    assert [each.name for each in report.skipped] == ["ConfigMap c"]
    assert "HPJ021" in {each.code for each in report.findings}


def test_a_broken_document_does_not_hide_the_next_one() -> None:
    broken = "a: b: c\n"

    report = check_text(f"{broken}---\n{job(('nnodes=4', 'nnodes=2'))}")

    found = [(each.code, each.line) for each in report.findings if each.severity != "advice"]
    assert found == [("HPJ001", 1), ("HPJ028", 32)]


def test_a_list_from_kubectl_is_read_item_by_item() -> None:
    item = (
        '{"apiVersion": "sagemaker.amazonaws.com/v1", "kind": "HyperPodPyTorchJob",'
        ' "metadata": {"name": "a", "uid": "u", "resourceVersion": "1",'
        ' "creationTimestamp": "2026-03-02T08:00:00Z"}, "spec": {}, "status": {"restartCount": 2}}'
    )

    report = check_text(f'{{"apiVersion": "v1", "kind": "List", "items": [{item}, {item}]}}')

    assert report.jobs == 2
    server_set = [each for each in report.findings if each.code == "HPJ007"]
    assert {each.severity for each in server_set} == {Severity.ADVICE}


@pytest.mark.parametrize(
    ("change", "token"),
    [
        (("replicas: 4", "replicas: {{ .Values.nodes }}"), "{{ .Values.nodes }}"),
        (("replicas: 4", "replicas: ${NODES}"), "${NODES}"),
        (("replicas: 4", "replicas: $NODES"), "$NODES"),
        (("ckpt\n", "<your_path>\n"), "<your_path>"),
    ],
)
def test_a_template_token_is_named_and_its_value_is_not_judged(
    change: tuple[str, str], token: str
) -> None:
    findings = check_text(job(change)).findings
    errors = [each for each in findings if each.severity is Severity.ERROR]

    assert [each.code for each in errors] == ["HPJ004"]
    assert token in errors[0].message


def test_a_helm_chart_with_control_lines_is_a_template_not_a_syntax_error() -> None:
    text = "{{- if .Values.train }}\n" + BASE + "{{- end }}\n"

    assert codes(text) == ["HPJ004"]


def test_a_suppression_needs_a_reason() -> None:
    with_reason = job(("replicas: 4", "replicas: 0  # gpuvet: ignore HPJ021 scaled up later"))
    without = job(("replicas: 4", "replicas: 0  # gpuvet: ignore HPJ021"))

    report = check_text(with_reason)

    assert report.suppressed == (
        Suppressed(
            code="HPJ021",
            line=12,
            path="spec.replicaSpecs[0].replicas",
            reason="scaled up later",
        ),
    )
    assert "HPJ021" in codes(without)
    assert "without a reason" in check_text(without).notes[0]


def test_a_comment_of_its_own_speaks_of_the_next_line() -> None:
    text = job(("      replicas: 4", "      # gpuvet: ignore[HPJ021] later\n      replicas: 0"))

    assert "HPJ021" not in codes(text)


def test_a_file_wide_suppression_holds_everywhere() -> None:
    assert (
        codes("# gpuvet: ignore-file HPJ02 sized elsewhere\n" + job(("replicas: 4", "replicas: 0")))
        == []
    )


def test_codes_are_selected_and_ignored_by_their_beginning() -> None:
    text = job(("nnodes=4", "nnodes=2"), ("value: WARN", "value: DEBUG"))

    assert codes(text) == ["HPJ028", "HPJ072"]
    assert codes(text, select=("HPJ07",)) == ["HPJ072"]
    assert codes(text, ignore=("HPJ07",)) == ["HPJ028"]
    assert codes(text, select=("HPJ0",), ignore=("HPJ07",)) == ["HPJ028"]


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(UsageError, match="HPJ999"):
        codes(BASE, select=("HPJ999",))


def test_mechanical_fixes_keep_comments_and_order() -> None:
    text = job(
        ("HyperPodPyTorchJob", "HyperPodPytorchJob  # the kind"),
        ('nprocPerNode: "8"', "nprocPerNode: 8  # eight"),
        ("jobMaxRetryCount", "jobMaxRetryCounts"),
        ("operator: lt", "operator: '<'"),
        ("metricThreshold: 9000", "metricThreshold: 9000.0"),
    )

    fixed, made = fixed_text(text, check_text(text))

    assert fixed == job(
        ("HyperPodPyTorchJob", "HyperPodPyTorchJob  # the kind"),
        ('nprocPerNode: "8"', 'nprocPerNode: "8"  # eight'),
    )
    assert sorted(each.code for each in made) == ["HPJ011", "HPJ013", "HPJ016", "HPJ127", "HPJ129"]


def test_a_fixed_pattern_means_what_was_meant() -> None:
    text = job(("'.*global_step=\\d+ loss=.*'", "'global_step=\\\\d+ loss=.*'"))

    once, _ = fixed_text(text, check_text(text))
    twice, _ = fixed_text(once, check_text(once))

    assert "logPattern: '.*global_step=\\d+ loss=.*'" in twice
    assert codes(twice) == []


def test_an_alias_is_never_edited() -> None:
    text = job(('cleanPodPolicy: "None"', "cleanPodPolicy: &policy all\n    workloadMode: *policy"))

    fixed, _ = fixed_text(text, check_text(text))

    assert "&policy" not in fixed or "*policy" in fixed


def test_secrets_never_stand_in_a_finding() -> None:
    secret = "hf_" + "Q" * 30
    text = job(("value: WARN", f"value: {secret}"))

    assert secret not in str(check_text(text))


def test_a_service_monitor_alone_is_judged() -> None:
    assert codes(SERVICE_MONITOR.replace("targetPort: 8081", "port: 8081")) == ["HPJ170"]


def test_the_instance_type_may_come_from_outside() -> None:
    text = job(
        ("node.kubernetes.io/instance-type: ml.p5.48xlarge", "team: heron"), ("efa: 32", "efa: 64")
    )

    found = check_text(text, options=CheckOptions(instance_type="ml.p5.48xlarge")).findings

    assert "HPJ045" in {each.code for each in found}


@pytest.mark.parametrize("text", ["", "# nothing\n", "just text\n", "a: 1\n", "[]\n", "{}\n"])
def test_text_without_a_job_raises_nothing(text: str) -> None:
    report = check_text(text)

    assert (report.findings, report.jobs, report.monitors) == ((), 0, 0)


def test_too_large_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="larger"):
        check_text("a" * (1 << 21))


def test_a_bounded_report_keeps_the_strongest_and_says_what_is_missing() -> None:
    report = check_text(job(("replicas: 4", "replicas: 0"), ("value: WARN", "value: DEBUG")))

    short = bounded(report, most=1)

    assert [each.code for each in short.findings] == ["HPJ021"]
    assert "more findings" in short.notes[-1]
