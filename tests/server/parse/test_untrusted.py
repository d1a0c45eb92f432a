"""Text from outside is kept without its secrets, its invisible characters and its length."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.parse.untrusted import CUT, LIMIT, MASK, clean, clean_around

KEY = "Qw3rTy" * 5


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("key AKIAIOSFODNN7EXAMPLE used", f"key {MASK} used", id="access key"),
        pytest.param("ASIAIOSFODNN7EXAMPLE", MASK, id="temporary access key"),
        pytest.param(f"hf_{KEY}", MASK, id="Hugging Face"),
        pytest.param(f"git ghp_{KEY}", f"git {MASK}", id="GitHub"),
        pytest.param(f"github_pat_{KEY}", MASK, id="GitHub, fine-grained"),
        pytest.param(f"Authorization: Bearer {KEY}", f"Authorization: Bearer {MASK}", id="bearer"),
        pytest.param(
            f"AWS_SECRET_ACCESS_KEY={KEY} next", f"AWS_SECRET_ACCESS_KEY={MASK} next", id="env"
        ),
        pytest.param(f'"password": "{KEY}",', f'"password": {MASK},', id="JSON field"),
        pytest.param(f"WANDB_API_KEY={KEY}", f"WANDB_API_KEY={MASK}", id="API key"),
        pytest.param(
            f"https://b.s3.amazonaws.com/o?X-Amz-Signature={KEY}&x=1",
            f"https://b.s3.amazonaws.com/o?X-Amz-Signature={MASK}&x=1",
            id="signed URL",
        ),
        pytest.param("https://me:hunter2@host/", f"https://me:{MASK}@host/", id="URL login"),
        pytest.param(
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- x",
            f"{MASK} x",
            id="private key",
        ),
        pytest.param("-----BEGIN PRIVATE KEY-----\nabc", MASK, id="private key without its end"),
        pytest.param("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc123", MASK, id="JSON web token"),
    ],
)
def test_a_secret_is_masked(text: str, kept: str) -> None:
    assert clean(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:53:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off.",
        "NVRM: GPU at PCI:0000:53:00: GPU-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901",
        "i-0aa11bb22cc33dd44 in arn:aws:sagemaker:us-west-2:111122223333:cluster/abc",
        "0x004505c6 0x00000000 token ring",
    ],
)
def test_a_line_of_the_field_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("a\x1b[31mb", r"a\x1b[31mb", id="terminal colour"),
        pytest.param("a\u202eb", r"a\u202eb", id="bidi override"),
        pytest.param("a\u200bb", r"a\u200bb", id="zero width"),
        pytest.param("a\nb\tc\r", r"a\nb\tc\r", id="line breaks"),
        pytest.param("a\x00\x85", r"a\x00\x85", id="control"),
        pytest.param("a\U000e0041", r"a\ue0041", id="tag character"),
        pytest.param("a\ud800", r"a\ud800", id="lone surrogate"),
        pytest.param("Grüße", "Grüße", id="plain letters stay"),
    ],
)
def test_a_character_that_acts_is_shown(text: str, kept: str) -> None:
    assert clean(text) == kept


def test_a_long_text_is_cut_with_a_mark() -> None:
    assert clean("x" * 1000) == "x" * LIMIT + CUT


def test_a_secret_across_the_cut_is_masked_all_the_same() -> None:
    assert "AKIA" not in clean("x" * (LIMIT - 6) + " AKIAIOSFODNN7EXAMPLE")


def test_a_long_record_keeps_the_part_that_matters() -> None:
    text = "{" + "x" * 2000 + "NVRM: Xid (PCI:0000:53:00): 79" + "y" * 2000
    kept = clean_around(text, text.find("NVRM"))
    assert "NVRM: Xid (PCI:0000:53:00): 79" in kept
    assert len(kept) <= LIMIT + 2 * len(CUT)


@settings(max_examples=60)
@given(st.text(max_size=700))
def test_kept_text_is_short_and_shows_everything(text: str) -> None:
    kept = clean(text)
    assert len(kept) <= LIMIT + len(CUT)
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in kept)
