"""The recipe `pipeline`, run by `spark-pipelines`, against a server.

Its target is in a catalog of Spark's own tests: no format that is released has tables that AUTO CDC
can write. What is in them goes with the process, so the run copies them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from support import live
from support.workloads.spark_load import GRANT, ORDERS, TABLE, Load, selected

RECIPE = Path(__file__).parents[2] / "examples" / "pipeline"
CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
JAR = "spark-catalyst_2.13-4.2.0-tests.jar"
MAVEN = "https://repo1.maven.org/maven2/org/apache/spark/spark-catalyst_2.13/4.2.0"
COPY = """
from pyspark import pipelines
from pyspark.sql import SparkSession

@pipelines.materialized_view(format="parquet")
def copy():
    return SparkSession.active().read.table("lake.default.orders")
"""


def catalog_jar() -> Path:
    """Downloads the JAR file from Maven and keeps it in the environment."""
    jar = Path(sys.prefix) / JAR
    if not jar.exists():
        part = jar.with_suffix(f".{os.getpid()}")
        with urllib.request.urlopen(f"{MAVEN}/{JAR}", timeout=60) as served, part.open("wb") as to:
            shutil.copyfileobj(served, to)
        part.rename(jar)
    return jar


def test_the_target_is_the_table(tmp_path: Path) -> None:
    folder, secret, bin_folder = (
        tmp_path / "pipeline",
        tmp_path / "secret",
        Path(sys.prefix) / "bin",
    )
    secret.write_text(f"{live.USER['password']}\n")
    shutil.copytree(RECIPE, folder)
    (folder / "transformations" / "copy.py").write_text(COPY)
    settings = {
        "spark.driver.extraClassPath": catalog_jar(),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.catalog.lake": CATALOG,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": tmp_path / "warehouse",
        "spark.ui.enabled": "false",
    }
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    (tmp_path / "spark-defaults.conf").write_text(lines)
    environment = {
        **os.environ,
        "MIRROR_PASSWORD_FILE": str(secret),
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(tmp_path),
        "SPARK_TESTING": "1",  # then a Connect server takes a free port
    }
    with live.server("mysql") as server:
        server.execute(ORDERS, GRANT)
        Load(server).play(400)
        path = folder / "spark-pipeline.yml"
        spec = yaml.safe_load(path.read_text())
        spec["storage"] = f"file://{tmp_path}/storage"
        given = {
            "spark.binarrow.url": f"mysql://live@127.0.0.1:{server.port}/",
            "spark.mirror.target": "lake.default.orders",
            "spark.binarrow.table": TABLE,
        }
        assert given.keys() <= spec["configuration"].keys()
        spec["configuration"] |= given | {"spark.binarrow.tls": "required"}
        path.write_text(yaml.safe_dump(spec))
        call = [str(bin_folder / "spark-pipelines"), "run", "--spec", str(path)]
        ran = subprocess.run(
            call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        # The exit status is not checked: the client of 4.2 does not know the response with the
        # metrics of Python tasks, which the server sends at the end.
        printed = ran.stdout + ran.stderr
        assert "Run is COMPLETED." in printed, printed[:9000]
        assert str(live.USER["password"]) not in printed
        copy = pq.read_table(tmp_path / "warehouse" / "copy")
        columns = ["id", "status", "total", "paid_at"]
        assert {*columns} <= {*copy.column_names}
        held = copy.select(columns).to_pylist()
        assert sorted(tuple(row.values()) for row in held) == selected(server)
