"""Adds the rows that unlogged actions of foreign keys changed to a script, and describes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binarrow.undo.cascades import Cascades, Effect
from binarrow.undo.images import Rows
from binarrow.undo.known_rows import Image

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import ChangeBatch, ForeignKey, UndoWriter

ENVELOPE = (
    *("_commit_version", "_commit_timestamp", "_change_ordinal", "_binlog_file"),
    *("_binlog_position", "_gtid", "_thread_id"),
)
"""The columns of the envelope that an effect has from the change that caused it."""


@dataclass
class Effects:
    """The effects of the changes that a script reverses."""

    cascades: Cascades
    foreign_key_checks: bool
    """True if the server executes the actions of the script's statements."""
    added: Counter[ForeignKey] = field(default_factory=Counter)
    """The rows that the script restores."""
    is_complete: dict[ForeignKey, bool] = field(default_factory=dict)
    """The foreign keys whose actions changed rows: true if the script restores all of them."""

    def add(self, writer: UndoWriter, batch: ChangeBatch) -> None:
        """Adds the changes of a batch to the script, and then their effects."""
        hits = self.cascades.hits.get(f"{batch.database}.{batch.table}")
        if not hits:
            writer.add(batch)
            return
        rows = Rows(batch)
        places = list(rows.places())
        groups: dict[int, list[_Caused]] = {}
        with_effects = []
        for row in writer.picked(batch):
            hit = hits.get(places[row])
            if hit is None:
                continue
            for key, is_known in hit.keys.items():
                is_complete = is_known and key.table not in self.cascades.contradicted
                self.is_complete[key] = self.is_complete.get(key, True) and is_complete
            count = len(hit.effects)
            with_effects.append(row)
            for number, effect in enumerate(hit.effects):
                if self._is_left_out(effect):
                    continue
                self.added[effect.key] += 1
                caused = _Caused(effect, row, number - count)
                groups.setdefault(id(effect.before.batch), []).append(caused)
        writer.add(batch, with_effects)
        for group in groups.values():
            table = group[0].effect.before.batch
            changes = _changes(table, group, rows.data)
            writer.add_effects(table, changes, [one.step for one in group])

    def _is_left_out(self, effect: Effect) -> bool:
        # The server repeats ON UPDATE CASCADE in both directions; it would refuse the statement.
        is_repeated = effect.key.on_update == "cascade" and effect.after is not None
        is_update = any(value is not None for value in _new_values(effect))
        if self.foreign_key_checks and is_repeated and is_update:
            return True
        return effect.key.table in self.cascades.contradicted

    def notes(self) -> Iterator[tuple[str, bool]]:
        """Returns a line for each foreign key, and whether all rows are restored."""
        for key, is_complete in sorted(self.is_complete.items(), key=lambda one: one[0].table):
            count = self.added[key]
            what = (
                f"the foreign key of {key.table} ({', '.join(key.columns)}), which refers to"
                f" {key.parent} ({', '.join(key.parent_columns)}), changed rows of {key.table} that"
                " the log does not contain."
            )
            if is_complete:
                yield f"Restored: {what} All of them are restored: {count}.", True
            elif key.table in self.cascades.contradicted:
                reason = "None of them is restored: other changes in the log contradict the action."
                yield f"Not restored: {what} {reason}", False
            else:
                reason = (
                    f"Restored from earlier images in the log: {count}. The log that was read may"
                    " lack images of others."
                )
                yield f"Not restored: {what} {reason}", False


@dataclass(frozen=True)
class _Caused:
    """An effect, the row of the change that caused it, and its place before that change."""

    effect: Effect
    row: int
    step: int


def _new_values(effect: Effect) -> Sequence[Any]:
    return () if effect.after is None else tuple(effect.after.changed.values())


def _changes(
    table: ChangeBatch, group: Sequence[_Caused], causes: pa.RecordBatch
) -> pa.RecordBatch:
    """Returns effects on rows of one batch as changes."""
    import pyarrow as pa

    data = table.to_pyarrow()
    before = [one.effect.before for one in group]
    after = [one.effect.after for one in group]
    rows = pa.array([one.row for one in group], pa.int64())
    columns: dict[str, pa.Array] = {name: causes.column(name).take(rows) for name in ENVELOPE} | {
        "_op": pa.array(["d" if one is None else "u" for one in after], pa.string()),
        "before": _images(data, before),
        "after": _images(data, after),
        "_present_before": _present(data, before),
        "_present_after": _present(data, after),
    }
    arrays = [columns[name].cast(data.schema.field(name).type) for name in data.schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=data.schema)


def _images(data: pa.RecordBatch, images: Sequence[Image | None]) -> pa.StructArray:
    """Returns rows with the values that actions have set; NULL where there is none."""
    import pyarrow as pa

    sides = pa.concat_arrays([data.column("before"), data.column("after")])
    taken = sides.take(_places(data, images))
    columns = []
    for place in range(taken.type.num_fields):
        name = taken.type.field(place).name
        column = taken.field(place)
        if any(image is not None and name in image.changed for image in images):
            cells = column.to_pylist()
            for row, image in enumerate(images):
                if image is not None and name in image.changed:
                    cells[row] = image.changed[name]
            column = pa.array(cells, column.type)
        columns.append(column)
    return pa.StructArray.from_arrays(
        columns,
        fields=list(taken.type),
        mask=pa.array([image is None for image in images]),
    )


def _present(data: pa.RecordBatch, images: Sequence[Image | None]) -> pa.Array:
    import pyarrow as pa

    sides = pa.concat_arrays([data.column("_present_before"), data.column("_present_after")])
    return sides.take(_places(data, images))


def _places(data: pa.RecordBatch, images: Sequence[Image | None]) -> pa.Array:
    """Returns the places of rows in the array of all rows before, and then all rows after."""
    import pyarrow as pa

    shift = {"before": 0, "after": data.num_rows}
    return pa.array(
        [None if image is None else shift[image.side] + image.row for image in images], pa.int64()
    )


__all__ = ["Effects"]
