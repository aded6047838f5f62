"""The settings of an S3 client: from the environment and the files of AWS, never from a URL."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from binarrow._native import ConfigError

REGION = "us-east-1"
"""The region if none is configured."""

REQUEST = 30
"""The maximum number of seconds of one request."""


@dataclass(frozen=True)
class S3Settings:
    """The endpoint, the region and the credentials of a store.

    Without keys, the libraries use the credentials of the machine: those of a container, an
    instance or a web identity.
    """

    region: str = REGION
    endpoint: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> S3Settings:
        """Reads the environment variables of AWS, and the profile that they select.

        Raises:
            ConfigError: The profile does not exist, or it requires a login.
        """
        given = {name: value for name, value in environment.items() if value}
        name = given.get("AWS_PROFILE") or given.get("AWS_DEFAULT_PROFILE")
        profile = _profile(given, name)
        keys = (given.get("AWS_ACCESS_KEY_ID"), given.get("AWS_SECRET_ACCESS_KEY"))
        token = given.get("AWS_SESSION_TOKEN")
        if keys[0] is None:
            keys = (profile.get("aws_access_key_id"), profile.get("aws_secret_access_key"))
            token = profile.get("aws_session_token")
            if keys[0] is None and name is not None:
                raise ConfigError(
                    f"the profile {name!r} has no aws_access_key_id: set AWS_ACCESS_KEY_ID,"
                    " AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN to the values that"
                    " 'aws configure export-credentials --format env' prints for this profile"
                )
        if keys[0] is not None and keys[1] is None:
            raise ConfigError(
                "there is an access key for S3 without a secret: set AWS_SECRET_ACCESS_KEY too"
            )
        if keys[0] is not None and token is None and "AWS_SESSION_TOKEN" in given:
            # The libraries would send it with the keys of the profile.
            raise ConfigError(
                "AWS_SESSION_TOKEN is set, but the keys are those of a profile: unset it, or set"
                " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY too"
            )
        return cls(
            region=given.get("AWS_REGION")
            or given.get("AWS_DEFAULT_REGION")
            or profile.get("region", REGION),
            endpoint=_endpoint(given, profile),
            access_key=keys[0],
            secret_key=keys[1],
            token=token,
        )

    @property
    def is_plain(self) -> bool:
        """True if requests are not encrypted."""
        return self.endpoint is not None and self.endpoint.startswith("http://")

    def of_obstore(self) -> dict[str, Any]:
        """Returns the settings for obstore, with its names."""
        given = {
            "region": self.region,
            "endpoint": self.endpoint,
            "access_key_id": self.access_key,
            "secret_access_key": self.secret_key,
            "session_token": self.token,
            "skip_signature": None if self.access_key is None else "false",
        }
        return {name: value for name, value in given.items() if value is not None}

    def of_deltalake(self, patience: float) -> dict[str, str]:
        """Returns the settings for deltalake. It repeats requests for `patience` seconds."""
        return {
            **{f"aws_{name}": value for name, value in self.of_obstore().items()},
            "conditional_put": "etag",
            "allow_http": str(self.is_plain).lower(),
            "timeout": f"{REQUEST}s",
            "max_retries": "1000",
            "retry_timeout": f"{max(1, round(patience))}s",
            "backoff_config.max_backoff": "5s",
        }

    def of_pyarrow(self) -> dict[str, Any]:
        """Returns the settings for pyarrow's S3FileSystem, with its names."""
        given = {
            "region": self.region,
            "endpoint_override": self.endpoint,
            "access_key": self.access_key,
            "secret_key": self.secret_key,
            "session_token": self.token,
        }
        return {name: value for name, value in given.items() if value is not None}


def _endpoint(given: Mapping[str, str], profile: Mapping[str, str]) -> str | None:
    """Returns the URL of the store; None for Amazon S3.

    Raises:
        ConfigError: It is not a URL, or contains a login. The message does not contain the value.
    """
    places = {
        "AWS_ENDPOINT_URL_S3": given.get("AWS_ENDPOINT_URL_S3"),
        "AWS_ENDPOINT_URL": given.get("AWS_ENDPOINT_URL"),
        "endpoint_url of the profile": profile.get("endpoint_url"),
    }
    for name, value in places.items():
        if value:
            if re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", value) is None:
                raise ConfigError(
                    f"{name} is not a URL, or contains a login: write for example"
                    " http://127.0.0.1:9000"
                )
            return value
    return None


def _profile(given: Mapping[str, str], name: str | None) -> dict[str, str]:
    """Returns the settings of a profile in both files of AWS.

    Raises:
        ConfigError: A file has another format, or the profile is in none of them.
    """
    home = Path(given.get("HOME", "~")).expanduser() / ".aws"
    config = Path(given.get("AWS_CONFIG_FILE", home / "config")).expanduser()
    credentials = Path(given.get("AWS_SHARED_CREDENTIALS_FILE", home / "credentials")).expanduser()
    title = name or "default"
    found: dict[str, str] | None = None
    for file, section in (
        (config, title if title == "default" else f"profile {title}"),
        (credentials, title),
    ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(file)
        except (configparser.Error, UnicodeDecodeError):
            raise ConfigError(f"{file} is not a valid file of AWS profiles: correct it") from None
        if parser.has_section(section):
            found = {**(found or {}), **parser[section]}
    if found is None and name is not None:
        raise ConfigError(
            f"the profile {name!r} of AWS_PROFILE is neither in {config} nor in {credentials}:"
            " correct AWS_PROFILE, or add the profile"
        )
    return found or {}


__all__ = ["REQUEST", "S3Settings"]
