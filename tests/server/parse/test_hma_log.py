"""What the HyperPod agent, deep health checks and node health events say."""

import json
from datetime import UTC, datetime

import pytest

from gpuvet.model.events import AnyRecord, DeepCheck, HmaRecord, Source, TimeQuality, XidEvent
from gpuvet.parse.kernel_log import LineCounts, ParsedLog, RawLine, parse_lines

NODE = "i-0aa11bb22cc33dd44"
STREAM = f"SagemakerHealthMonitoringAgent/workers/{NODE}"
REFERENCE = datetime(2026, 5, 1, tzinfo=UTC)
AT = datetime(2025, 3, 3, 18, 35, 29, tzinfo=UTC)
AGENT_AT = datetime(2025, 3, 3, 18, 35, 35, tzinfo=UTC)
CORE = (
    "NVRM: Xid (PCI:0000:53:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error detected "
    "on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
)
CORE_TEXT = "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"


def parsed(*lines: str | RawLine, stream: str = STREAM) -> ParsedLog:
    return parse_lines(lines, node="other", stream=stream, reference_time=REFERENCE)


def said(record: AnyRecord) -> dict[str, object]:
    place = {"node", "stream", "line", "raw", "time_quality"}
    return record.model_dump(exclude=place, exclude_defaults=True)


def detection(message: str, key: str = "details: ", **more: object) -> str:
    details = {
        "severity": "warn",
        "timestamp": "2025-03-03T18:35:29Z",
        "reason": "XidHardwareFailure",
        "message": message,
        **more,
    }
    return json.dumps(
        {
            "level": "info",
            "ts": "2025-03-03T18:35:35Z",
            "msg": "NPD caught event: %v",
            key: details,
            "HealthMonitoringAgentDetectionEvent": "HealthEvent",
        }
    )


MESSAGE = (
    f'Node condition NvidiaErrorReboot is now: True, reason: XidHardwareFailure, message: "{CORE}"'
)


@pytest.mark.parametrize("key", ["details", "details: "])
def test_a_detection_is_the_agents_record_and_the_event_inside_it(key: str) -> None:
    log = parsed(detection(MESSAGE, key))
    assert [said(record) for record in log.records] == [
        {
            "at": AT,
            "source": Source.HMA,
            "agent_at": AGENT_AT,
            "reason": "XidHardwareFailure",
            "condition": "NvidiaErrorReboot",
            "code": 74,
            "message": MESSAGE,
        },
        {
            "at": AT,
            "source": Source.HMA,
            "code": 74,
            "pci": "0000:53:00",
            "text": CORE_TEXT,
        },
    ]
    assert {record.node for record in log.records} == {NODE}
    assert log.counts == LineCounts(lines=1, understood=1)


def test_a_detection_inside_a_cloudwatch_event_is_the_same() -> None:
    line = detection(MESSAGE)
    event = json.dumps({"timestamp": 1741026935000, "message": line, "ingestionTime": 1})
    assert [said(r) for r in parsed(event).records] == [said(r) for r in parsed(line).records]


def test_a_condition_that_clears_is_not_true() -> None:
    record = parsed(detection(MESSAGE.replace("True", "False"))).records[0]
    assert isinstance(record, HmaRecord)
    assert (record.condition, record.condition_true) == ("NvidiaErrorReboot", False)


def test_a_dcgm_violation_has_a_code_and_no_pci_id() -> None:
    line = json.dumps(
        {
            "level": "info",
            "ts": "2025-03-03T18:35:35Z",
            "msg": "DCGM policy violation",
            "details: ": {"condition: ": "XID Error", "ErrNum": 31},
            "HealthMonitoringAgentDetectionEvent": "HealthEvent",
        }
    )
    assert [said(record) for record in parsed(line).records] == [
        {
            "at": AGENT_AT,
            "source": Source.HMA,
            "agent_at": AGENT_AT,
            "code": 31,
            "message": "DCGM policy violation",
        },
        {"at": AGENT_AT, "source": Source.DCGM, "code": 31},
    ]


def test_stamps_that_disagree_by_more_than_five_minutes_yield_to_the_shipper() -> None:
    shipped = datetime(2025, 3, 4, 9, tzinfo=UTC)
    line = detection(MESSAGE, timestamp="2025-03-02T18:35:29Z")
    with_shipper = parsed(RawLine(line, 1, shipped)).records[0]
    without = parsed(line).records[0]
    assert (with_shipper.at, with_shipper.time_quality) == (shipped, TimeQuality.INGEST_ONLY)
    assert (without.at, without.time_quality) == (
        datetime(2025, 3, 2, 18, 35, 29, tzinfo=UTC),
        TimeQuality.EXACT,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "reason: XidUserAppError, ErrNum: 13",
            [
                {"reason": "XidUserAppError", "code": 13, "source": Source.HMA},
                {"code": 13, "source": Source.DCGM},
            ],
            id="reason and number",
        ),
        pytest.param(
            "node condition NvidiaErrorTerminate, reason: XidHardwareFailure, NVRM: Xid "
            "(PCI:0000:53:00): 64, Row Remapper Error: (0x1) - table is full, Recommendation: "
            "Replace the instance",
            [
                {
                    "reason": "XidHardwareFailure",
                    "condition": "NvidiaErrorTerminate",
                    "code": 64,
                    "recommendation": "Replace the instance",
                    "source": Source.HMA,
                },
                {
                    "code": 64,
                    "pci": "0000:53:00",
                    "text": "Row Remapper Error: (0x1) - table is full",
                    "source": Source.HMA,
                },
            ],
            id="condition, core and recommendation",
        ),
    ],
)
def test_a_detection_copied_as_text_says_the_same(
    text: str, expected: list[dict[str, object]]
) -> None:
    line = f"2026-04-16T03:20:11Z {NODE} HealthMonitoringAgentDetectionEvent: {text}"
    log = parsed(line, stream="hma.log")
    at = datetime(2026, 4, 16, 3, 20, 11, tzinfo=UTC)
    found = [said(record) for record in log.records]
    assert found.pop(0) == {**expected.pop(0), "at": at, "message": text}
    assert found == [{**each, "at": at} for each in expected]
    assert {record.node for record in log.records} == {NODE}


def test_a_detection_cut_short_still_tells_its_core() -> None:
    record = parsed(detection(MESSAGE)[:-90]).records[-1]
    assert isinstance(record, XidEvent)
    assert (record.code, record.pci, record.source) == (74, "0000:53:00", Source.HMA)


def test_a_node_health_event_names_instance_and_advice() -> None:
    line = json.dumps(
        {
            "detail-type": "SageMaker HyperPod Cluster Node Health Event",
            "source": "aws.sagemaker",
            "account": "111122223333",
            "time": "2025-03-03T18:35:29Z",
            "detail": {
                "InstanceId": NODE,
                "HealthSummary": {
                    "HealthStatus": "Unhealthy",
                    "HealthStatusReason": "NvidiaErrorTerminate seen, XidHardwareFailure",
                    "RepairAction": "Replace",
                    "Recommendation": "Replace the instance",
                },
            },
        }
    )
    (record,) = parsed(line, stream="events").records
    assert record.node == NODE
    assert said(record) == {
        "at": AT,
        "source": Source.HMA,
        "agent_at": AT,
        "reason": "XidHardwareFailure",
        "condition": "NvidiaErrorTerminate",
        "recommendation": "Replace the instance",
        "repair_action": "Replace",
        "message": "NvidiaErrorTerminate seen, XidHardwareFailure",
    }


@pytest.mark.parametrize(
    ("level", "message", "passed", "faulty"),
    [
        (
            "error",
            (
                "Encountered FaultyInstance. Replace the Instance. Region: us-west-2, "
                "InstanceType: p4d.24xlarge. ERROR:Bandwidth has less than threshold: Expected "
                "minimum threshold :80,NCCL Test output Bw: 30"
            ),
            False,
            True,
        ),
        ("info", "All deep health checks passed", True, False),
        ("info", "NCCL test failed", False, False),
    ],
)
def test_a_deep_check_has_one_outcome(
    level: str, message: str, *, passed: bool, faulty: bool
) -> None:
    line = json.dumps({"level": level, "ts": "2025-03-03T18:35:29Z", "msg": message})
    (record,) = parsed(line, stream="DeepHealthCheckResults/1a2b").records
    assert isinstance(record, DeepCheck)
    assert (record.passed, record.faulty_instance, record.at) == (passed, faulty, AT)


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"level": "info", "ts": "2025-03-03T18:35:29Z", "msg": "Starting NCCL test"}),
        json.dumps({"detail-type": "EC2 Instance State-change Notification", "detail": {}}),
    ],
)
def test_progress_and_other_events_are_no_outcome(line: str) -> None:
    log = parsed(line, stream="DeepHealthCheckResults/1a2b")
    assert (log.records, log.counts) == ((), LineCounts(lines=1, unrelated=1))


def test_an_agents_own_json_that_copies_a_driver_line_is_an_agents_event() -> None:
    line = json.dumps({"level": "error", "ts": "2025-03-03T18:35:29Z", "msg": CORE})
    (record,) = parsed(line, stream="agent.log").records
    assert said(record) == {
        "at": AT,
        "source": Source.AGENT,
        "code": 74,
        "pci": "0000:53:00",
        "text": CORE_TEXT,
    }
