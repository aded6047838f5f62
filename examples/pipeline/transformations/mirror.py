r"""A table of a live server, mirrored by a flow of Spark Declarative Pipelines (AUTO CDC).

    pip install 'binarrow[spark]' 'pyspark[pipelines]>=4.2'
    MIRROR_PASSWORD_FILE=/etc/binarrow/password spark-pipelines run \
        --spec examples/pipeline/spark-pipeline.yml

The server, the table, its keys and the target stand in `spark-pipeline.yml`, what the catalog needs
in Spark's `spark-defaults.conf`. The password stands in a file on the machine of the driver, which
the environment names: Connect hides a setting that has such a word in its name or value. A run ends
at what is the log's end then; the next goes on from there. Updates must be logged whole
(`binlog_row_image=FULL`): AUTO CDC would write NULL for what they leave out. A TRUNCATE ends a run,
for AUTO CDC knows none.

The command of Spark 4.2 says `Run is COMPLETED`, and then fails with `UNKNOWN_RESPONSE` and exit
status 1: its client knows no answer that tells what tasks in Python counted. All is written then.

AUTO CDC is new in Spark 4.2, and writes to tables that a MERGE of Spark's own changes row by row.
No released format has them there yet: Delta 4.4 (`AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE`) merges by
itself, and Iceberg 1.12 runs on Spark 4.1. Tests run this on a catalog of Spark's own tests; for
Delta, Iceberg and Parquet now there is `live_mirror.py`.
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
    """The table's changes; that of a key as a delete and an insert."""
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
