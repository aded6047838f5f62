//! The cells of a column of a batch, in a form that can be compared.

use super::class::Class;
use super::literal::{moment, order, scaled, time};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, StringArray};
use arrow_buffer::i256;
use arrow_schema::DataType;

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Number(i256),
    Float(f64),
    Bytes(&'a [u8]),
    Micros(i64),
}

/// Returns the cell of a row.
pub(super) type Cells<'a> = Box<dyn Fn(usize) -> Cell<'a> + 'a>;

/// The cells of an array; `None` for a type that no column of this class has.
pub(super) fn cells<'a>(array: &'a dyn Array, class: Class) -> Option<Cells<'a>> {
    let of_values: Cells<'a> = match (class, array.data_type()) {
        (Class::Number { .. }, DataType::Boolean) => {
            let array = array.as_boolean_opt()?;
            Box::new(move |row| Cell::Number(i256::from_i128(array.value(row).into())))
        }
        (Class::Number { .. }, DataType::Int8) => integers::<Int8Type>(array)?,
        (Class::Number { .. }, DataType::Int16) => integers::<Int16Type>(array)?,
        (Class::Number { .. }, DataType::Int32) => integers::<Int32Type>(array)?,
        (Class::Number { .. }, DataType::Int64) => integers::<Int64Type>(array)?,
        (Class::Number { .. }, DataType::UInt8) => integers::<UInt8Type>(array)?,
        (Class::Number { .. }, DataType::UInt16) => integers::<UInt16Type>(array)?,
        (Class::Number { .. }, DataType::UInt32) => integers::<UInt32Type>(array)?,
        (Class::Number { .. }, DataType::UInt64) => integers::<UInt64Type>(array)?,
        (Class::Number { .. }, DataType::Decimal128(..)) => integers::<Decimal128Type>(array)?,
        (Class::Number { .. }, DataType::Decimal256(..)) => {
            let array = array.as_primitive_opt::<Decimal256Type>()?;
            Box::new(move |row| Cell::Number(array.value(row)))
        }
        (Class::Number { scale }, DataType::Utf8) => {
            parsed(array, move |text| Some(Cell::Number(scaled(text, scale)?.0)))?
        }
        (Class::Float, DataType::Float32) => {
            let array = array.as_primitive_opt::<Float32Type>()?;
            Box::new(move |row| Cell::Float(array.value(row).into()))
        }
        (Class::Float, DataType::Float64) => {
            let array = array.as_primitive_opt::<Float64Type>()?;
            Box::new(move |row| Cell::Float(array.value(row)))
        }
        (Class::Text, DataType::Utf8) => {
            let array = array.as_string_opt::<i32>()?;
            Box::new(move |row| Cell::Bytes(array.value(row).as_bytes()))
        }
        (Class::Text, DataType::Dictionary(..)) => {
            let array = array.as_dictionary_opt::<UInt16Type>()?;
            let members = array.values().as_any().downcast_ref::<StringArray>()?;
            Box::new(move |row| match array.key(row) {
                Some(member) if member < members.len() => {
                    Cell::Bytes(members.value(member).as_bytes())
                }
                _ => Cell::Null,
            })
        }
        (Class::Bytes, DataType::Binary) => {
            let array = array.as_binary_opt::<i32>()?;
            Box::new(move |row| Cell::Bytes(array.value(row)))
        }
        (Class::Moment, DataType::Date32) => {
            let array = array.as_primitive_opt::<Date32Type>()?;
            Box::new(move |row| Cell::Micros(i64::from(array.value(row)) * DAY))
        }
        (Class::Moment, _) => micros::<TimestampMicrosecondType>(array)?,
        (Class::MomentText, _) => parsed(array, |text| Some(Cell::Micros(order(moment(text)?.0))))?,
        (Class::Time, DataType::Utf8) => parsed(array, |text| time(text).map(Cell::Micros))?,
        (Class::Time, DataType::Int64) => micros::<Int64Type>(array)?,
        (Class::Time, _) => micros::<DurationMicrosecondType>(array)?,
        // Only compared with NULL.
        (Class::Other, _) => Box::new(|_| Cell::Bytes(&[])),
        _ => return None,
    };
    Some(Box::new(move |row| match row < array.len() && array.is_valid(row) {
        true => of_values(row),
        false => Cell::Null,
    }))
}

fn integers<'a, T>(array: &'a dyn Array) -> Option<Cells<'a>>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
{
    let array = array.as_primitive_opt::<T>()?;
    Some(Box::new(move |row| Cell::Number(i256::from_i128(array.value(row).into()))))
}

fn micros<'a, T: ArrowPrimitiveType<Native = i64>>(array: &'a dyn Array) -> Option<Cells<'a>> {
    let array = array.as_primitive_opt::<T>()?;
    Some(Box::new(move |row| Cell::Micros(array.value(row))))
}

fn parsed<'a>(
    array: &'a dyn Array,
    parse: impl Fn(&str) -> Option<Cell<'a>> + 'a,
) -> Option<Cells<'a>> {
    let array = array.as_string_opt::<i32>()?;
    Some(Box::new(move |row| parse(array.value(row)).unwrap_or(Cell::Null)))
}

/// The microseconds of a day.
const DAY: i64 = 86_400_000_000;
