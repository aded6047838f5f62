//! The value of a cell, independent of its column type: documents are written from it.

/// The value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// true or false.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A decimal number: its digits, and the number of digits after the point.
    Decimal(i128, u8),
    /// FLOAT.
    Single(f32),
    /// DOUBLE.
    Double(f64),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since 1970 UTC.
    Timestamp(i64),
    /// Microseconds since 1970, without a time zone.
    DateTime(i64),
    /// Microseconds.
    Interval(i64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Binary(&'a [u8]),
    /// A document in MySQL's binary form.
    Document(&'a [u8]),
    /// The elements of a VECTOR.
    Singles(&'a [f32]),
}
