//! `_present` for a caller's schema: its bits are those of the schema's own columns, in their
//! order.
//!
//! In the log, the bits are those of all columns that the table had at that position. A column of
//! the schema that the table did not have has the bit 0. Called by [`super::Conform`] only.

use super::envelope::{Envelope, EnvelopeColumn};
use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use std::sync::Arc;

/// For each column of a schema, the place of its bit in the log; `None` for a column that the table
/// does not have.
#[derive(Debug)]
pub(super) struct PresentMap(Vec<Option<usize>>);

impl PresentMap {
    /// Creates the map from the fields of a batch to those of the schema. `None` if no bit moves.
    fn of(found: &Fields, wanted: &[&Field], find: Find) -> Option<Self> {
        let bit = |field: &Field| -> Option<usize> {
            field.metadata().get(ORDINAL)?.parse::<usize>().ok()?.checked_sub(1)
        };
        let own = found.iter().filter(|field| bit(field).is_some()).count();
        if own == 0 {
            return None;
        }
        let bits: Vec<_> =
            wanted.iter().map(|field| find(found, field.name()).and_then(bit)).collect();
        let stays = bits.len() == own && bits.iter().enumerate().all(|(i, bit)| *bit == Some(i));
        (!stays).then_some(Self(bits))
    }

    /// Returns the bits in their new places; NULL remains NULL.
    pub(super) fn apply(&self, present: &BinaryArray) -> ArrayRef {
        let width = self.0.len().div_ceil(8);
        let mut builder = BinaryBuilder::with_capacity(present.len(), present.len() * width);
        let mut bits = vec![0_u8; width];
        for row in present {
            let Some(row) = row else {
                builder.append_null();
                continue;
            };
            bits.fill(0);
            for (place, bit) in self.0.iter().enumerate() {
                let Some(bit) = bit else { continue };
                let held = row.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
                if held && let Some(byte) = bits.get_mut(place / 8) {
                    *byte |= 1 << (place % 8);
                }
            }
            builder.append_value(&bits);
        }
        Arc::new(builder.finish())
    }
}

/// The function that finds a column of the schema among those of a batch.
pub(super) type Find = for<'f> fn(&'f Fields, &str) -> Option<&'f Field>;

/// Returns the maps for batches of the schema `found`, each with the index of its column in
/// `wanted`.
pub(super) fn present_maps(
    found: &Schema,
    wanted: &Schema,
    prefix: &str,
    find: Find,
) -> Vec<(usize, PresentMap)> {
    let envelope = Envelope { columns: Vec::new(), prefix: prefix.to_owned() };
    let index = |column| wanted.index_of(&envelope.column_name(column)).ok();
    let mut maps = Vec::new();
    if let Some(place) = index(EnvelopeColumn::Present) {
        let names = EnvelopeColumn::ALL.map(|column| envelope.column_name(column));
        let own: Vec<&Field> = wanted.fields().iter().map(AsRef::as_ref).collect();
        let own: Vec<_> = own.into_iter().filter(|field| !names.contains(field.name())).collect();
        maps.extend(PresentMap::of(found.fields(), &own, find).map(|map| (place, map)));
    }
    let sides =
        [("before", EnvelopeColumn::PresentBefore), ("after", EnvelopeColumn::PresentAfter)];
    for (side, column) in sides {
        let Some(place) = index(column) else { continue };
        let fields = |schema: &Schema| match schema.field_with_name(side).ok()?.data_type() {
            DataType::Struct(fields) => Some(fields.clone()),
            _ => None,
        };
        let (Some(found), Some(wanted)) = (fields(found), fields(wanted)) else { continue };
        let own: Vec<&Field> = wanted.iter().map(AsRef::as_ref).collect();
        maps.extend(PresentMap::of(&found, &own, find).map(|map| (place, map)));
    }
    maps
}

/// Returns the bits from a column of one of the binary types.
pub(super) fn as_binary(column: &ArrayRef) -> Option<BinaryArray> {
    match column.data_type() {
        DataType::Binary => column.as_binary_opt::<i32>().cloned(),
        DataType::LargeBinary => column.as_binary_opt::<i64>().map(BinaryArray::from_iter),
        DataType::BinaryView => column.as_binary_view_opt().map(BinaryArray::from_iter),
        _ => None,
    }
}

/// The metadata key of a field's column number in the table, from 1.
const ORDINAL: &str = "mysql.ordinal_position";

#[cfg(test)]
mod tests {
    use super::*;

    fn own(name: &str, ordinal: usize) -> Field {
        let metadata: std::collections::HashMap<_, _> =
            [(ORDINAL.to_owned(), ordinal.to_string())].into();
        Field::new(name, DataType::Int32, true).with_metadata(metadata)
    }

    fn plain(name: &str) -> Field {
        Field::new(name, DataType::Int32, true)
    }

    fn find<'f>(fields: &'f Fields, name: &str) -> Option<&'f Field> {
        fields.iter().find(|field| field.name() == name).map(AsRef::as_ref)
    }

    #[test]
    fn bits_follow_their_columns() {
        let present = Field::new("_present", DataType::Binary, true);
        // The table has nine columns, of which two are selected.
        let found = Schema::new(vec![own("i", 9), own("b", 2), present.clone()]);
        let wanted = Schema::new(vec![plain("new"), plain("b"), plain("i"), present]);
        let maps = present_maps(&found, &wanted, "_", find);
        let [(3, map)] = maps.as_slice() else { panic!("{maps:?}") };
        let bits = BinaryArray::from_opt_vec(vec![
            Some(&[0b0000_0010, 0b1]),
            Some(&[0b1111_1101, 0b0]),
            None,
            Some(&[]),
        ]);
        let mapped = map.apply(&bits);
        let mapped: Vec<_> = mapped.as_binary::<i32>().iter().collect();
        assert_eq!(mapped, [Some(&[0b110][..]), Some(&[0][..]), None, Some(&[0][..])]);
    }

    #[test]
    fn what_stays_is_not_touched() {
        let present = Field::new("_present", DataType::Binary, true);
        let found = Schema::new(vec![own("a", 1), own("b", 2), present.clone()]);
        let wanted = Schema::new(vec![plain("a"), plain("b"), plain("_gtid"), present.clone()]);
        assert!(present_maps(&found, &wanted, "_", find).is_empty());
        let wanted = Schema::new(vec![plain("a"), present]);
        assert_eq!(present_maps(&found, &wanted, "_", find).len(), 1);
    }

    #[test]
    fn each_side_of_the_nested_layout_has_its_own() {
        let side =
            |name, fields: Vec<Field>| Field::new(name, DataType::Struct(fields.into()), true);
        let bits = |name| Field::new(name, DataType::Binary, true);
        let schema = |fields: &dyn Fn() -> Vec<Field>| {
            Schema::new(vec![
                side("before", fields()),
                side("after", fields()),
                bits("_present_before"),
                bits("_present_after"),
            ])
        };
        let found = schema(&|| vec![own("a", 1), own("b", 2)]);
        let wanted = schema(&|| vec![plain("b"), plain("a")]);
        let maps = present_maps(&found, &wanted, "_", find);
        assert_eq!(maps.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [2, 3]);
        let both = maps[0].1.apply(&BinaryArray::from_vec(vec![&[0b01]]));
        assert_eq!(both.as_binary::<i32>().value(0), [0b10]);
    }
}
