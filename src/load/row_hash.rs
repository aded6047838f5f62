//! The hash of rows, from which a certificate of a load is computed.
//!
//! The bytes of a row are those of its cells, column after column. A cell is a byte 0 if it is NULL; otherwise a byte 1 and
//!
//! | Arrow type | bytes, little-endian |
//! |---|---|
//! | boolean | one byte, 0 or 1 |
//! | integers, date32, timestamp, duration | 8: the number as int64 (uint64 as it is) |
//! | float32, float64 | 4, 8: IEEE 754 |
//! | decimal128, decimal256 | 16, 32: the number without its decimal point |
//! | string, binary | 4: the length in bytes; then the bytes |
//! | dictionary of strings | those of the string |
//! | list | 4: the number of elements; then each element, in the form of a cell |
//! | struct | each field, in the form of a cell |
//! | interval without months and days, in microseconds | that of the duration |
//! | other intervals | 4, 4, 8: the months, days and nanoseconds |
//!
//! The hash of a row is MurmurHash3 (x64, 128 bits, seed 0) of these bytes, as a little-endian number. The hash of several rows is
//! the sum of their hashes modulo 2¹²⁸: it does not depend on the order of the rows, and the hash of a row that is deleted can be
//! subtracted. It detects errors. It is not a cryptographic hash.
//!
//! <https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp>

use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, i256};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// Computes the hash of each row of columns.
///
/// # Errors
/// A column has a type that no batch of binarrow has.
pub fn hash_rows<'a>(
    columns: impl IntoIterator<Item = &'a dyn Array>,
    mut each: impl FnMut(u128),
) -> Result<()> {
    let rows = RowBytes::of(columns)?;
    let mut bytes = Vec::new();
    for row in 0..rows.count() {
        rows.write(row, &mut bytes);
        each(murmur3(&bytes));
    }
    Ok(())
}

/// The bytes of each row of columns. Rows with equal cells have equal bytes, and others have not.
pub struct RowBytes<'a>(Vec<Column<'a>>);

impl<'a> RowBytes<'a> {
    /// # Errors
    /// A column has a type that no batch of binarrow has.
    pub fn of(columns: impl IntoIterator<Item = &'a dyn Array>) -> Result<Self> {
        columns.into_iter().map(Column::of).collect::<Result<_>>().map(Self)
    }

    /// Replaces `bytes` by those of a row.
    pub fn write(&self, row: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        self.0.iter().for_each(|column| column.push(row, bytes));
    }

    /// The hash of a row; `bytes` is overwritten.
    pub fn hash(&self, row: usize, bytes: &mut Vec<u8>) -> u128 {
        self.write(row, bytes);
        murmur3(bytes)
    }

    fn count(&self) -> usize {
        self.0.first().map_or(0, |column| column.rows)
    }
}

struct Column<'a> {
    rows: usize,
    nulls: Option<&'a NullBuffer>,
    cells: Cells<'a>,
}

enum Cells<'a> {
    Bool(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal128(&'a [i128]),
    Decimal256(&'a [i256]),
    Interval(&'a [IntervalMonthDayNano]),
    /// Offsets and bytes.
    Bytes(&'a [i32], &'a [u8]),
    /// Keys and values.
    Dictionary(Box<Column<'a>>, Box<Column<'a>>),
    /// Offsets and elements.
    List(&'a [i32], Box<Column<'a>>),
    Struct(Vec<Column<'a>>),
}

impl<'a> Column<'a> {
    fn of(array: &'a dyn Array) -> Result<Self> {
        fn values<T: ArrowPrimitiveType>(array: &dyn Array) -> &[T::Native] {
            array.as_primitive::<T>().values()
        }
        let cells = match array.data_type() {
            DataType::Boolean => Cells::Bool(array.as_boolean()),
            DataType::Int8 => Cells::Int8(values::<Int8Type>(array)),
            DataType::Int16 => Cells::Int16(values::<Int16Type>(array)),
            DataType::Int32 => Cells::Int32(values::<Int32Type>(array)),
            DataType::Int64 => Cells::Int64(values::<Int64Type>(array)),
            DataType::UInt8 => Cells::UInt8(values::<UInt8Type>(array)),
            DataType::UInt16 => Cells::UInt16(values::<UInt16Type>(array)),
            DataType::UInt32 => Cells::UInt32(values::<UInt32Type>(array)),
            DataType::UInt64 => Cells::UInt64(values::<UInt64Type>(array)),
            DataType::Float32 => Cells::Float32(values::<Float32Type>(array)),
            DataType::Float64 => Cells::Float64(values::<Float64Type>(array)),
            DataType::Date32 => Cells::Int32(values::<Date32Type>(array)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Cells::Int64(values::<TimestampMicrosecondType>(array))
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                Cells::Int64(values::<DurationMicrosecondType>(array))
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Cells::Interval(values::<IntervalMonthDayNanoType>(array))
            }
            DataType::Decimal128(..) => Cells::Decimal128(values::<Decimal128Type>(array)),
            DataType::Decimal256(..) => Cells::Decimal256(values::<Decimal256Type>(array)),
            DataType::Utf8 => {
                let text = array.as_string::<i32>();
                Cells::Bytes(text.value_offsets(), text.value_data())
            }
            DataType::Binary => {
                let bytes = array.as_binary::<i32>();
                Cells::Bytes(bytes.value_offsets(), bytes.value_data())
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let keys = Self::of(dictionary.keys())?;
                Cells::Dictionary(Box::new(keys), Box::new(Self::of(dictionary.values().as_ref())?))
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let elements = Self::of(list.values().as_ref())?;
                Cells::List(list.value_offsets(), Box::new(elements))
            }
            DataType::Struct(_) => {
                let fields = array.as_struct().columns().iter();
                Cells::Struct(fields.map(|field| Self::of(field.as_ref())).collect::<Result<_>>()?)
            }
            other => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("rows with a column of type {other} have no hash"),
                ));
            }
        };
        Ok(Self { rows: array.len(), nulls: array.nulls(), cells })
    }

    /// The number of a cell that is the key of a dictionary.
    fn index(&self, row: usize) -> usize {
        match &self.cells {
            Cells::Int8(values) => at(values, row) as usize,
            Cells::Int16(values) => at(values, row) as usize,
            Cells::Int32(values) => at(values, row) as usize,
            Cells::UInt8(values) => at(values, row).into(),
            Cells::UInt16(values) => at(values, row).into(),
            Cells::UInt32(values) => at(values, row) as usize,
            _ => 0,
        }
    }

    /// Appends the bytes of a cell.
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if self.nulls.is_some_and(|nulls| row < nulls.len() && nulls.is_null(row)) {
            out.push(0);
            return;
        }
        out.push(1);
        match &self.cells {
            Cells::Bool(values) => {
                out.push(u8::from(row < values.len() && values.value(row)));
            }
            Cells::Int8(values) => push_int(values, row, out),
            Cells::Int16(values) => push_int(values, row, out),
            Cells::Int32(values) => push_int(values, row, out),
            Cells::Int64(values) => push_int(values, row, out),
            Cells::UInt8(values) => push_int(values, row, out),
            Cells::UInt16(values) => push_int(values, row, out),
            Cells::UInt32(values) => push_int(values, row, out),
            Cells::UInt64(values) => out.extend(at(values, row).to_le_bytes()),
            Cells::Float32(values) => out.extend(at(values, row).to_le_bytes()),
            Cells::Float64(values) => out.extend(at(values, row).to_le_bytes()),
            Cells::Decimal128(values) => out.extend(at(values, row).to_le_bytes()),
            Cells::Decimal256(values) => out.extend(at(values, row).to_le_bytes()),
            Cells::Interval(values) => push_interval(at(values, row), out),
            Cells::Bytes(offsets, bytes) => {
                let range = range(offsets, row);
                out.extend((range.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes.get(range).unwrap_or_default());
            }
            Cells::Dictionary(keys, texts) => {
                // The text is not NULL, or the cell is: its own byte replaces the one above.
                out.pop();
                texts.push(keys.index(row), out);
            }
            Cells::List(offsets, elements) => {
                let range = range(offsets, row);
                out.extend((range.len() as u32).to_le_bytes());
                range.for_each(|element| elements.push(element, out));
            }
            Cells::Struct(fields) => fields.iter().for_each(|field| field.push(row, out)),
        }
    }
}

fn push_int<T: Copy + Default + Into<i64>>(values: &[T], row: usize, out: &mut Vec<u8>) {
    let value: i64 = at(values, row).into();
    out.extend(value.to_le_bytes());
}

fn push_interval(value: IntervalMonthDayNano, out: &mut Vec<u8>) {
    let is_duration = value.months == 0 && value.days == 0 && value.nanoseconds % 1000 == 0;
    if is_duration {
        out.extend((value.nanoseconds / 1000).to_le_bytes());
    } else {
        out.extend(value.months.to_le_bytes());
        out.extend(value.days.to_le_bytes());
        out.extend(value.nanoseconds.to_le_bytes());
    }
}

/// A value of an array, whose length was checked by Arrow.
fn at<T: Copy + Default>(values: &[T], row: usize) -> T {
    values.get(row).copied().unwrap_or_default()
}

fn range(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    at(offsets, row) as usize..at(offsets, row + 1) as usize
}

/// MurmurHash3, x64, 128 bits, seed 0.
fn murmur3(bytes: &[u8]) -> u128 {
    let (mut h1, mut h2) = (0_u64, 0_u64);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(u128::from_le_bytes(*block));
        h1 ^= first(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= second(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let mut last = [0; 16];
    last.iter_mut().zip(tail).for_each(|(last, byte)| *last = *byte);
    let (k1, k2) = halves(u128::from_le_bytes(last));
    // Without bytes there, both are 0.
    h2 ^= second(k2);
    h1 ^= first(k1);
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (mix(h1), mix(h2));
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    u128::from(h2) << 64 | u128::from(h1)
}

fn halves(block: u128) -> (u64, u64) {
    (block as u64, (block >> 64) as u64)
}

fn first(k1: u64) -> u64 {
    k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn second(k2: u64) -> u64 {
    k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn mix(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        ArrayRef, BinaryArray, DictionaryArray, DurationMicrosecondArray, Float32Array, Int32Array,
        Int64Array, IntervalMonthDayNanoArray, StringArray, StructArray, UInt8Array,
    };
    use std::sync::Arc;

    fn hashes(columns: &[ArrayRef]) -> Vec<u128> {
        let mut found = Vec::new();
        hash_rows(columns.iter().map(AsRef::as_ref), |hash| found.push(hash)).unwrap();
        found
    }

    #[test]
    fn known_hashes() {
        // Of the reference implementation.
        assert_eq!(murmur3(b""), 0);
        let text = b"The quick brown fox jumps over the lazy dog";
        assert_eq!(murmur3(text), 0x7a43_3ca9_c49a_9347_e34b_bc7b_bc07_1b6c);
        assert_eq!(murmur3(b"hello"), 0x5b1e_906a_48ae_1d19_cbd8_a7b3_41bd_9b02);
    }

    #[test]
    fn cells_of_equal_values_are_equal() {
        let narrow: ArrayRef = Arc::new(UInt8Array::from(vec![Some(7), None, Some(0)]));
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(0)]));
        assert_eq!(hashes(&[narrow]), hashes(std::slice::from_ref(&wide)));
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
        let bytes: ArrayRef =
            Arc::new(BinaryArray::from(vec![Some(b"a".as_slice()), None, Some(b"")]));
        let dictionary: DictionaryArray<Int32Type> =
            [Some("a"), None, Some("")].into_iter().collect();
        assert_eq!(hashes(std::slice::from_ref(&text)), hashes(&[bytes]));
        assert_eq!(hashes(std::slice::from_ref(&text)), hashes(&[Arc::new(dictionary)]));
        let durations: ArrayRef =
            Arc::new(DurationMicrosecondArray::from(vec![Some(-1), None, Some(86_400_000_000)]));
        let nanos = |nanos| Some(IntervalMonthDayNano::new(0, 0, nanos));
        let own = vec![nanos(-1000), None, nanos(86_400_000_000_000)];
        let intervals: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(own));
        let wanted = hashes(&[durations]);
        assert_eq!(wanted, hashes(&[intervals]));
        let day = vec![nanos(-1), None, Some(IntervalMonthDayNano::new(0, 1, 0))];
        let others: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(day));
        let others = hashes(&[others]);
        assert_ne!((wanted[0], wanted[2]), (others[0], others[2]));
        assert_ne!(wanted[2], others[2]);
        // A slice has the hashes of its rows.
        let both = [wide, text];
        let sliced = both.each_ref().map(|column| column.slice(1, 2));
        assert_eq!(hashes(&sliced), hashes(&both)[1..]);
    }

    #[test]
    fn other_values_have_other_hashes() {
        let one: ArrayRef = Arc::new(Int32Array::from(vec![1, -1, 256, 0]));
        let none: ArrayRef = Arc::new(Int32Array::from(vec![None]));
        let mut all = hashes(&[one]);
        all.extend(hashes(&[none]));
        for (a, b) in [("a", "bc"), ("ab", "c"), ("abc", "")] {
            all.extend(hashes(&[
                Arc::new(StringArray::from(vec![a])),
                Arc::new(StringArray::from(vec![b])),
            ]));
        }
        let fields: ArrayRef = Arc::new(StructArray::from(vec![(
            Arc::new(arrow_schema::Field::new("x", DataType::Float32, true)),
            Arc::new(Float32Array::from(vec![0.5, -0.0, 0.0])) as ArrayRef,
        )]));
        all.extend(hashes(&[fields]));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
