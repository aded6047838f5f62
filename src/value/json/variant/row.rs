//! Encodes a row as an object of its columns. The keys of documents in the row are in the row's
//! dictionary too.

use super::super::Value;
use super::super::budget::Budget;
use super::header::{
    DATE, DOUBLE, FALSE, NULL, SINGLE, TIMESTAMP, TIMESTAMP_NTZ, TRUE, header, tagged,
};
use super::keys::Dictionary;
use super::primitive::{binary, integer, string};
use super::writer::{Open, Shape, Writer};
use super::{Field, decimal};
use crate::value::Cell;
use crate::wire::Result;

/// Encodes rows. It reuses the dictionary of keys for the next row of a table.
#[derive(Debug, Default)]
pub struct RowEncoder {
    dictionary: Dictionary,
    fields: Vec<Field>,
    /// The members of the open containers in documents.
    inner: Vec<Field>,
    /// For each document of the row, the number of bytes of its keys.
    key_bytes: Vec<usize>,
}

impl RowEncoder {
    /// Appends an object of the cells, with their names as keys, to `value`, and its dictionary to
    /// `metadata`. After an error, both may contain a part of them.
    pub fn encode<'c>(
        &mut self,
        cells: impl Iterator<Item = (&'c str, Cell<'c>)> + Clone,
        value: &mut Vec<u8>,
        metadata: &mut Vec<u8>,
    ) -> Result<()> {
        let Self { dictionary, fields, inner, key_bytes } = self;
        dictionary.begin();
        key_bytes.clear();
        let mut count = 0;
        for (name, _) in cells.clone() {
            dictionary.add_key(name.as_bytes());
            count += 1;
        }
        for (_, cell) in cells.clone() {
            if let Cell::Document(document) = cell {
                let root = Value::of_document(document)?;
                key_bytes.push(dictionary.add_document(root, document.len())?);
            }
        }
        dictionary.finish()?;
        metadata.extend_from_slice(dictionary.metadata());

        let id_bytes = dictionary.id_bytes();
        let (own, of_documents) = dictionary.ids().split_at_checked(count).unwrap_or_default();
        let mut ids = of_documents.iter();
        let mut key_bytes = key_bytes.iter();
        fields.clear();
        let open = Open::new(Shape::Object { id_bytes }, count, USUAL_BYTES, value);
        for ((_, cell), id) in cells.zip(own) {
            fields.push(Field { id: *id, offset: open.offset(value)? });
            let Cell::Document(document) = cell else {
                write(cell, inner, value)?;
                continue;
            };
            let mut budget = Budget::new(document.len());
            budget.spend(key_bytes.next().copied().unwrap_or_default())?;
            inner.clear();
            let mut writer = Writer { out: &mut *value, budget, ids, id_bytes, fields: inner };
            writer.value(Value::of_document(document)?, 0)?;
            ids = writer.ids;
        }
        open.close(fields, value)
    }
}

/// Appends a value that is not a document.
fn write(cell: Cell<'_>, inner: &mut Vec<Field>, out: &mut Vec<u8>) -> Result<()> {
    match cell {
        Cell::Null | Cell::Document(_) => out.push(header(NULL)),
        Cell::Bool(true) => out.push(header(TRUE)),
        Cell::Bool(false) => out.push(header(FALSE)),
        Cell::Integer(number) | Cell::Interval(number) => integer(number, out),
        Cell::Decimal(unscaled, scale) => decimal::write(unscaled, scale, out),
        Cell::Single(number) => tagged(SINGLE, &number.to_le_bytes(), out),
        Cell::Double(number) => tagged(DOUBLE, &number.to_le_bytes(), out),
        Cell::Date(days) => tagged(DATE, &days.to_le_bytes(), out),
        Cell::Timestamp(micros) => tagged(TIMESTAMP, &micros.to_le_bytes(), out),
        Cell::DateTime(micros) => tagged(TIMESTAMP_NTZ, &micros.to_le_bytes(), out),
        Cell::Text(text) => return string(text.as_bytes(), out),
        Cell::Binary(bytes) => return binary(bytes, out),
        Cell::Singles(numbers) => {
            inner.clear();
            let open = Open::new(Shape::Array, numbers.len(), 5 * numbers.len(), out);
            for number in numbers {
                inner.push(Field { id: 0, offset: open.offset(out)? });
                tagged(SINGLE, &number.to_le_bytes(), out);
            }
            return open.close(inner, out);
        }
    }
    Ok(())
}

/// The approximate size of a row: offsets have two bytes.
const USUAL_BYTES: usize = 1 << 10;
