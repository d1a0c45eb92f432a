"""One pass over a log of any size gives the same as looking at every line."""

import io
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.model.coverage import HourCount
from gpuvet.parse.kernel_log import RawLine, parse_lines
from gpuvet.parse.scan import MOST_TEXT, Scan, scan
from gpuvet.parse.scan_hours import line_time
from gpuvet.parse.scan_needles import COMMON, RARE, sieved

REFERENCE = datetime(2026, 3, 20, 12, tzinfo=UTC)
CORE = "NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=python3, GPU has fallen off the bus."


def scanned(data: bytes, **options: int) -> Scan:
    return scan(io.BytesIO(data), reference_time=REFERENCE, **options)


def hours(*counts: tuple[int, int]) -> tuple[HourCount, ...]:
    return tuple(
        HourCount(hour=datetime(2026, 3, 10, hour, tzinfo=UTC), lines=lines)
        for hour, lines in counts
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [
                "2026-03-10T01:02:03.000001+00:00 host kernel: a",
                "2026-03-10T01:59:59.999999+00:00 host sshd[1]: b",
                "2026-03-10T02:00:00.000000+00:00 host kernel: c",
            ],
            hours((1, 2), (2, 1)),
            id="ISO with a zone",
        ),
        pytest.param(
            ["2026-03-10T01:02:03Z host kernel: a", "2026-03-10T01:02:03.5Z host kernel: a"],
            hours((1, 2)),
            id="ISO with Z",
        ),
        pytest.param(
            ["2026-03-10T01:10:00-08:00 host x: a", "2026-03-10T01:10:00+00:00 host x: a"],
            hours((1, 1), (9, 1)),
            id="two zones in one file",
        ),
        pytest.param(
            ["2026-03-10T01:10:00+05:30 host x: a", "2026-03-10T07:40:00+05:30 host x: a"],
            (
                HourCount(hour=datetime(2026, 3, 9, 19, tzinfo=UTC), lines=1),
                *hours((2, 1)),
            ),
            id="a zone of half an hour",
        ),
        pytest.param(
            ["Mar 10 01:02:03 host kernel: a", "Mar 10 01:02:04 host x[1]: b"],
            hours((1, 2)),
            id="RFC 3164",
        ),
        pytest.param(
            [
                '{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1773104523000001","MESSAGE":"a"}',
                '{"MESSAGE":"b","__REALTIME_TIMESTAMP":"1773104524000001"}',
                '{"__REALTIME_TIMESTAMP":"1773107999999999"}',
                '{"__REALTIME_TIMESTAMP":"1773108000000000"}',
            ],
            hours((1, 3), (2, 1)),
            id="journald JSON",
        ),
        pytest.param(
            [
                '{"log":"Mar 10 01:02:03 host kernel: a","az":"us-west-2b"}',
                '{"log":"Mar 10 02:02:03 host kernel: a","az":"us-west-2b"}',
            ],
            hours((1, 1), (2, 1)),
            id="Fluent Bit JSON",
        ),
        pytest.param(
            ['{"date":1773104523.5,"log":"a"}', '{"date":1773104524.5,"log":"b"}'],
            hours((1, 2)),
            id="Fluent Bit with an epoch",
        ),
        pytest.param(
            ["[Tue Mar 10 01:02:03 2026] a", "[Tue Mar 10 01:02:04 2026] b"],
            hours((1, 2)),
            id="dmesg -T",
        ),
    ],
)
def test_lines_are_counted_by_the_hour_of_their_time(
    lines: list[str], expected: tuple[HourCount, ...]
) -> None:
    assert scanned("\n".join(lines).encode()).hours == expected


def test_a_log_with_uptime_only_has_no_hours_and_says_so() -> None:
    found = scanned(b"[    1.000000] a\n[    2.000000] b\n3,4711,430954509105,-;c\n")
    assert (found.has_hours, found.lines, found.untimed, found.uptime_only) == (False, 3, 3, 3)
    assert found.kernel_marks == 3


def test_a_whole_scan_reports_everything_it_saw() -> None:
    data = (
        b"Mar 10 01:00:00 host kernel: a\r\n"
        b"Mar 10 02:00:00 host kernel: " + CORE.encode() + b"\r\n"
        b"\n"
        b"  at frame\n"
        b"Mar 10 01:30:00 host x: \xff\x00\n"
    )
    found = scanned(data)
    line = f"Mar 10 02:00:00 host kernel: {CORE}"
    assert found == Scan(
        size=len(data),
        lines=5,
        hours=hours((1, 2), (2, 1)),
        untimed=2,
        kernel_marks=2,
        first_at=datetime(2026, 3, 10, 1, tzinfo=UTC),
        last_at=datetime(2026, 3, 10, 1, 30, tzinfo=UTC),
        candidates=(RawLine(line, 2),),
        nul_bytes=1,
        invalid_utf8=1,
    )


def test_candidates_carry_their_line_numbers_into_the_records() -> None:
    lines = [f"Mar 10 01:00:{second:02} host x: quiet" for second in range(30)]
    lines[17] = f"Mar 10 01:00:17 host kernel: {CORE}"
    found = scanned("\n".join(lines).encode(), block_bytes=100)
    log = parse_lines(found.candidates, node="n", stream="s", reference_time=REFERENCE)
    assert [record.line for record in log.records] == [18]


def test_a_candidate_beyond_the_most_kept_is_counted() -> None:
    found = scanned(f"{CORE}\n".encode() * 5, most_candidates=2)
    assert (len(found.candidates), found.candidates_dropped) == (2, 3)


def test_a_long_line_keeps_what_made_it_a_candidate() -> None:
    found = scanned(b"x" * 1_000_000 + b" " + CORE.encode() + b"\n", block_bytes=4096)
    (candidate,) = found.candidates
    assert CORE in candidate.text
    assert len(candidate.text) <= MOST_TEXT


@pytest.mark.parametrize("needle", [*COMMON, *RARE], ids=lambda needle: needle.decode())
def test_every_needle_is_found_wherever_it_stands(needle: bytes) -> None:
    found = scanned(b"noise\n" * 50 + b"before " + needle + b" after\n" + b"noise\n" * 50)
    assert [candidate.line for candidate in found.candidates] == [51]


@pytest.mark.parametrize("needle", RARE, ids=lambda needle: needle.decode())
def test_the_sieve_leaves_something_of_every_rare_needle(needle: bytes) -> None:
    assert len(sieved(needle)) >= 2


STAMPS = st.one_of(
    st.builds(
        "{}-03-{:02}{}{:02}:{:02}:{:02}{}{}".format,
        st.sampled_from((2025, 2026)),
        st.integers(8, 12),
        st.sampled_from("T "),
        st.integers(0, 24),
        st.integers(0, 61),
        st.integers(0, 61),
        st.sampled_from(("", ".5", ".123456", ",123", ".1234567890")),
        st.sampled_from(("", "Z", "+00:00", "+0000", "-08:00", "+05:30", " UTC", "Q")),
    ),
    st.builds(
        "{} {:2} {:02}:{:02}:{:02}".format,
        st.sampled_from(("Mar", "Feb", "Dec")),
        st.integers(8, 31),
        st.integers(0, 24),
        st.integers(0, 61),
        st.integers(0, 60),
    ),
    st.builds("[Tue Mar 10 {:02}:02:03 2026]".format, st.integers(0, 23)),
    st.builds("[{:5}.000001]".format, st.integers(0, 99999)),
    st.builds("<30>Mar 10 {:02}:00:00".format, st.integers(0, 23)),
    st.sampled_from(
        (
            "",
            " ",
            "  at frame",
            "Traceback",
            "Mar",
            "Sunday",
            "E0310",
            "INFO",
            "é",
            "\x00",
            "{",
            "[",
            "0",
        )
    ),
)
SECONDS = st.integers(1_773_100_000, 1_773_130_000)
JSON = st.one_of(
    st.builds('{{"__REALTIME_TIMESTAMP":"{}000000","MESSAGE":"x"}}'.format, SECONDS),
    st.builds('{{"MESSAGE":"Mar 10 01:02:03","__REALTIME_TIMESTAMP" : "{}1"}}'.format, SECONDS),
    st.builds('{{"log":"{} host x"}}'.format, STAMPS),
    st.builds('{{"date":{}.5,"log":"{} host"}}'.format, SECONDS, STAMPS),
    st.builds('{{"timestamp":{}123,"message":"a"}}'.format, SECONDS),
)
LINES = st.one_of(
    st.builds(
        "{}{}".format, STAMPS, st.sampled_from(("", " host kernel: a", " NVRM: x", ":", "é"))
    ),
    JSON,
)


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.tuples(LINES, st.integers(1, 4)), max_size=30),
    ending=st.sampled_from(("\n", "\r\n")),
    block=st.integers(1, 400),
    ends=st.booleans(),
)
def test_a_scan_equals_looking_at_every_line_by_itself(
    lines: list[tuple[str, int]], ending: str, block: int, ends: bool
) -> None:
    text = ending.join(line for line, times in lines for _ in range(times))
    data = (text + (ending if ends else "")).encode()
    each = data.split(b"\n")
    each = each[:-1] if each[-1] == b"" else each
    times = [line_time(line, REFERENCE, {}, with_journal=True) for line in each]
    stamps = [time.stamp.at for time in times if time.stamp]
    by_hour = Counter(at.replace(minute=0, second=0, microsecond=0) for at in stamps)

    found = scanned(data, block_bytes=block)

    assert (found.size, found.lines) == (len(data), len(each))
    assert found.hours == tuple(
        HourCount(hour=hour, lines=count) for hour, count in sorted(by_hour.items())
    )
    assert found.untimed == len(each) - len(stamps)
    assert found.uptime_only == sum(time.uptime_only for time in times)
    assert (found.first_at, found.last_at) == ((stamps[0], stamps[-1]) if stamps else (None, None))
    assert [candidate.line for candidate in found.candidates] == [
        number for number, line in enumerate(each, 1) if b"NVRM" in line
    ]
    assert found == scanned(data)
