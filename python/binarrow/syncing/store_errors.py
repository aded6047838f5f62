"""Errors of object stores in one line: what happened, and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple


class StoreError(OSError):
    """An object store cannot be read or written."""

    def __init__(self, message: str, *, is_transient: bool) -> None:
        super().__init__(message)
        self.is_transient = is_transient


class Cause(NamedTuple):
    """The cause of errors whose text matches a pattern."""

    pattern: str
    text: str
    is_transient: bool = False


CAUSES = (
    Cause(
        "NoSuchBucket|NO_SUCH_BUCKET", "the bucket does not exist: create it, or correct the URL"
    ),
    Cause(
        "ExpiredToken|TokenRefreshRequired",
        "the credentials have expired: set new ones, and run the command again",
    ),
    Cause(
        "InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|AuthFailure|401 Unauthorized"
        "|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|INVALID_SIGNATURE",
        "the store does not accept the credentials: check AWS_ACCESS_KEY_ID and"
        " AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    ),
    Cause("RequestTimeTooSkewed", "the clock of this machine is wrong: set it"),
    Cause(
        "PermanentRedirect|AuthorizationHeaderMalformed|redirect without LOCATION|301 Moved",
        "the bucket is in another region: set AWS_REGION to it",
    ),
    Cause(
        "AccessDenied|AllAccessDisabled|403 Forbidden|Unauthenticated|ACCESS_DENIED",
        "access is denied: the credentials need s3:ListBucket on the bucket, and s3:GetObject,"
        " s3:PutObject and s3:DeleteObject on its objects",
    ),
    Cause(
        r"169\.254\.169\.254|CredentialsNotLoaded|instance metadata|loading credentials"
        "|no providers in chain|Missing(Access|Secret)",
        "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    ),
    Cause("NotImplemented", "the store does not support the request: use another store"),
    Cause(
        "NoSuchKey|404 Not Found|File not found|NO_SUCH_KEY",
        "another program has deleted an object: load the tables into another place",
    ),
    Cause(
        "SLOW_DOWN|INTERNAL_FAILURE|SERVICE_UNAVAILABLE|"
        r"SlowDown|TooManyRequests|InternalError|ServiceUnavailable|\b(429|500|502|503|504) [A-Z]"
        "|409 Conflict|ConditionalRequestConflict",
        "the store answers requests with errors: run the command again later",
        is_transient=True,
    ),
    Cause(
        "Couldn't connect|Could not resolve host|"
        "dns error|failed to lookup|[Cc]onnection refused|kind: Connect|tcp connect|error trying to"
        " connect|Could not connect",
        "the store cannot be reached: check the network and AWS_ENDPOINT_URL, and run the command"
        " again",
        is_transient=True,
    ),
    Cause(
        "NETWORK_CONNECTION|REQUEST_TIMEOUT|"
        "timed out|[Tt]imeout|[Cc]onnection (reset|closed|was closed)|IncompleteMessage|incomplete"
        "|error sending request|error decoding response|broken pipe|[Uu]nexpected EOF",
        "the store does not answer: run the command again later",
        is_transient=True,
    ),
)
"""The causes. The first match is used, because the text of an error may match several."""


def cause_of(error: BaseException) -> Cause | None:
    """Returns the cause of an error of a library; None if it is not known.

    The text of the error cannot be shown: it has several lines, with URLs and answers of the store.
    """
    text = re.sub(r"\bretry_timeout\b", "", f"{type(error).__name__} {error}")
    return next((one for one in CAUSES if re.search(one.pattern, text)), None)


def store_error(error: BaseException) -> StoreError:
    """Returns an error of a library as one line."""
    cause = cause_of(error)
    if cause is None:
        return StoreError(f"the store has failed ({first_line(error)})", is_transient=False)
    return StoreError(cause.text, is_transient=cause.is_transient)


def first_line(error: BaseException) -> str:
    """Returns the first line of an error, without URLs and escape codes for terminals."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()
    text = re.sub(r"\b[a-z0-9+]+://\S+", "...", lines[0] if lines else "")
    return text[:200] or type(error).__name__


__all__ = ["StoreError", "cause_of", "first_line", "store_error"]
