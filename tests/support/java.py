"""The options of Java for the Spark sessions of the tests."""

from __future__ import annotations

JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    # The default of 48 MB is full after a few files of tests, and then Java interprets most of the code.
    "-XX:ReservedCodeCacheSize=256m "
    # A tenth of the time of a session is the verification of Spark's classes. Not all versions of Java have the option.
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
