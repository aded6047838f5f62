"""The command line does not import pandas.

If pandas is installed, pyarrow imports it when it first converts a value of Python. This takes 0.2
seconds and 40 MiB, and no command converts data to pandas.
"""

from __future__ import annotations

import sys


class _NoPandas:
    """An import of pandas fails.

    ``importlib.util.find_spec("pandas")`` fails too, although it returns None for other modules
    that are not installed. The libraries of sync import pandas without this function.
    """

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Refuses pandas, and leaves other modules to other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("the command line does not use pandas", name=name)


def refuse_pandas() -> None:
    """Lets imports of pandas fail in this process."""
    sys.meta_path.insert(0, _NoPandas())


__all__ = ["refuse_pandas"]
