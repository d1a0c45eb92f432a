"""`gpuvet xid`: 0 for whatever it can explain, 2 and a message for what is no code and no line."""

import argparse
import io
import json

import pytest

from gpuvet.commands import xid
from gpuvet.commands.xid import MAX_INPUT

LINE = "NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, GPU has fallen off the bus."


def gpuvet(*words: str) -> int:
    parser = argparse.ArgumentParser()
    xid.add_parser(parser.add_subparsers())
    args = parser.parse_args(["xid", *words])
    code: int = args.run(args)
    return code


@pytest.mark.parametrize(
    ("words", "first"),
    [
        pytest.param(["79"], "Xid 79  ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", id="a number"),
        pytest.param(["Xid", "79"], "Xid 79  ROBUST", id="as people write it"),
        pytest.param(["sxid", "20034"], "SXid 20034  DLPL_LTSSM_FAULT_UP", id="named SXid"),
        pytest.param(["--sxid", "20034"], "SXid 20034  DLPL_LTSSM_FAULT_UP", id="flagged SXid"),
        pytest.param(["99999"], "Xid 99999\nUNVERIFIED", id="in no list"),
        pytest.param(["--line", LINE], "Xid 79  ROBUST", id="a line"),
        pytest.param(["79", "--format", "markdown"], "### Xid 79", id="Markdown"),
    ],
)
def test_what_can_be_explained_is_and_ends_with_0(
    capsys: pytest.CaptureFixture[str], words: list[str], first: str
) -> None:
    assert gpuvet(*words) == 0
    assert capsys.readouterr().out.startswith(first)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["banana"], "'banana' is no Xid number", id="a word"),
        pytest.param(["-5"], "", id="negative"),
        pytest.param(["123456"], "'123456' is no Xid number", id="too long"),
        pytest.param([], "no code given", id="nothing"),
        pytest.param(["--line", "banana"], "no Xid or SXid in 'banana'", id="a line without one"),
        pytest.param(["79", "--line", LINE], "not both", id="both"),
    ],
)
def test_what_is_no_code_and_no_line_ends_with_2_and_says_what_would_work(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    try:
        code = gpuvet(*words)
    except SystemExit as error:  # argparse's own refusal
        code = int(error.code or 0)
    assert code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_dash_reads_the_lines_from_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{LINE}\n{LINE.replace('79', '31')}\n"))
    assert gpuvet("--line", "-", "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "gpuvet/xid/1"
    assert [(each["code"], each["verdict"], each["class"]) for each in answer["explanations"]] == [
        (79, "REBOOT", "hardware"),
        (31, "LEAVE ALONE", "application"),
    ]


def test_more_than_a_line_can_be_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * (MAX_INPUT + 1)))
    assert gpuvet("--line", "-") == 2
    assert "gpuvet verdict" in capsys.readouterr().err
