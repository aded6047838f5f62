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
//! | decimal | decimal with the scale it has; a string where 38 digits do not hold it, even without zeros at the end |
//! | DATE | date |
//! | DATETIME, TIMESTAMP | timestamp without time zone: a document keeps a TIMESTAMP in the zone of the session that made it |
//! | TIME; zero, partial and impossible dates | a string, as `CAST(column AS CHAR)` shows it |
//! | BLOB, BINARY, BIT and others | binary, without the number of the type |
//!
//! Two walks through the document, no tree: `keys.rs` collects the keys, `writer.rs` writes values; `row.rs` does the same for
//! a table's row, an object of its columns. Tables repeat
//! themselves, so that the dictionary of the document before is used again where the keys are the same.
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

/// Encodes documents; what it learns of a table's keys serves for the next one.
#[derive(Debug, Default)]
pub struct VariantEncoder {
    dictionary: Dictionary,
    fields: Vec<Field>,
}

impl VariantEncoder {
    /// Appends the document's value to `value` and its dictionary to `metadata`. After an error either may hold a part
    /// of them. The result depends on this document alone.
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
        // What keys use is not there for values.
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

/// A field of an object, or an element of an array, while the rest of them is being written.
#[derive(Debug, Clone, Copy)]
struct Field {
    /// The key's place in the dictionary; 0 in arrays.
    id: u32,
    /// Bytes of the fields before.
    offset: u32,
}

/// Bytes that a little-endian number takes, 1 to 4.
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
