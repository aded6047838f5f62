"""The command line does not import pandas.

If pandas is installed, pyarrow imports it when it first converts a value of Python. This takes 0.2
seconds and 40 MiB, and no command converts data to pandas.
"""

from __future__ import annotations

import sys


class _NoPandas:
    """An import hook that refuses pandas.

    ``importlib.util.find_spec("pandas")`` fails too, although it returns None for other modules
    that are not installed. The libraries that sync uses do not call it for pandas.
    """

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Refuses pandas. Other import hooks find all other modules."""
        if name == "pandas":
            raise ModuleNotFoundError("the command line does not use pandas", name=name)


def refuse_pandas() -> None:
    """Makes each import of pandas in this process fail."""
    sys.meta_path.insert(0, _NoPandas())


__all__ = ["refuse_pandas"]
