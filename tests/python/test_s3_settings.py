"""The settings of S3: they are read from variables and profiles of AWS, and passed to each library."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from binarrow import ConfigError
from binarrow.syncing.s3_settings import S3Settings

KEYS = {"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "hidden1"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = eu-west-1\n"
        "[profile lake]\nregion = eu-central-1\nendpoint_url = http://127.0.0.1:9000\n"
        "[profile login]\nsso_session = x\n"
    )
    (tmp_path / ".aws" / "credentials").write_text(
        "[lake]\naws_access_key_id = AKIA2\naws_secret_access_key = hidden2\n"
        "aws_session_token = hidden3\n"
        "[plain]\naws_access_key_id = AKIA3\naws_secret_access_key = hidden4\n"
    )
    return tmp_path


def test_variables(home: Path) -> None:
    given = {"HOME": str(home), **KEYS, "AWS_SESSION_TOKEN": "hidden4", "AWS_ENDPOINT_URL": ""}
    found = S3Settings.from_environment(given)
    assert found == S3Settings("eu-west-1", None, "AKIA1", "hidden1", "hidden4")
    given |= {"AWS_DEFAULT_REGION": "a", "AWS_ENDPOINT_URL": "http://a"}
    assert S3Settings.from_environment(given).region == "a"
    given |= {"AWS_REGION": "b", "AWS_ENDPOINT_URL_S3": "https://b"}
    found = S3Settings.from_environment(given)
    assert (found.region, found.endpoint, found.is_plain) == ("b", "https://b", False)


def test_a_profile(home: Path) -> None:
    given = {"HOME": str(home), "AWS_PROFILE": "lake"}
    found = S3Settings.from_environment(given)
    assert found == S3Settings(
        "eu-central-1", "http://127.0.0.1:9000", "AKIA2", "hidden2", "hidden3"
    )
    assert found.is_plain
    own = S3Settings.from_environment({**given, **KEYS})
    assert (own.access_key, own.secret_key, own.token) == ("AKIA1", "hidden1", None)


def test_no_keys(home: Path) -> None:
    """Without keys, the libraries use the credentials of the machine."""
    found = S3Settings.from_environment({"HOME": str(home / "none")})
    assert found == S3Settings()
    assert found.of_obstore() == {"region": "us-east-1"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"AWS_PROFILE": "login"}, "the profile 'login' has no aws_access_key_id: set AWS_"),
        ({"AWS_PROFILE": "other"}, "the profile 'other' of AWS_PROFILE is neither in"),
        ({"AWS_ACCESS_KEY_ID": "AKIA1"}, "without a secret: set AWS_SECRET_ACCESS_KEY"),
        ({"AWS_PROFILE": "plain", "AWS_SESSION_TOKEN": "hidden7"}, "unset it, or set AWS_ACCESS"),
        (
            {"AWS_ENDPOINT_URL": "hidden8:9000"},
            "AWS_ENDPOINT_URL is not a URL, or contains a login",
        ),
        ({"AWS_ENDPOINT_URL_S3": "http://k:hidden9@a/"}, "AWS_ENDPOINT_URL_S3 is not a URL"),
        ({"AWS_ENDPOINT_URL": "http://hidden10 a"}, "write for example http://127.0.0.1:9000"),
        ({"AWS_CONFIG_FILE": "BROKEN"}, "is not a valid file of AWS profiles: correct it"),
    ],
)
def test_errors(home: Path, given: dict[str, str], words: str) -> None:
    broken = home / "broken"
    broken.write_text("hidden5 = hidden6\n")
    if "AWS_CONFIG_FILE" in given:
        given = {"AWS_CONFIG_FILE": str(broken)}
    with pytest.raises(ConfigError, match=re.escape(words)) as error:
        S3Settings.from_environment({"HOME": str(home), **given})
    assert "hidden" not in str(error.value)


def test_the_libraries(home: Path) -> None:
    found = S3Settings.from_environment({"HOME": str(home), "AWS_PROFILE": "lake"})
    assert "hidden" not in repr(found)
    deltalake = found.of_deltalake(0.1)
    assert deltalake["aws_secret_access_key"] == "hidden2"
    assert (deltalake["allow_http"], deltalake["retry_timeout"]) == ("true", "1s")
    assert deltalake["conditional_put"] == "etag"
    assert deltalake["aws_skip_signature"] == "false"
    assert found.of_pyarrow()["endpoint_override"] == "http://127.0.0.1:9000"
