"""The command ``binarrow``, also ``python -m binarrow``."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Runs the command line, if its packages are installed."""
    # Imports create no garbage, so collections only take time. A command enables them again.
    gc.disable()
    try:
        from binarrow.cli import main as run
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        sys.stderr.write(
            "binarrow: the command line needs more packages: pip install 'binarrow[cli]'\n"
        )
        raise SystemExit(2) from None
    run()


if __name__ == "__main__":
    main()
