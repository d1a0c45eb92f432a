"""What of an account shows."""

import pytest

from gpuvet.parse.accounts import proved_accounts
from gpuvet_evals.audit.leaks import find_leaks, leak_findings, scan_identifiers
from gpuvet_evals.journal_writer import JournalWriter

ACCOUNT = "2222" + "3333" + "4444"  # none of the examples


def run_with(result: str) -> JournalWriter:
    return JournalWriter().user("q").use("gather_context", {}, call="g").summary(result)


@pytest.mark.parametrize(
    ("text", "proof"),
    [
        (f'{{"{ACCOUNT}": {{}}}}', "key of a result"),
        (f'{{"111122223333": {{}}, "{ACCOUNT}": {{}}}}', "key of a result"),
        (f'{{\\"{ACCOUNT}\\": {{}}}}', "key of a result"),
        (f"arn:aws:logs:us-east-2:{ACCOUNT}:log-group:/x", "5th field of an ARN"),
        (f'{{"AccountId": "{ACCOUNT}"}}', "an account id field"),
        (f'{{"aws_account_id": "{ACCOUNT}"}}', "an account id field"),
        (f'{{"OwnerId": "{ACCOUNT}"}}', "an owner id field"),
        (f"AWS API error (logs.X, account {ACCOUNT}): no", "named as an account"),
    ],
)
def test_digits_are_an_account_by_proof(text: str, proof: str) -> None:
    assert proved_accounts(text).get(ACCOUNT) == proof


@pytest.mark.parametrize(
    "text",
    [
        f"/aws/parallelcluster/train-{ACCOUNT}",
        f'{{"bytes": {ACCOUNT}}}',
        f"0.{ACCOUNT}",
        f"a {ACCOUNT}1 b",
    ],
)
def test_twelve_digits_alone_prove_nothing(text: str) -> None:
    assert ACCOUNT not in proved_accounts(text)


def test_an_account_proved_in_a_result_leaks_in_the_answer() -> None:
    journal = run_with(f'{{"{ACCOUNT}": {{}}}}').journal()
    answer = f"In {ACCOUNT}, group /aws/parallelcluster/x-202610020905, 999999999999 bytes."

    leaks = find_leaks(journal, answer, counted_by_pattern=False)

    assert leaks.account_ids_in_answer == (ACCOUNT,)
    assert leaks.twelve_digit_not_accounts == (
        "202610020905: 12 digits but a date stamp in a log group name, not an account",
        "999999999999: 12 digits but nothing proves it, not an account",
    )


def test_the_scan_reports_what_the_publisher_would() -> None:
    text = (
        f'{{"{ACCOUNT}": "i-0123456789abcdef9"}} arn:aws:x:y:111122223333:z '
        "i-0a1b2c3d4e5f60011 ami-0123456789abcdef1 i-0123456789abcdef1-x"
    )

    assert list(scan_identifiers(text)) == [f"account {ACCOUNT}", "instance i-0123456789abcdef9"]


def test_everything_of_an_account_is_found_with_its_kind() -> None:
    text = (
        f"arn:aws:iam::{ACCOUNT}:user/jane.doe on i-0123456789abcdef9 at 10.2.0.11 "
        "(ip-10-2-0-11, 0a:1b:2c:3d:4e:5f, 300.1.1.1) with AKIAABCDEFGHIJKLMNOP near 192.0.2.1"
    )

    found = {
        (f.kind, f.shown, f.documentation) for f in leak_findings(run_with("").journal(), text)
    }

    assert found == {
        ("account", ACCOUNT, False),
        ("instance", "i-0123456789abcdef9", False),
        ("user name", "jane.doe", False),
        ("address", "10.2.0.11", False),
        ("address", "ip-10-2-0-11", False),
        ("address", "192.0.2.1", True),
        ("MAC address", "0a:1b:2c:3d:4e:5f", False),
        ("secret", "", False),
    }
