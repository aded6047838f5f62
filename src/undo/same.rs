//! Comparison of the two cells of a column: an update sets only columns that it changed.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowNativeTypeOp};
use arrow_schema::DataType;

/// True if the cell of a row is the same in both arrays.
pub(super) type Same<'b> = Box<dyn Fn(usize) -> bool + 'b>;

/// Returns the comparison of two arrays of one type; `None` for a type that no column has.
pub(super) fn same<'b>(one: &'b dyn Array, other: &'b dyn Array) -> Option<Same<'b>> {
    use DataType as D;
    macro_rules! values {
        ($($variant:pat => $of:ty),+ $(,)?) => {
            match one.data_type() {
                $($variant => primitive::<$of>(one, other)?,)+
                D::Boolean => {
                    let (a, b) = (one.as_boolean_opt()?, other.as_boolean_opt()?);
                    Box::new(move |row| a.value(row) == b.value(row))
                }
                D::Utf8 => {
                    let (a, b) = (one.as_string_opt::<i32>()?, other.as_string_opt::<i32>()?);
                    Box::new(move |row| a.value(row) == b.value(row))
                }
                D::Binary => {
                    let (a, b) = (one.as_binary_opt::<i32>()?, other.as_binary_opt::<i32>()?);
                    Box::new(move |row| a.value(row) == b.value(row))
                }
                D::Dictionary(..) => {
                    let a = one.as_dictionary_opt::<UInt16Type>()?.keys();
                    let b = other.as_dictionary_opt::<UInt16Type>()?.keys();
                    Box::new(move |row| a.value(row) == b.value(row))
                }
                D::List(_) => {
                    let (a, b) = (one.as_list_opt::<i32>()?, other.as_list_opt::<i32>()?);
                    Box::new(move |row| a.value(row) == b.value(row))
                }
                _ => return None,
            }
        };
    }
    let values: Same<'b> = values!(
        D::Int8 => Int8Type, D::Int16 => Int16Type, D::Int32 => Int32Type, D::Int64 => Int64Type,
        D::UInt8 => UInt8Type, D::UInt16 => UInt16Type, D::UInt32 => UInt32Type,
        D::UInt64 => UInt64Type, D::Float32 => Float32Type, D::Float64 => Float64Type,
        D::Decimal128(..) => Decimal128Type, D::Decimal256(..) => Decimal256Type,
    );
    Some(Box::new(move |row| match (one.is_null(row), other.is_null(row)) {
        (false, false) => values(row),
        (one, other) => one == other,
    }))
}

/// Compares floats by their bits: 0 and -0 are different.
fn primitive<'b, T: ArrowPrimitiveType>(
    one: &'b dyn Array,
    other: &'b dyn Array,
) -> Option<Same<'b>> {
    let (a, b) = (one.as_primitive_opt::<T>()?, other.as_primitive_opt::<T>()?);
    Some(Box::new(move |row| a.value(row).compare(b.value(row)).is_eq()))
}
