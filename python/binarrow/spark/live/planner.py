"""Plans on the driver how to read a server: the ends of batches, and the ranges of tasks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from binarrow import Position, PositionPurgedError, ServerIdentityError
from binarrow.advice import restated
from binarrow.spark.live.batch_end import end_of_next_batch, limit_of
from binarrow.spark.live.batch_ranges import ranges
from binarrow.spark.live.history_follower import HistoryFollower
from binarrow.spark.live.live_range import LivePartition, LiveRange
from binarrow.spark.live.load import Load
from binarrow.spark.live.log_files import file_number, place_of, shift_above
from binarrow.spark.live.login import with_secret
from binarrow.spark.live.offset import Offset, chunks_of, end_of_batch, position_of
from binarrow.spark.live.server_log import ServerLog
from binarrow.spark.live.table_check import check_columns, check_names
from binarrow.spark.messages import option, spark_message

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.live.place import Place
    from binarrow.spark.source_options import SourceOptions

LOG = logging.getLogger("binarrow.spark")

START_OVER = "start with a new checkpoint and a first load, a copy of the table"

CONTINUE = (
    "; or set ⟦fail_on_data_loss=False⟧ to continue at the oldest file on the server, without the"
    " lost changes"
)

COUNTED = (
    "exclude_tables",
    "operations",
    "old_value",
    "split_key_updates",
    "uncommitted",
    "statements",
    "skip_events",
)
"""The keywords that change the number of rows."""


class Planner:
    """Plans batches of one table's changes. Each process has its own."""

    def __init__(self, options: SourceOptions, live: LiveOptions, schema: pa.Schema) -> None:
        self._options = options
        self._live = live
        self._schema = schema
        counted = {key: options.read[key] for key in COUNTED if key in options.read}
        self.log = ServerLog(
            live.target,
            heartbeat=live.heartbeat,
            reconnect=live.reconnect,
            counted={**counted, "tables": options.tables, "column_names": "positional"},
        )
        self._history = HistoryFollower(options)
        self.load = Load(options, live, self.log)
        self._is_prepared = False

    def start(self, place: Place) -> Position:
        """Returns the position at which to start for the value of an option."""
        self._prepare()
        return self.log.identified(self.log.resolve_start(place))

    def end(self, place: Place) -> Position:
        """Returns the position at which to end for the value of an option."""
        self._prepare()
        return self.log.identified(self.log.resolve_end(place))

    def next_offset(self, start: Offset, head: Position, limit: Any) -> Offset:
        """Returns the end of the batch that begins at `start`.

        Raises:
            PositionPurgedError: The log at `start` is purged.
            ServerIdentityError: The log was reset, or the server does not have its transactions.
            SchemaError: The table has columns that the query does not know.
        """
        self._prepare()
        before, resumed = position_of(start), None
        chunks = chunks_of(start)
        if chunks is not None:
            chunks = self.load.next_chunks(chunks, before, limit_of(limit))
            head = self.log.new_head()  # after the statements that replaced tables
        try:
            self.log.check(before)
            end = end_of_next_batch(self.log, before, head, limit)
        except (PositionPurgedError, ServerIdentityError) as error:
            resumed = self.resumed(before, error)
            end = end_of_next_batch(self.log, resumed, head, limit)
        end = self.log.identified(end, before if resumed is None else resumed)
        offset = end_of_batch(start, end, resumed, chunks)
        if offset is not start and self._options.schema_change_policy == "follow":
            # After the rows of the batch were written, so that it finds all of their columns.
            self.log.ask(lambda server: check_columns(server, self._options, self._schema))
        return offset

    def partitions(self, start: Position, stop: Position) -> list[LivePartition]:
        """Returns the ranges of a batch for its tasks, each with the current password."""
        self._prepare()
        if start == stop:
            return []
        try:
            self.log.check(start)
            parts = ranges(self.log, start, stop, self._live.num_partitions)
        except (PositionPurgedError, ServerIdentityError) as error:
            # Spark repeats a batch whose log is lost.
            start = self.resumed(start, error)
            is_lost = stop.server == start.server and place_of(stop) <= place_of(start)
            parts = [] if is_lost else ranges(self.log, start, stop, self._live.num_partitions)
        if parts:
            self._history.follow(self.log, start, stop)
        target = with_secret(self._live.target)
        return [
            LivePartition(
                LiveRange(
                    first.to_json(), last.to_json(), self._history.schema_snapshot(first, last)
                ),
                target,
            )
            for first, last in parts
        ]

    def close(self) -> None:
        """Closes the connection and the history."""
        self.log.close()
        self._history.close()

    def resumed(self, lost: Position, error: PositionPurgedError | ServerIdentityError) -> Position:
        """Returns the position at which to continue if the log at `lost` is not available.

        Raises:
            PositionPurgedError: The option failOnDataLoss is true.
            ServerIdentityError: The option failOnDataLoss is true, or the server is another one.
        """
        is_other = lost.server != self.log.server
        is_foreign = is_other and isinstance(error, ServerIdentityError)
        if self._live.fail_on_data_loss or is_foreign:
            connect = "connect to the server of the checkpoint, or " if is_other else ""
            advice = f"{connect}{START_OVER}{'' if is_foreign else CONTINUE}"
            raise restated(error, after=spark_message(f". Solution: {advice}")) from error
        oldest = self.log.file_start(self.log.files()[0].name)
        is_purged = not is_other and file_number(lost.file) < file_number(oldest.file)
        shift = lost.version_shift if is_purged else shift_above(lost, oldest.file)
        LOG.warning(
            "CHANGES ARE LOST: all of %s between %s and %s of the server %s. The query continues"
            " after them, because of %s. %s",
            self._options.name,
            lost,
            oldest,
            self.log.server,
            option("fail_on_data_loss", "False"),
            error,
        )
        return oldest.replace(version_shift=shift)

    def _prepare(self) -> None:
        if not self._is_prepared:
            self.log.ask(lambda server: check_names(server, self._options))
            self._history.begin(self.log)
            self._is_prepared = True
