"""A server's tables and those of a target, compared."""

from binarrow.verifying.result import DifferingKey, VerifiedTable, VerifyProgress, VerifySummary
from binarrow.verifying.verify import verify

__all__ = ["DifferingKey", "VerifiedTable", "VerifyProgress", "VerifySummary", "verify"]
