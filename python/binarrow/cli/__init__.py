"""The command ``binarrow``. One module per command; heavy imports happen inside the commands."""

from binarrow.cli.app import app, main

__all__ = ["app", "main"]
