"""Secrets leave a reply before anybody sees it; what a verdict rests on stays."""

import base64
import json
from typing import Any

import pytest

from gpuvet.record.masking import cleaned, cleaned_text
from gpuvet.record.spec_text import without_secrets

SCRIPT = base64.b64encode(b"#!/bin/bash\nexport KEY=letmein\n").decode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            {"Environment": {"WANDB_LOGIN": "x1", "NCCL_DEBUG": "INFO"}},
            {"Environment": {"WANDB_LOGIN": "[masked]", "NCCL_DEBUG": "INFO"}},
            id="an environment by name",
        ),
        pytest.param(
            {"env": [{"name": "DB", "value": "x1"}, {"name": "FI_PROVIDER", "value": "efa"}]},
            {"env": [{"name": "DB", "value": "[masked]"}, {"name": "FI_PROVIDER", "value": "efa"}]},
            id="an environment as a list",
        ),
        pytest.param(
            {"certificateAuthority": {"data": "LS0tLS1CRUdJTi"}},
            {"certificateAuthority": {"data": "[masked]"}},
            id="a certificate",
        ),
        pytest.param(
            {"NextToken": "eyJ2IjoiMiJ9", "nextToken": None},
            {"NextToken": "[masked]", "nextToken": None},
            id="what leads from page to page",
        ),
        pytest.param(
            [{"field": "@ptr", "value": "CmEKXgosOTM4"}, {"field": "@message", "value": "a line"}],
            [{"field": "@ptr", "value": "[masked]"}, {"field": "@message", "value": "a line"}],
            id="a pointer of a log query",
        ),
        pytest.param(
            {"requestParameters": {"userData": SCRIPT}},
            {"requestParameters": {"userData": "[masked]"}},
            id="user data",
        ),
        pytest.param(
            {"note": f"start with {SCRIPT}"},
            {"note": "start with [masked]"},
            id="text in base64",
        ),
        pytest.param(
            {"CloudTrailEvent": json.dumps({"env": [{"name": "DB", "value": "x1"}]})},
            {"CloudTrailEvent": '{"env":[{"name":"DB","value":"[masked]"}]}'},
            id="JSON inside a string",
        ),
    ],
)
def test_members_that_hold_secrets_are_masked(value: Any, expected: Any) -> None:  # noqa: ANN401 (any reply)
    assert cleaned(value) == expected


@pytest.mark.parametrize(
    "text",
    [
        "export NCCL_SOCKET_IFNAME=eth0; export FI_PROVIDER=efa",
        "srun --export=ALL torchrun --nproc_per_node=8 train.py --lr=0.1",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "/aws/sagemaker/Clusters/train-a/abc123def456",
        "NVRM: Xid (PCI:0000:53:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert cleaned_text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export DB_LOGIN=letmein; run", "export DB_LOGIN=[masked]; run"),
        ("docker run -e LOGIN='let me in' x", "docker run -e LOGIN=[masked] x"),
        ('Environment="LOGIN=letmein"', 'Environment="LOGIN=[masked]"'),
    ],
)
def test_variables_in_a_shell_are_masked(text: str, expected: str) -> None:
    assert cleaned_text(text) == expected


def test_masking_twice_changes_nothing_more() -> None:
    value = {"Environment": {"A": "x1"}, "m": f"export B=c {SCRIPT}", "NextToken": "t"}
    assert cleaned(cleaned(value)) == cleaned(value)


def test_a_job_spec_keeps_its_text_but_for_the_secrets() -> None:
    spec = (
        "env:\n  - name: LOGIN\n    value: letmein  # ours\n  - name: NCCL_DEBUG\n    value: INFO\n"
    )
    assert without_secrets(spec) == spec.replace("letmein", "'[masked]'")


def test_what_is_no_manifest_is_only_masked_as_text() -> None:
    assert without_secrets("{{ not yaml\npassword=letmein1\n") == "{{ not yaml\npassword=[masked]\n"
