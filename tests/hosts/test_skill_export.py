"""The skill outside the repository: a folder and a zip that keep the format's rules."""

import io
import zipfile
from pathlib import Path

import pytest

from gpuvet.assets import references, skill_text
from gpuvet.cli import main
from gpuvet.errors import UsageError
from gpuvet.hosts.skill import export, skill_faults, skill_files, zipped

GOOD = """---
name: gpuvet
description: Judges nodes.
metadata:
  version: "1.0.0"
  summary: "Short."
---

See [coverage](references/coverage.md).
"""


def a_skill(folder: Path, text: str = GOOD) -> Path:
    (folder / "gpuvet" / "references").mkdir(parents=True)
    (folder / "gpuvet" / "SKILL.md").write_text(text, encoding="utf-8")
    (folder / "gpuvet" / "references" / "coverage.md").write_text("# Coverage\n", encoding="utf-8")
    return folder / "gpuvet"


def test_the_exported_skill_breaks_no_rule_of_the_format(tmp_path: Path) -> None:
    folder = export(tmp_path)
    assert folder == tmp_path / "gpuvet"
    assert skill_faults(folder) == ()
    assert (folder / "SKILL.md").read_text(encoding="utf-8") == skill_text()


def test_with_an_author_it_may_be_published(tmp_path: Path) -> None:
    assert skill_faults(export(tmp_path / "a"), published=True) == ("metadata.author is missing",)
    assert skill_faults(export(tmp_path / "b", "octo-cat"), published=True) == ()


@pytest.mark.parametrize("author", ["", "two words", "-dash", "a--b", 'x"\nname: evil', "a" * 40])
def test_an_author_is_a_github_user_and_nothing_else(author: str) -> None:
    with pytest.raises(UsageError, match="no GitHub user"):
        skill_files(author)


def test_it_carries_every_page_for_people_and_no_schema_for_programs() -> None:
    pages = {f"references/{name}" for name in references() if name.endswith(".md")}
    pages -= {"references/README.md"}
    to_apply = {"references/iam-policy.json", "references/kubernetes-role.yaml"}
    assert set(skill_files()) == pages | {"SKILL.md"} | to_apply


def test_no_link_of_it_leads_out_of_the_folder() -> None:
    files = skill_files()
    assert "](schemas/" in references()["case-format.md"].read_text(encoding="utf-8")
    assert not [name for name, text in files.items() if "](schemas" in text or "](../" in text]


def test_the_zip_has_the_skill_at_its_root_and_is_always_the_same() -> None:
    once, again = zipped(), zipped()
    assert once == again
    with zipfile.ZipFile(io.BytesIO(once)) as archive:
        held = {name: archive.read(name).decode("utf-8") for name in archive.namelist()}
    assert held == dict(skill_files())
    assert "SKILL.md" in held


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "gpuvet").mkdir()
    (tmp_path / "gpuvet" / "mine.md").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty"):
        export(tmp_path)
    assert [p.name for p in (tmp_path / "gpuvet").iterdir()] == ["mine.md"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("# no front matter\n", "front matter", id="no front matter"),
        pytest.param(GOOD.replace("gpuvet", "GpuVet"), "lower case", id="a name in capitals"),
        pytest.param(GOOD.replace("gpuvet", "gpu--vet"), "hyphens", id="two hyphens"),
        pytest.param(GOOD.replace("name: gpuvet", "name: other"), "the folder's", id="two names"),
        pytest.param(GOOD.replace("Judges nodes.", ""), "description", id="no description"),
        pytest.param(GOOD.replace("Judges", "J" * 1100), "description", id="a long description"),
        pytest.param(GOOD.replace('"1.0.0"', "1.0"), "no string", id="a version that is a number"),
        pytest.param(GOOD.replace('"1.0.0"', '"1.0"'), "MAJOR", id="a version in two parts"),
        pytest.param(GOOD.replace("Judges", "&a Judges"), "plain", id="an anchor"),
        pytest.param(GOOD.replace("Judges nodes.", "!!str x"), "plain", id="a tag"),
        pytest.param(GOOD.replace("Judges nodes.", "[a, b]"), "plain", id="a flow collection"),
        pytest.param(
            GOOD.replace("metadata:", "name: gpuvet\nmetadata:"), "name stands twice", id="twice"
        ),
        pytest.param(GOOD.replace("coverage.md", "gone.md"), "links to", id="a link to nowhere"),
        pytest.param(GOOD + "x\n" * 400, "400 lines", id="too long"),
        pytest.param(GOOD.replace("Short.", "S" * 201), "summary", id="a long summary"),
    ],
)
def test_each_way_of_breaking_the_format_is_named(tmp_path: Path, text: str, fault: str) -> None:
    assert skill_faults(a_skill(tmp_path / "good")) == ()
    faults = skill_faults(a_skill(tmp_path / "bad", text))
    assert any(fault in told for told in faults), faults


def test_links_between_files_and_deep_folders_are_named(tmp_path: Path) -> None:
    folder = a_skill(tmp_path)
    (folder / "references" / "deep").mkdir()
    (folder / "references" / "deep" / "page.md").write_text("deep\n", encoding="utf-8")
    assert skill_faults(folder) == ("references/deep/page.md lies more than one level deep",)


def test_the_command_exports_checks_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["skill", "export", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'gpuvet'}\n"
    assert main(["skill", "check", str(tmp_path / "gpuvet")]) == 0
    assert main(["skill", "check", "--published", str(tmp_path / "gpuvet")]) == 1
    assert "author" in capsys.readouterr().out
    assert main(["skill", "export", "--zip", str(tmp_path / "skill.zip")]) == 0
    assert (tmp_path / "skill.zip").read_bytes() == zipped()
    assert main(["skill", "export", str(tmp_path)]) == 2
