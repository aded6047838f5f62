"""A connection to a server, its settings, and streams of its changes."""

from binarrow.server.connection import connect
from binarrow.server.server import Server
from binarrow.server.session import Binlog

__all__ = ["Binlog", "Server", "connect"]
