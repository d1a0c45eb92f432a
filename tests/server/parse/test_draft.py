"""A draft as units with their places: Markdown goes, words and columns stay."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.parse.draft import Draft, Place, UnitKind

TEXT = """\
# **Not ready** for the run

Node `i-0a11c27f3e5d90b41` is NOT\\_OBSERVABLE. It was
silent, e.g. from 11:00Z on.

1. first _thing_: node_name
   goes on
- [ ] second

| node | hours |
|---|---|
| i-0a11 | 2 of 49 |

```
aws sagemaker list-clusters
```
"""


def test_a_draft_falls_into_headings_sentences_items_rows_and_code() -> None:
    units = [(u.kind, u.text.strip(), u.block) for u in Draft(TEXT).units]
    assert units == [
        (UnitKind.HEADING, "Not ready for the run", 0),
        (UnitKind.SENTENCE, "Node i-0a11c27f3e5d90b41 is NOT_OBSERVABLE.", 1),
        (UnitKind.SENTENCE, "It was silent, e.g. from 11:00Z on.", 1),
        (UnitKind.SENTENCE, "first thing: node_name    goes on", 2),
        (UnitKind.SENTENCE, "second", 3),
        (UnitKind.ROW, "| node | hours |", 4),
        (UnitKind.ROW, "| i-0a11 | 2 of 49 |", 5),
        (UnitKind.CODE, "aws sagemaker list-clusters", 6),
    ]


@pytest.mark.parametrize(
    ("word", "place"),
    [
        pytest.param("Not ready", Place(1, 5), id="behind a heading's marks"),
        pytest.param("i-0a11c27f3e5d90b41", Place(3, 7), id="in a code span"),
        pytest.param("NOT_OBSERVABLE", Place(3, 31), id="before an escape"),
        pytest.param("silent", Place(4, 1), id="on the second line of a sentence"),
        pytest.param("2 of 49", Place(12, 12), id="in a table"),
    ],
)
def test_every_word_keeps_the_place_it_had_as_written(word: str, place: Place) -> None:
    draft = Draft(TEXT)
    assert draft.place(draft.words.index(word)) == place


def test_the_headline_is_the_first_block_and_what_follows_a_title() -> None:
    assert [u.text for u in Draft("REPLACE it. Now. Really.\n\nMore.").headline] == [
        "REPLACE it.",
        "Now.",
    ]
    assert [u.text for u in Draft("# Report\n\nREPLACE it.\n\nMore.").headline] == [
        "Report",
        "REPLACE it.",
    ]


def test_an_id_may_begin_a_sentence() -> None:
    texts = [u.text for u in Draft("Replace i-0a11c27f. i-0b22d4e6 is fine.").units]
    assert texts == ["Replace i-0a11c27f.", "i-0b22d4e6 is fine."]


def test_code_spans_and_quotations_are_known() -> None:
    draft = Draft("Run `reboot i-1` as \u201cthe user\u201d said.")
    assert draft.in_code(draft.words.index("reboot"))
    assert not draft.in_code(draft.words.index("said"))
    assert draft.in_quotes(draft.words.index("user"))
    assert not draft.in_quotes(draft.words.index("said"))


@settings(max_examples=60)
@given(st.text(alphabet="ab1 `*_\\|#->.\n\"'[x]", max_size=80))
def test_any_text_can_be_read_and_every_place_lies_in_it(text: str) -> None:
    draft = Draft(text)
    lines = text.split("\n")
    for unit in draft.units:
        place = draft.place(unit.start)
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1]) + 1
        assert draft.words[unit.start : unit.end].replace("\n", " ") == unit.text
