"""What log agents and rotation say, in their own files and inside a host's syslog."""

from datetime import UTC, datetime

import pytest

from gpuvet.model.audit import AgentWord
from gpuvet.parse.agent_log import read_agent_lines, word_of
from gpuvet.parse.kernel_log import RawLine

NOW = datetime(2026, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        pytest.param(
            "[2026/03/14 09:02:11] [ info] [input] tail.0 paused (mem buf overlimit)",
            AgentWord.PAUSED,
            id="fluent bit stops reading when memory is full",
        ),
        pytest.param(
            "[2026/03/14 10:58:40] [ info] [input] tail.0 resume (mem buf overlimit)",
            AgentWord.RESUMED,
            id="and goes on",
        ),
        pytest.param(
            "[2026/03/14 10:58:40] [ warn] [input] tail.1 paused (storage buf overlimit 2/2)",
            AgentWord.PAUSED,
            id="likewise when its disk buffer is full",
        ),
        pytest.param(
            "2026-03-14T03:51:02Z I! Received SIGHUP, reloading config",
            AgentWord.RELOADED,
            id="cloudwatch agent reloads",
        ),
        pytest.param(
            "2026-03-14T03:51:02Z E! AccessDeniedException: User: arn:aws:sts::111122223333:"
            "assumed-role/node/i-0 is not authorized to perform: logs:PutLogEvents",
            AgentWord.REFUSED,
            id="permission refused",
        ),
        pytest.param(
            "2026-03-14T03:51:02Z E! ThrottlingException: Rate exceeded",
            AgentWord.THROTTLED,
            id="throttled",
        ),
        pytest.param(
            "Mar 14 03:51:02 ip-10-0-0-1 rsyslogd: file '/var/log/messages': No space left on "
            "device",
            AgentWord.DISK_FULL,
            id="disk full",
        ),
        pytest.param(
            "Mar 14 03:51:02 ip-10-0-0-1 rsyslogd[771]: [origin software] rsyslogd was HUPed",
            AgentWord.ROTATED,
            id="rotation as rsyslog tells it",
        ),
        pytest.param(
            "Mar 14 03:51:02 ip-10-0-0-1 systemd[1]: Started Rotate log files.",
            AgentWord.ROTATED,
            id="rotation as systemd tells it",
        ),
        pytest.param(
            "Mar 14 03:51:02 ip-10-0-0-1 systemd[1]: Stopped Amazon CloudWatch Agent.",
            AgentWord.STOPPED,
            id="agent stopped",
        ),
        pytest.param(
            "Mar 14 03:51:02 ip-10-0-0-1 rsyslogd: imjournal: 4411 messages lost due to "
            "rate-limiting",
            AgentWord.DROPPED,
            id="rate limiting drops lines",
        ),
        pytest.param(
            "2026-03-14T03:59:59Z D! [logagent] open file count, 1", None, id="small talk is none"
        ),
        pytest.param(
            "Mar 14 03:51:02 ip-10-0-0-1 kernel: NVRM: loading driver", None, id="nor is the kernel"
        ),
    ],
)
def test_a_line_says_why_logs_stop(line: str, word: AgentWord | None) -> None:
    assert word_of(line) is word


def test_lines_keep_their_place_time_and_node() -> None:
    lines = [
        RawLine("nothing here", 1),
        RawLine("2026-03-14T03:51:02Z I! Received SIGHUP, reloading config", 2),
    ]
    (found,) = read_agent_lines(
        lines, node="i-0545d989d0034eaae", stream="agent.log", reference_time=NOW
    )
    assert (found.node, found.stream, found.line) == ("i-0545d989d0034eaae", "agent.log", 2)
    assert found.at == datetime(2026, 3, 14, 3, 51, 2, tzinfo=UTC)
    assert found.evidence.startswith("ev-")


def test_a_secret_in_an_agents_line_is_masked() -> None:
    key = "AK" + "IA" + "ABCDEFGHIJKLMNOP"
    line = RawLine(f"2026-03-14T03:51:02Z E! AccessDenied for {key}", 1)
    (found,) = read_agent_lines([line], node="", stream="agent.log", reference_time=NOW)
    assert key not in found.raw
