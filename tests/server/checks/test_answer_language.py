"""A draft in another language is never clean: its wording was not read."""

from pathlib import Path

import pytest

import gpuvet
from gpuvet.checks.answer.language import is_english
from gpuvet.cli import main

DEMO = Path(gpuvet.__file__).parent / "demo_case"
NODE = "i-0a1c5e7f9b2d40611"


@pytest.mark.parametrize(
    "draft",
    [
        f"REBOOT {NODE}: der Knoten ist nicht gesund, und keine Xids wurden gefunden.",
        f"REBOOT {NODE} : le noeud est sain et il n'y a pas de fautes sur les autres.",
        f"REBOOT {NODE}: los otros nodos no tienen errores y el registro es completo para una.",
        f"REBOOT {NODE} 。ノードは正常です。エラーはありません。",
        f"REBOOT {NODE}: узел исправен, ошибок нет.",
    ],
    ids=["German", "French", "Spanish", "Japanese", "Russian"],
)
def test_its_wording_is_named_as_not_judged_and_the_exit_code_says_so(
    draft: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "draft.md"
    path.write_text(draft, encoding="utf-8")
    assert main(["answer", "check", str(path), "--case", str(DEMO)]) in {1, 3}
    assert "not judged: wording" in capsys.readouterr().out


@pytest.mark.parametrize(
    "draft",
    [
        "REBOOT i-0a1c5e7f9b2d40611: Xid 79. Do: reboot, then watch.",
        "The node is not observable in 1 of 5 h; no cause is proven.",
        "| node | verdict |\n|---|---|\n| i-0a1c5e7f9b2d40611 | REBOOT |",
        "0.9 % idle; fs-0a55b1c2d3e4f5061; via NET/Socket; des Moines; El Paso",
    ],
)
def test_terse_english_is_english(draft: str) -> None:
    assert is_english(draft)
