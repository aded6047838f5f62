r"""Mirrors a table of a live server with a flow of Spark Declarative Pipelines (AUTO CDC).

    pip install 'binarrow[spark]' 'pyspark[pipelines]>=4.2'
    MIRROR_PASSWORD_FILE=/etc/binarrow/password spark-pipelines run \
        --spec examples/pipeline/spark-pipeline.yml

The server, the table, its keys and the target are set in `spark-pipeline.yml`, the catalog in
Spark's `spark-defaults.conf`. The password is in a file on the machine of the driver; an
environment variable names the file, because Connect hides settings with such a word in their name
or value. A run ends at the end of the log at its start; the next run continues there. Updates must
be logged with full images (`binlog_row_image=FULL`): AUTO CDC would write NULL for columns that
they leave out. A TRUNCATE ends a run with an error, because AUTO CDC does not support it.

The command of Spark 4.2 prints `Run is COMPLETED`, and then fails with `UNKNOWN_RESPONSE` and exit
status 1, because its client does not know a response about metrics of Python tasks. All rows are
then written.

AUTO CDC is new in Spark 4.2, and writes to tables that support Spark's own row-level MERGE. No
released format supports it yet: Delta 4.4 (`AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE`) has its own
MERGE, and Iceberg 1.12 runs on Spark 4.1. Tests run this on a catalog of Spark's own tests; for
Delta, Iceberg and Parquet use `live_mirror.py`.
"""

import os

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from binarrow.spark import register

ENVELOPE = ("change_type", "commit_version", "change_ordinal")

spark = SparkSession.active()
register(spark)


@pipelines.temporary_view
def changes() -> DataFrame:
    """Reads the table's changes; an update of a key is a delete and an insert."""
    options = {
        name.removeprefix("spark.binarrow."): value
        for name, value in spark.conf.getAll.items()
        if name.startswith("spark.binarrow.")
    }
    options["passwordFile"] = os.environ["MIRROR_PASSWORD_FILE"]
    options |= {"oldValue": "false", "envelope": ",".join(ENVELOPE)}
    changes = spark.readStream.format("binarrow").options(**options).load()
    return changes.withColumn("_sequence", f.struct("_commit_version", "_change_ordinal"))


pipelines.create_streaming_table(spark.conf.get("spark.mirror.target"))
pipelines.create_auto_cdc_flow(
    target=spark.conf.get("spark.mirror.target"),
    source="changes",
    keys=[key.strip() for key in spark.conf.get("spark.mirror.keys").split(",")],
    sequence_by="_sequence",
    apply_as_deletes="_change_type = 'delete'",
    except_column_list=["_sequence", *(f"_{column}" for column in ENVELOPE)],
    stored_as_scd_type=1,
)
