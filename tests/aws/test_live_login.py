"""The right account and region: sets given at start, whole identities, roles cut down."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import botocore.session
import pytest
from aws.wire import Http, StillTime, http, keys, no_machine, response
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from gpuvet.aws.iam_policy import MOST_SESSION_CHARACTERS, session_policy
from gpuvet.aws.live import LiveAws
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.login import Login, admitted
from gpuvet.aws.reads import OTHER_READS, READS
from gpuvet.errors import UsageError
from gpuvet.model.evidence import Status

__all__ = ["http", "keys", "no_machine"]
pytestmark = pytest.mark.usefixtures("no_machine")

ROLE = "arn:aws:iam::111122223333:role/reader"
ACCOUNTS = {"KEYONE": "111122223333", "KEYTWO": "123456789012", "KEYROLE": "111122223333"}


def write_profiles(home: Path) -> None:
    folder = home / ".aws"
    folder.mkdir()
    (folder / "config").write_text(
        "[profile one]\nregion = us-west-2\n[profile two]\nregion = eu-west-1\n", encoding="utf-8"
    )
    (folder / "credentials").write_text(
        "[one]\naws_access_key_id = KEYONE\naws_secret_access_key = example\n"
        "[two]\naws_access_key_id = KEYTWO\naws_secret_access_key = example\n",
        encoding="utf-8",
    )


def key_of(request: AWSPreparedRequest) -> str:
    signed = request.headers["Authorization"]
    text = signed.decode() if isinstance(signed, bytes) else signed
    return re.search(r"Credential=(\w+)/", text)[1]  # type: ignore[index]  # every request is signed


def form_of(request: AWSPreparedRequest) -> dict[str, list[str]]:
    body: Any = request.body or b""
    return parse_qs(body if isinstance(body, str) else body.decode())


def result(action: str, inner: str) -> AWSResponse:
    whole = f"<{action}Response><{action}Result>{inner}</{action}Result></{action}Response>"
    return response(200, whole.encode())


def error(code: str, status: int = 403) -> AWSResponse:
    body = f"<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>"
    return response(status, body.encode())


def answer_as_owner(request: AWSPreparedRequest) -> AWSResponse:
    """Answer as the account whose key signed the request."""
    account = ACCOUNTS[key_of(request)]
    action = form_of(request).get("Action", [""])[0]
    if action == "AssumeRole":
        given = (
            "<Credentials><AccessKeyId>KEYROLE</AccessKeyId><SecretAccessKey>e</SecretAccessKey>"
            "<SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
            "</Credentials>"
        )
        return result(action, given)
    if action == "GetCallerIdentity":
        return result(action, f"<Arn>arn:x</Arn><UserId>U</UserId><Account>{account}</Account>")
    summary = {"ClusterName": account, "ClusterArn": "a", "ClusterStatus": "InService"}
    return response(200, json.dumps({"ClusterSummaries": [summary]}).encode())


def test_two_profiles_never_answer_for_each_other(no_machine: Path, http: Http) -> None:
    write_profiles(no_machine)
    sent = http(answer_as_owner)
    accounts = LiveAccounts(admitted(profiles=["one", "two"]))

    def ask(profile: str) -> tuple[str | None, str, str]:
        opened = accounts.enter(profile=profile)
        page = (opened.door.read("sagemaker:ListClusters", {}).value or ({},))[0]
        return opened.who.account, opened.who.region, page["ClusterSummaries"][0]["ClusterName"]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, ["one", "two"] * 10))
    assert set(answers[0::2]) == {("111122223333", "us-west-2", "111122223333")}
    assert set(answers[1::2]) == {("123456789012", "eu-west-1", "123456789012")}
    regions = {"KEYONE": "us-west-2", "KEYTWO": "eu-west-1"}
    assert all(regions[key_of(one)] in one.url for one in sent)


def test_a_profile_named_outright_wins_over_keys_in_force(
    keys: Path, http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_profiles(keys)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEYTWO")
    sent = http(answer_as_owner)
    assert LiveAccounts(admitted(profiles=["one"])).enter().who.account == "111122223333"
    assert [key_of(one) for one in sent] == ["KEYONE"]


def test_clients_are_kept_by_the_whole_identity(no_machine: Path) -> None:
    write_profiles(no_machine)
    clients = Clients()
    logins = [
        Login("one"),
        Login("two"),
        Login("one", ROLE),
        Login("one", ROLE, "x-1"),
        Login("one", ROLE, "x-2"),
    ]
    made = [
        clients.client(login, service, region)
        for login in logins
        for service in ("fsx", "events")
        for region in ("us-west-2", "eu-west-1")
    ]
    assert len({id(client) for client in made}) == len(made) == 20
    assert clients.client(Login("one", ROLE, "x-2"), "fsx", "us-west-2") is made[16]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param(
            {"profile": "three"}, "profile 'three' was not given at start", id="a profile"
        ),
        pytest.param({"region": "eu-west-1"}, "region 'eu-west-1' was not given", id="a region"),
        pytest.param({"role": ROLE + "2"}, "was not given at start", id="a role"),
    ],
)
def test_what_was_not_given_at_start_is_an_error_before_a_session_exists(
    asked: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_session(*_: object, **__: object) -> None:
        pytest.fail("a session was made")

    monkeypatch.setattr(botocore.session.Session, "__init__", no_session)
    accounts = LiveAccounts(admitted(["one", "two"], ["us-west-2"], [ROLE]))
    with pytest.raises(UsageError, match=re.escape(told)):
        accounts.enter(**asked)


def test_with_nothing_given_only_what_is_in_force_may_be_asked() -> None:
    accounts = LiveAccounts(admitted())
    with pytest.raises(UsageError, match="only the profile in force"):
        accounts.enter(profile="one")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"roles": ["reader"]}, "is no role", id="a name instead of an ARN"),
        pytest.param({"regions": ["us-west-2; x"]}, "is no region", id="a region with a tail"),
        pytest.param({"profiles": ["a]\nb"]}, "is no profile", id="a profile with a bracket"),
        pytest.param(
            {"external_ids": ["x-1"]}, "external ids for 0 roles", id="an id without role"
        ),
        pytest.param(
            {"roles": [ROLE] * 3, "external_ids": ["x-1", "x-2"]},
            "2 external ids",
            id="too few ids",
        ),
    ],
)
def test_what_cannot_be_an_identity_is_refused_at_start(
    given: dict[str, list[str]], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        admitted(**given)


def test_each_role_has_its_external_id() -> None:
    roles = [ROLE, ROLE + "2"]
    both = admitted(roles=roles, external_ids=["x-1", "x-2"])
    assert [both.login(role=role).external_id for role in roles] == ["x-1", "x-2"]
    assert admitted(roles=roles, external_ids=["x-1"]).login(role=roles[1]).external_id == "x-1"
    assert admitted().login() == Login()


def test_a_role_is_assumed_with_its_external_id_and_cut_down_to_the_list(
    no_machine: Path, http: Http
) -> None:
    write_profiles(no_machine)
    sent = http(answer_as_owner)
    accounts = LiveAccounts(admitted(["one"], ["us-west-2"], [ROLE], ["x-1"]))
    opened = accounts.enter()
    assert opened.door.read("sagemaker:ListClusters", {}).status is Status.OK
    assert [key_of(one) for one in sent] == ["KEYONE", "KEYROLE", "KEYROLE"]
    asked = form_of(sent[0])
    assert (asked["RoleArn"], asked["ExternalId"]) == ([ROLE], ["x-1"])
    (statement,) = json.loads(asked["Policy"][0])["Statement"]
    assert statement["Effect"] == "Allow"
    assert set(statement["Action"]) == {
        read.iam_action for read in (*READS.values(), *OTHER_READS.values()) if read.iam_action
    }
    assert len(session_policy()) <= MOST_SESSION_CHARACTERS


def test_a_role_that_may_not_be_assumed_is_one_sentence(no_machine: Path, http: Http) -> None:
    write_profiles(no_machine)
    http(lambda _request: error("AccessDenied"))
    with pytest.raises(UsageError, match=f"role {ROLE} may not be assumed"):
        LiveAccounts(admitted(["one"], [], [ROLE])).enter()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        pytest.param("ExpiredToken", "invalid or expired; sign in again", id="expired"),
        pytest.param("InvalidClientTokenId", "invalid or expired; sign in again", id="unknown key"),
        pytest.param("SignatureDoesNotMatch", "invalid or expired", id="a wrong secret"),
    ],
)
@pytest.mark.usefixtures("keys")
def test_credentials_aws_refuses_are_one_sentence(http: Http, code: str, told: str) -> None:
    http(lambda _request: error(code))
    with pytest.raises(UsageError, match=told) as raised:
        LiveAccounts(admitted(regions=["us-west-2"])).enter()
    assert "\n" not in str(raised.value)


def test_no_credentials_and_no_region_are_one_sentence_each() -> None:
    with pytest.raises(UsageError, match=r"^no AWS credentials were found; sign in"):
        LiveAccounts(admitted(regions=["us-west-2"])).enter()
    with pytest.raises(UsageError, match=r"^no region is set: give --region"):
        LiveAccounts(admitted()).enter()


def test_a_login_that_ran_out_names_the_command_that_renews_it(
    no_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (no_machine / ".aws").mkdir()
    (no_machine / ".aws" / "config").write_text(
        "[sso-session corp]\nsso_start_url = https://example.awsapps.com/start\n"
        "sso_region = us-east-1\n[profile sso]\nsso_session = corp\n"
        "sso_account_id = 111122223333\nsso_role_name = R\nregion = us-east-1\n",
        encoding="utf-8",
    )
    cache = str(no_machine / "empty")
    monkeypatch.setattr("botocore.tokens.SSOTokenProvider._SSO_TOKEN_CACHE_DIR", cache)
    with pytest.raises(UsageError, match="run `aws sso login --profile sso`"):
        LiveAccounts(admitted(profiles=["sso"])).enter()


@pytest.mark.usefixtures("keys")
def test_an_unreachable_sts_leaves_the_account_unknown_and_the_question_goes_on(
    http: Http,
) -> None:
    http(lambda _request: error("ServiceUnavailable", 503))
    accounts = LiveAccounts(admitted(regions=["us-west-2"]), clock=StillTime().clock)
    assert accounts.enter().who == ("us-west-2", None, None)


def partitions() -> dict[str, str]:
    core = botocore.session.get_session()
    return {
        name: core.get_available_regions("ec2", name)[0] for name in core.get_available_partitions()
    }


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(("partition", "region"), partitions().items())
def test_every_partition_has_its_endpoints_and_its_roles(
    partition: str, region: str, http: Http
) -> None:
    role = f"arn:{partition}:iam::111122223333:role/path/reader"
    sets = admitted(regions=[region], roles=[role])
    assert (sets.region(region), sets.login(role=role).role) == (region, role)
    sent = http(lambda _request: response(403, b""))
    LiveAws(Login(), region, clock=StillTime().clock).read("ec2:DescribeSubnets", {})
    core: Any = botocore.session.get_session()
    suffix = core._get_internal_component("endpoint_resolver").get_partition_dns_suffix(partition)
    assert sent[0].url == f"https://ec2.{region}.{suffix}/"
