"""No manifest, however odd, makes a check fall over."""

import json
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from spec_examples import BASE, ELASTIC, job

from gpuvet.model.yaml_tree import walk
from gpuvet.modes.spec import check_text, fixed_text
from gpuvet.parse.yaml_text import compose_documents, load_documents

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Key: TypeAlias = str | int

ODD: tuple[Json, ...] = (
    None, True, 0, -1, 2.5, 1e308, "", " ", "x", "${X}", "{{ x }}", "<a>", "XXX", [], {}, [[]],
    [None], {"a": None}, ["a", 1], {"": ""}, "a" * 300, "(", "\\", "*", "1e999", "\u202e", "nan",
    "9" * 40, "0x1F", "yes", "15m", [{"name": 1}], {"rules": {}},
)  # fmt: skip
ELASTIC_JOB = job(("  replicaSpecs:\n    - name: pods\n      replicas: 4\n", ELASTIC))


def plain(text: str) -> Json:
    value: Json = json.loads(json.dumps(load_documents(text)[0], default=dict))
    return value


def places(value: Json, path: tuple[Key, ...] = ()) -> list[tuple[Key, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*path, index))
    return found


def exchanged(value: Json, path: tuple[Key, ...], odd: Json) -> Json:
    if not path:
        return odd
    here = path[0]
    if isinstance(value, dict) and isinstance(here, str):
        return {**value, here: exchanged(value[here], path[1:], odd)}
    if isinstance(value, list) and isinstance(here, int):
        return [*value[:here], exchanged(value[here], path[1:], odd), *value[here + 1 :]]
    return value


MANIFESTS = [plain(BASE), plain(ELASTIC_JOB)]


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_any_value_anywhere_is_judged_without_falling_over(data: st.DataObject) -> None:
    manifest = data.draw(st.sampled_from(MANIFESTS))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(manifest)))
        manifest = exchanged(manifest, path, data.draw(st.sampled_from(ODD)))
    text = json.dumps(manifest)

    report = check_text(text)

    assert all(each.line >= 1 for each in report.findings)
    fixed_text(text, report)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, len(BASE)),
    st.integers(0, 40),
    st.text(alphabet=" \n\t:-'\"{}[]&*#|>a1$", max_size=6),
)
def test_any_damage_to_the_text_is_judged_without_falling_over(
    start: int, length: int, inserted: str
) -> None:
    text = BASE[:start] + inserted + BASE[start + length :]

    report = check_text(text)

    fixed_text(text, report)


def test_places_of_findings_lie_in_the_file() -> None:
    text = job(("replicas: 4", "replicas: 0"), ("value: WARN", "value: DEBUG"))
    lines = text.splitlines()
    (document,) = compose_documents(text)

    assert all(
        node.place.line <= len(lines) + 1 and text[node.place.start : node.place.end]
        for _, node in walk(document.root)
    )
    for finding in check_text(text).findings:
        assert finding.column <= len(lines[finding.line - 1]) + 1
