"""`examples/mirror.py` makes the tables that the shop had."""

from __future__ import annotations

import subprocess
import sys


def test_the_example(shop, repository):
    script = repository / "examples" / "mirror.py"
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    tables = ("shop.customers", "shop.order_items", "shop.products")
    expected = [f"{table}: {shop.tables[table]['rows']} rows" for table in tables]
    assert ran.stdout.splitlines() == expected
