"""The Claude Desktop bundle: valid, pinned, the same every time, and it starts."""

import json
import os
import re
import struct
import sys
import tomllib
import zipfile
import zlib
from pathlib import Path

import pytest
from host_tools import run_tool
from mcp import Client, StdioServerParameters

from gpuvet.hosts.desktop import bundle_files, manifest, write_bundle
from gpuvet.hosts.icon import icon_png
from gpuvet.tools.table import TOOLS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    write_bundle(ROOT, folder / "gpuvet.mcpb")
    with zipfile.ZipFile(folder / "gpuvet.mcpb") as archive:
        archive.extractall(folder / "in")
    return folder / "in"


def test_the_manifest_is_of_the_version_that_knows_uv_and_asks_for_profile_and_region() -> None:
    found = manifest()
    assert found["manifest_version"] == "0.4"
    assert set(found["user_config"]) == {"profile", "region"}
    assert found["author"] == {"name": "the gpuvet authors"}


def test_the_manifest_names_every_tool_in_one_sentence() -> None:
    told = {one["name"]: one["description"] for one in manifest()["tools"]}
    assert set(told) == {row.name for row in TOOLS}
    assert all(text.endswith((".", ":")) and len(text) <= 300 for text in told.values())


def test_what_it_needs_is_pinned_to_one_version_each(unpacked: Path) -> None:
    project = tomllib.loads((unpacked / "pyproject.toml").read_text(encoding="utf-8"))
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = project["project"]["dependencies"]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", need) for need in pinned)
    assert len(pinned) == len(ours["project"]["dependencies"])
    assert project["tool"]["uv"]["package"] is False
    assert set(pinned) <= set(project["tool"]["uv"]["constraint-dependencies"])


def test_nothing_of_others_and_nothing_of_this_machine_lies_in_it(unpacked: Path) -> None:
    names = [p.relative_to(unpacked).as_posix() for p in unpacked.rglob("*") if p.is_file()]
    roots = {name.partition("/")[0] for name in names}
    assert roots == {
        *("manifest.json", "icon.png", "pyproject.toml", "LICENSE", ".mcpbignore"),
        *("server", "skill", "references"),
    }
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    assert {name.split("/")[1] for name in names if name.startswith("server/")} == {"gpuvet"}


def test_it_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    write_bundle(ROOT, tmp_path / "a.mcpb")
    write_bundle(ROOT, tmp_path / "b.mcpb")
    assert (tmp_path / "a.mcpb").read_bytes() == (tmp_path / "b.mcpb").read_bytes()
    assert len(bundle_files(ROOT)) > 300


def test_the_icon_is_a_png_of_512_pixels() -> None:
    png = icon_png()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", png[16:24]) == (512, 512)
    start = png.index(b"IDAT")
    (size,) = struct.unpack(">I", png[start - 4 : start])
    assert len(zlib.decompress(png[start + 4 : start + 4 + size])) == 512 * (1 + 3 * 512)


@pytest.mark.anyio
async def test_the_unpacked_bundle_starts_as_the_manifest_says(unpacked: Path) -> None:
    config = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))["server"][
        "mcp_config"
    ]
    words = config["args"]
    assert words[words.index("--directory") + 1] == "${__dirname}"
    # uv would install what is pinned; this interpreter has it.
    after = words[words.index("python") + 1 :]
    values = {
        "${__dirname}": str(unpacked),
        "${user_config.profile}": "",
        "${user_config.region}": "us-west-2",
    }
    environment = dict(config["env"])
    for key, value in values.items():
        environment = {name: text.replace(key, value) for name, text in environment.items()}
    started = StdioServerParameters(
        command=sys.executable,
        args=after,
        env={
            "PATH": os.environ["PATH"],
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(unpacked / "none"),
            "AWS_SHARED_CREDENTIALS_FILE": str(unpacked / "none"),
            **environment,
        },
        cwd=unpacked,
    )
    async with Client(started) as client:
        assert {t.name for t in (await client.list_tools()).tools} == {row.name for row in TOOLS}
        (skill,) = (await client.read_resource("gpuvet://skill/SKILL.md")).contents
        assert skill.uri == "gpuvet://skill/SKILL.md"
        refused = await client.call_tool("check_access", {})
    # A field left empty is no profile of that name.
    assert "no AWS credentials were found" in str(refused)


def test_anthropics_own_tool_finds_it_valid_and_packs_it(unpacked: Path, tmp_path: Path) -> None:
    valid = run_tool("mcpb", "validate", str(unpacked), home=tmp_path)
    assert "schema validation passes" in valid.stdout, valid.stdout + valid.stderr
    packed = run_tool("mcpb", "pack", str(unpacked), str(tmp_path / "out.mcpb"), home=tmp_path)
    assert packed.returncode == 0, packed.stdout + packed.stderr
    with zipfile.ZipFile(tmp_path / "out.mcpb") as archive:
        assert "server/gpuvet/__main__.py" in archive.namelist()
