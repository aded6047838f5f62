"""The rows of a table between two commits, and what actions of foreign keys do with them.

An image is a row from one change of it to the next one. Images of rows of the target begin before
all changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from binarrow.syncing.actions import Action
from binarrow.syncing.clock import AT
from binarrow.syncing.current_rows import current_rows
from binarrow.syncing.errors import UnknownEffectsError
from binarrow.syncing.foreign_key_values import matching_numbers, without_texts
from binarrow.syncing.reduce import CHANGE, DELETED, key_numbers, numbers_of, places

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.syncing.operations import Record
    from binarrow.syncing.snapshot import Snapshot

# A column of MySQL cannot have a name with this character.
IMAGE, START, END, NUMBER, BEFORE = "\0image", "\0start", "\0end", "\0number", "\0before"

OF_TARGET = -1
"""The start of the images of the target."""

NEVER = (1 << 63) - 1
"""The end of images that no change ends."""

MAX_ROWS = 500_000
"""The largest number of rows of the target that refer to deleted rows."""

MAX_BYTES = 64 << 20
"""The largest size of the rows of the target in which columns are set to NULL."""

MAX_PAIRS = 4_000_000
"""The largest number of pairs of an image and a delete of the same values, which are compared."""


class Images:
    """The images of a table."""

    def __init__(
        self, record: Record, changes: pa.Table, actions: Iterable[Action], *, has_versions: bool
    ) -> None:
        """Begins with the images of the log.

        Args:
            record: The table.
            changes: Its changes, in the order of the log, with the column AT.
            actions: The actions of all tables.
            has_versions: True if the target has earlier versions of rows, too.
        """
        actions = list(actions)
        read = {name for one in actions if one.table == record.name for name in one.columns}
        self._parent_columns = parent_columns(actions, record.name)
        self._columns = list(dict.fromkeys([*record.key, *sorted(read), *self._parent_columns]))
        self._record = record
        self._has_versions = has_versions
        self._changes = changes
        self._stored = replace(record, schema=_subset(record.schema, self._columns))
        self._rows_of_target = self._stored.schema.empty_table()
        self._images = self._numbered()
        self._deleted = _no_hits()
        self._nulled: dict[Action, pa.Table] = {}

    def deleted(self, indices: Sequence[int], target: Snapshot) -> pa.Table:
        """Returns rows that were deleted, with the columns that actions refer to, and AT.

        A delete in the log has only the values of the key. Others are those of the image before it.

        Args:
            indices: The indices of the deletes in the changes of the log.
            target: The target at its last commit.

        Raises:
            UnknownEffectsError: The values of a row are not known.
        """
        import pyarrow as pa

        changes = self._changes.take(pa.array(indices, pa.int64()))
        if {*self._parent_columns} <= {*self._record.key}:
            return changes.select([*self._parent_columns, AT])
        self._read(target, [changes.select([*self._record.key])])
        before = self._images.column(BEFORE).take(pa.array(indices, pa.int64()))
        if before.null_count:
            raise UnknownEffectsError
        rows = self._images.take(before).select(self._parent_columns)
        return rows.append_column(AT, changes.column(AT))

    def apply(self, deleted: Mapping[Action, pa.Table], target: Snapshot) -> pa.Table:
        """Executes actions after deletes of rows.

        Returns the rows that they delete and that were not known to be deleted, with the columns
        that actions refer to, and AT.

        Args:
            deleted: The actions, each with the deleted rows of its parent.
            target: The target at its last commit.

        Raises:
            UnknownEffectsError: There are too many rows, or too many deletes of the same values.
        """
        values = {
            action: rows.select(action.parent_columns).rename_columns(action.columns)
            for action, rows in deleted.items()
        }
        self._read(target, [*values.values()])
        found = [_no_hits()]
        for action, wanted in values.items():
            hits = self._hits(wanted.append_column(AT, deleted[action].column(AT)))
            if action.sets_null:
                self._nulled[action] = _earliest([self._nulled.get(action, _no_hits()), hits])
            else:
                found.append(hits)
        new = self._not_yet_deleted(_earliest(found))
        if self._parent_columns and _has_common(new, self._deleted):
            raise UnknownEffectsError  # their children were searched with a later delete
        self._deleted = _earliest([self._deleted, new])
        rows = self._images.take(new.column(IMAGE)).select(self._parent_columns)
        return rows.append_column(AT, new.column(AT))

    def effects(self, target: Snapshot) -> Iterator[pa.Table]:
        """Returns the changes of rows, with the column AT and the kind of change."""
        yield from self._with_nulls(target)
        deleted = self._deleted
        if deleted.num_rows:
            rows = self._images.take(deleted.column(IMAGE)).select([*self._record.key])
            yield _changes(rows, deleted.column(AT), "delete")

    # --------------------------------------------------------------------------- images

    def _read(self, target: Snapshot, values: Sequence[pa.Table]) -> None:
        """Reads the rows of the target that have some of the values in their foreign keys."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = [self._rows_of_target]
        count = 0
        for rows in self._current(target, self._stored, _near(values)):
            wanted = None
            for one in values:
                own, others = matching_numbers(rows, one)
                has = pc.is_in(own, value_set=others.drop_null())
                wanted = has if wanted is None else pc.or_(wanted, has)
            found.append(rows.filter(wanted))
            count += found[-1].num_rows
            if count > MAX_ROWS:
                raise UnknownEffectsError
        rows = pa.concat_tables(found).combine_chunks()
        if rows.num_rows == self._rows_of_target.num_rows:
            return
        # The numbers of images must not change: rows that are known come first.
        numbers = key_numbers(rows, self._record.key)
        firsts = pa.table([numbers, places(rows.num_rows)], [NUMBER, IMAGE])
        firsts = firsts.group_by(NUMBER).aggregate([(IMAGE, "min")]).sort_by(f"{IMAGE}_min")
        self._rows_of_target = rows.take(firsts.column(f"{IMAGE}_min"))
        self._images = self._numbered()

    def _numbered(self) -> pa.Table:
        """Returns the rows of the log and of the target, with the start and end of each image.

        The column BEFORE has the number of the row before it with the same key.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        known = self._rows_of_target
        rows = pa.concat_tables([self._changes.select(self._columns), known]).combine_chunks()
        count = rows.num_rows
        before = pa.repeat(pa.scalar(OF_TARGET, pa.int64()), known.num_rows)
        starts = pa.chunked_array([*self._changes.column(AT).chunks, before], pa.int64())
        starts = starts.combine_chunks()
        numbers = key_numbers(rows, self._record.key)
        order = pc.sort_indices(
            pa.table([numbers, starts], [NUMBER, START]),
            [(NUMBER, "ascending"), (START, "ascending")],
        )
        numbers, ordered = numbers.take(order), starts.take(order)
        is_same = pc.equal(numbers.slice(1), numbers.slice(0, max(count - 1, 0)))
        ends = pc.if_else(is_same, ordered.slice(1), pa.scalar(NEVER, pa.int64()))
        last = pa.array([NEVER] * min(count, 1), pa.int64())
        inverse = pc.array_sort_indices(order)
        ends = pa.concat_arrays([ends, last]).take(inverse)
        previous = pc.if_else(is_same, order.slice(0, max(count - 1, 0)).cast(pa.int64()), None)
        none = pa.nulls(min(count, 1), pa.int64())
        previous = pa.concat_arrays([none, previous]).take(inverse)
        rows = rows.append_column(START, starts).append_column(END, ends)
        return rows.append_column(BEFORE, previous)

    # --------------------------------------------------------------------------- actions

    def _hits(self, deleted: pa.Table) -> pa.Table:
        """Returns the images of rows that refer to deleted rows, and the first delete of each."""
        import pyarrow as pa
        import pyarrow.compute as pc

        images = self._images
        own, others = matching_numbers(images, deleted.drop_columns(AT))
        left = pa.table(
            [own, places(images.num_rows), images.column(START), images.column(END)],
            [NUMBER, IMAGE, START, END],
        )
        is_row = pc.invert(pc.is_in(self._changes.column(CHANGE), value_set=pa.array(DELETED)))
        of_target = pa.repeat(pa.scalar(value=True), self._rows_of_target.num_rows)
        left = left.filter(pa.chunked_array([*is_row.chunks, of_target], pa.bool_()))
        left = left.filter(pc.is_in(left.column(NUMBER), value_set=others.drop_null()))
        right = pa.table([others, deleted.column(AT)], [NUMBER, AT])
        right = right.group_by([NUMBER, AT]).aggregate([])
        if _pairs(left, right) > MAX_PAIRS:
            raise UnknownEffectsError
        pairs = left.join(right, NUMBER, join_type="inner")
        at = pairs.column(AT)
        is_between = pc.and_(pc.less(pairs.column(START), at), pc.less(at, pairs.column(END)))
        return _earliest([pairs.filter(is_between).select([IMAGE, AT])])

    def _not_yet_deleted(self, hits: pa.Table) -> pa.Table:
        """Returns the images that were not known to be deleted at this place or before."""
        import pyarrow.compute as pc

        found = hits.append_column(END, _earliest_of(hits, self._deleted))
        return found.filter(pc.less(found.column(AT), found.column(END))).drop_columns(END)

    def _with_nulls(self, target: Snapshot) -> Iterator[pa.Table]:
        """Returns the rows after the places at which actions set columns of them to NULL."""
        import pyarrow as pa
        import pyarrow.compute as pc

        hits = pa.concat_tables([_no_hits(), *self._nulled.values()])
        hits = self._not_yet_deleted(hits.group_by([IMAGE, AT]).aggregate([]))
        if not hits.num_rows:
            return
        for rows in (self._complete_rows_of_log(hits), self._complete_rows(hits, target)):
            found = pc.index_in(hits.column(IMAGE), value_set=rows.column(IMAGE))
            own = hits.filter(pc.is_valid(found))
            changed = rows.take(found.drop_null()).drop_columns(IMAGE)
            for action, nulled in self._nulled.items():
                is_set = pc.less_equal(_earliest_of(own, nulled), own.column(AT))
                for name in action.columns:
                    column = changed.column(name)
                    values = pc.if_else(is_set, pa.scalar(None, column.type), column)
                    place = changed.column_names.index(name)
                    changed = changed.set_column(place, name, values)
            yield _changes(changed, own.column(AT), "update_postimage")

    def _complete_rows_of_log(self, hits: pa.Table) -> pa.Table:
        """Returns the images of the log, with all columns of the table."""
        import pyarrow.compute as pc

        images = pc.unique(hits.column(IMAGE))
        own = images.filter(pc.less(images, self._changes.num_rows))
        rows = self._changes.select(self._record.schema.names).take(own)
        return rows.append_column(IMAGE, own)

    def _complete_rows(self, hits: pa.Table, target: Snapshot) -> pa.Table:
        """Returns the images of the target, with all columns of the table."""
        import pyarrow as pa
        import pyarrow.compute as pc

        record, images = self._record, pc.unique(hits.column(IMAGE))
        own = images.filter(pc.greater_equal(images, self._changes.num_rows))
        keys = self._images.take(own).select([*record.key])
        found = [record.schema.append(pa.field(IMAGE, pa.int64())).empty_table()]
        for rows in self._current(target, record, [keys]) if len(own) else ():
            numbers, others = numbers_of(rows, keys)
            same = pc.index_in(numbers, value_set=others)
            found.append(rows.append_column(IMAGE, own.take(same)).filter(pc.is_valid(same)))
            if sum(one.nbytes for one in found) > MAX_BYTES:
                raise UnknownEffectsError
        rows = pa.concat_tables(found)
        for name in record.dropped_columns:
            place = rows.column_names.index(name)
            none = pa.nulls(rows.num_rows, rows.column(name).type)
            rows = rows.set_column(place, name, none)
        return rows

    def _current(
        self, target: Snapshot, record: Record, near: Sequence[pa.Table]
    ) -> Iterator[pa.Table]:
        return current_rows(target, record, near, has_versions=self._has_versions)


def parent_columns(actions: Iterable[Action], name: tuple[str, str]) -> list[str]:
    """Returns the columns of a table that foreign keys refer to."""
    own = (one for one in actions if one.parent == name)
    return sorted({column for one in own for column in one.parent_columns})


def _near(values: Sequence[pa.Table]) -> list[pa.Table]:
    """Returns values by which rows can be left out of a read."""
    found = [without_texts(one) for one in values]
    return found if all(one.column_names for one in found) else []


def _pairs(left: pa.Table, right: pa.Table) -> int:
    import pyarrow.compute as pc

    counts = left.group_by(NUMBER).aggregate([([], "count_all")]).rename_columns([NUMBER, START])
    others = right.group_by(NUMBER).aggregate([([], "count_all")]).rename_columns([NUMBER, END])
    both = counts.join(others, NUMBER, join_type="inner")
    return pc.sum(pc.multiply(both.column(START), both.column(END))).as_py() or 0


def _earliest(hits: Sequence[pa.Table]) -> pa.Table:
    """Returns the first place for each image."""
    import pyarrow as pa

    found = pa.concat_tables(hits).group_by(IMAGE).aggregate([(AT, "min")])
    return found.rename_columns([IMAGE, AT]).combine_chunks()


def _earliest_of(hits: pa.Table, others: pa.Table) -> pa.ChunkedArray:
    """Returns the place that each image of `hits` has in `others`; NEVER if it has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(hits.column(IMAGE), value_set=others.column(IMAGE))
    return pc.fill_null(others.column(AT).take(found), pa.scalar(NEVER, pa.int64()))


def _has_common(hits: pa.Table, others: pa.Table) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.is_in(hits.column(IMAGE), value_set=others.column(IMAGE))).as_py())


def _no_hits() -> pa.Table:
    import pyarrow as pa

    return pa.schema([(IMAGE, pa.int64()), (AT, pa.int64())]).empty_table()


def _changes(rows: pa.Table, at: pa.ChunkedArray, kind: str) -> pa.Table:
    import pyarrow as pa

    kinds = pa.repeat(pa.scalar(kind, pa.string()), rows.num_rows)
    return rows.append_column(AT, at).append_column(CHANGE, kinds)


def _subset(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


__all__ = ["Images", "parent_columns"]
