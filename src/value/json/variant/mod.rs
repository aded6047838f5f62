//! Documents in the Variant encoding of Parquet, as Spark writes and reads it: a value, and a dictionary of its keys.
//!
//! ```text
//! {"b": 1, "a": [true]}
//!
//! metadata   11 | 02 | 00 01 02 | 61 62
//!            │    │    │          └ the keys
//!            │    │    └ where each starts, and where the last ends
//!            │    └ count of keys
//!            └ version 1, sorted (0x10), offsets of 1 byte (the top two bits)
//!
//! value      02 | 02 | 00 01 | 00 05 07 | 03 01 00 01 04 | 0c 01
//!            │    │    │       │          │                └ int8 1
//!            │    │    │       │          └ array of one element: true
//!            │    │    │       └ offsets of the fields, and the end of the last
//!            │    │    └ which keys, in the order of their names
//!            │    └ count of fields
//!            └ object, ids and offsets of 1 byte
//! ```
//!
//! | in the document | in the variant |
//! |---|---|
//! | literals, strings | the same |
//! | integers | the shortest of int8, 16, 32, 64; decimal above 2^63 - 1 |
//! | double | double |
//! | decimal | decimal with its scale; a string if it does not fit in 38 digits, even without zeros at the end |
//! | DATE | date |
//! | DATETIME, TIMESTAMP | timestamp without time zone: a document contains a TIMESTAMP in the zone of the session that wrote it |
//! | TIME; zero, partial and impossible dates | a string, as `CAST(column AS CHAR)` shows it |
//! | BLOB, BINARY, BIT and others | binary, without the number of the type |
//!
//! The encoder walks through the document twice and builds no tree: `keys.rs` collects the keys,
//! `writer.rs` writes values; `row.rs` does the same for a row of a table, which is an object of
//! its columns. The documents of a table usually have the same keys: then the dictionary of the
//! previous document is reused.
//!
//! <https://parquet.apache.org/docs/file-format/types/variantencoding/>

mod decimal;
mod header;
mod keys;
mod order;
mod primitive;
mod row;
mod writer;

use super::Value;
use super::budget::Budget;
use crate::wire::Result;
use keys::Dictionary;
pub use row::RowEncoder;
use writer::Writer;

/// Encodes documents. It reuses the dictionary of keys for the next document of a table.
#[derive(Debug, Default)]
pub struct VariantEncoder {
    dictionary: Dictionary,
    fields: Vec<Field>,
}

impl VariantEncoder {
    /// Appends the document's value to `value` and its dictionary to `metadata`. After an error,
    /// both may contain a part of them. The result depends on this document only.
    pub fn encode(
        &mut self,
        document: &[u8],
        value: &mut Vec<u8>,
        metadata: &mut Vec<u8>,
    ) -> Result<()> {
        let root = Value::of_document(document)?;
        self.dictionary.begin();
        let key_bytes = self.dictionary.add_document(root, document.len())?;
        self.dictionary.finish()?;
        // Bytes that keys use are not available for values.
        let mut budget = Budget::new(document.len());
        budget.spend(key_bytes)?;
        metadata.extend_from_slice(self.dictionary.metadata());
        self.fields.clear();
        Writer {
            out: value,
            budget,
            ids: self.dictionary.ids().iter(),
            id_bytes: self.dictionary.id_bytes(),
            fields: &mut self.fields,
        }
        .value(root, 0)
    }
}

/// A field of an object, or an element of an array, while the others are being written.
#[derive(Debug, Clone, Copy)]
struct Field {
    /// The index of the key in the dictionary; 0 in arrays.
    id: u32,
    /// The number of bytes of the fields before this one.
    offset: u32,
}

/// The number of bytes, 1 to 4, that a little-endian number needs.
#[inline]
const fn int_bytes(number: u32) -> usize {
    match number {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

/// Appends the low `bytes` bytes of a number.
#[inline]
fn push_int(out: &mut Vec<u8>, number: u32, bytes: usize) {
    out.extend(number.to_le_bytes().iter().take(bytes));
}

#[cfg(test)]
mod tests;
