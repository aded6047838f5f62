//! Writes cells as JSON: one writer per column, created once per batch.

use crate::value::base64;
use crate::value::digits;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, StringArray,
};
use arrow_schema::DataType;
use serde::Serialize;

/// Writes the cells of one column that are not NULL.
pub(super) trait CellWriter {
    /// Appends the cell of a row, which is not NULL.
    fn write(&self, row: usize, out: &mut Vec<u8>);
}

/// A writer that is a function of an array and a row.
pub(super) struct Cells<'b, A, F> {
    array: &'b A,
    write: F,
}

impl<A, F: Fn(&A, usize, &mut Vec<u8>)> CellWriter for Cells<'_, A, F> {
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        (self.write)(self.array, row, out);
    }
}

pub(super) fn cells<'b, A, F>(array: &'b A, write: F) -> Box<dyn CellWriter + 'b>
where
    F: Fn(&A, usize, &mut Vec<u8>) + 'b,
{
    Box::new(Cells { array, write })
}

/// Writes numbers in their plain form.
pub(super) fn numbers<T>(array: &PrimitiveArray<T>) -> Box<dyn CellWriter + '_>
where
    T: ArrowPrimitiveType,
    T::Native: Serialize,
{
    cells(array, |array, row, out| json(&array.value(row), out))
}

/// Writes integers and floats in their plain form; `None` for other types.
pub(super) fn plain_numbers(values: &dyn Array) -> Option<Box<dyn CellWriter + '_>> {
    macro_rules! numbers_of {
        ($($variant:ident $of:ty),+) => {
            match values.data_type() {
                $(DataType::$variant => Some(numbers(values.as_primitive::<$of>())),)+
                _ => None,
            }
        };
    }
    numbers_of!(
        Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
        UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type,
        Float32 Float32Type, Float64 Float64Type
    )
}

/// Writes text in quotes.
pub(super) fn quoted(array: &StringArray) -> Box<dyn CellWriter + '_> {
    cells(array, |array, row, out| json(array.value(row), out))
}

/// Writes `true` and `false`.
pub(super) fn booleans(array: &BooleanArray) -> Box<dyn CellWriter + '_> {
    cells(array, |array, row, out| json(&array.value(row), out))
}

/// Writes the UTF-8 bytes of text in base64.
pub(super) fn encoded_text(array: &StringArray) -> Box<dyn CellWriter + '_> {
    cells(array, |array, row, out| write_base64(array.value(row).as_bytes(), out))
}

/// Writes bytes in base64.
pub(super) fn encoded(array: &BinaryArray) -> Box<dyn CellWriter + '_> {
    cells(array, |array, row, out| write_base64(array.value(row), out))
}

pub(super) fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    base64::write(bytes, out);
    out.push(b'"');
}

/// Appends a value as JSON. Writing to memory cannot fail.
pub(super) fn json<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}

/// Appends an integer.
pub(super) fn integer(value: i64, out: &mut Vec<u8>) {
    digits::push_signed(out, value);
}

/// Appends the value of a row, or `null`.
pub(super) fn or_null(
    array: &dyn Array,
    row: usize,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    match array.is_null(row) {
        true => out.extend_from_slice(b"null"),
        false => write(out),
    }
}
