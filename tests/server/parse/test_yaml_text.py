"""Reading YAML: places, bounds, and types as kubectl reads them."""

import pytest

from gpuvet.errors import SpecSyntaxError
from gpuvet.model.yaml_tree import MappingNode, Place, Scalar, walk
from gpuvet.parse.yaml_text import MAX_BYTES, compose_documents, load_documents, resolve


def test_every_value_has_its_place_in_the_file() -> None:
    (document,) = compose_documents("a: 1\nb:\n  - 'x'\n")

    places = {path: (node.place.line, node.place.column) for path, node in walk(document.root)}

    assert places == {"": (1, 1), "a": (1, 4), "b": (3, 3), "b[0]": (3, 5)}


def test_places_of_a_second_document_count_from_the_top_of_the_file() -> None:
    _, second = compose_documents("a: 1\n---\nb: two\n")

    assert isinstance(second.root, MappingNode)
    assert second.root.entries[0].value == Scalar(Place(3, 4, 3, 7, 12, 15), "two", "two")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("off", False),
        ("y", True),
        ("None", "None"),
        ("~", None),
        ("", None),
        ("010", 8),
        ("08", 8.0),
        ("1:30", "1:30"),
        ("1_000", 1000),
        ("0x1f", 31),
        ("2.0", 2.0),
        ("1e3", 1000.0),
        ("5m", "5m"),
        ("-", "-"),
    ],
    ids=repr,
)
def test_plain_words_are_typed_as_kubectl_types_them(text: str, value: object) -> None:
    resolved = resolve(text)

    assert (resolved, type(resolved)) == (value, type(value))


def test_quoted_words_stay_text() -> None:
    assert load_documents("a: 'yes'\nb: \"8\"\nc: !!str 8\n") == ({"a": "yes", "b": "8", "c": "8"},)


def test_anchors_and_merges_are_followed() -> None:
    text = "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n"

    assert load_documents(text) == ({"base": {"x": 1, "y": 2}, "use": {"x": 1, "y": 3}},)


def test_a_repeated_key_keeps_the_last_value_and_is_reported() -> None:
    (document,) = compose_documents("a:\n  b: 1\n  b: 2\n")

    assert [(r.key, r.path, r.first.line, r.again.line) for r in document.repeated] == [
        ("b", "a.b", 2, 3)
    ]


def test_template_tokens_do_not_stop_the_reading() -> None:
    text = "{% if x %}\nreplicas: {{ .Values.n }}\n{% endif %}\nname: a-{{ name }}\n"

    assert load_documents(text) == ({"replicas": "{{ .Values.n }}", "name": "a-{{ name }}"},)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        pytest.param("a: b: c\n", 1, "a second ': '", id="two colons on a line"),
        pytest.param("a:\n\tb: 1\n", 2, "tab", id="tab as indentation"),
        pytest.param('a: "\\d"\n', 1, "double quotes", id="bad escape"),
        pytest.param("a: *nobody\n", 1, "&nobody", id="undefined alias"),
        pytest.param("a: 1\n......\nb: 2\n", 3, "dots", id="a line of dots"),
        pytest.param("a: &a [*a]\n", 1, "&a", id="an alias inside its own anchor"),
        pytest.param("{[1]: 2}\n", 1, "key", id="a key that is a list"),
        pytest.param("a: \x00\n", 1, "", id="a control character"),
        pytest.param("a: 1\n---\nb: [\n", 4, "", id="in the second document"),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(SpecSyntaxError) as caught:
        compose_documents(text)

    assert caught.value.line in {line, line - 1}
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 60 + "]" * 60, id="too deep"),
        pytest.param("a: [" + "1," * 10_001 + "]", id="too many nodes"),
        pytest.param(
            "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
            "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n",
            id="a bomb of aliases",
        ),
        pytest.param("a" * (MAX_BYTES + 1), id="too large"),
    ],
)
def test_the_bounds_hold(text: str) -> None:
    with pytest.raises(SpecSyntaxError):
        compose_documents(text)


def test_empty_text_holds_no_document() -> None:
    assert compose_documents("# only a comment\n---\n---\n") == ()
