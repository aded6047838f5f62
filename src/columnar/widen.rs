//! Converts a column to a wider type: each value of the old type has an equal value in the new type.
//!
//! The list of conversions is short and closed. A general cast kernel converts between any two types, and was the largest
//! library in the wheel.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray, LargeBinaryArray, LargeStringArray,
    PrimitiveArray, StringArray, StringViewArray, make_array,
};
use arrow_buffer::i256;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use std::sync::Arc;

/// Returns the column as `to`; `None` if the type `to` cannot represent each value of the column's
/// type.
///
/// Types that differ only in the names of the fields inside a list are treated as equal.
pub(crate) fn widen(column: &ArrayRef, to: &DataType) -> Result<Option<ArrayRef>, ArrowError> {
    let from = column.data_type();
    if from == to {
        return Ok(Some(Arc::clone(column)));
    }
    if from.equals_datatype(to) {
        return Ok(Some(make_array(relabel(column.to_data(), to)?)));
    }
    if !is_widening(from, to) {
        return Ok(None);
    }
    match to {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(widen_text(column, to)),
        DataType::LargeBinary => {
            Ok(Some(Arc::new(LargeBinaryArray::from_iter(column.as_binary::<i32>()))))
        }
        DataType::BinaryView => {
            Ok(Some(Arc::new(BinaryViewArray::from_iter(column.as_binary::<i32>()))))
        }
        _ => widen_number(column, to),
    }
}

/// True if each value of `from` has an equal value in `to`.
fn is_widening(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let bits = |data_type: &DataType| match data_type {
        Int8 | UInt8 => 8,
        Int16 | UInt16 => 16,
        Int32 | UInt32 => 32,
        Int64 | UInt64 => 64,
        _ => 0,
    };
    match (from, to) {
        (Int8 | Int16 | Int32 | Int64, Int16 | Int32 | Int64)
        | (UInt8 | UInt16 | UInt32 | UInt64, UInt16 | UInt32 | UInt64)
        | (UInt8 | UInt16 | UInt32, Int16 | Int32 | Int64) => bits(to) > bits(from),
        (
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64,
            Decimal128(p, s) | Decimal256(p, s),
        ) => {
            let digits = match bits(from) {
                8 => 3,
                16 => 5,
                32 => 10,
                _ => 20,
            };
            // A negative scale would round to tens.
            *s >= 0 && i16::from(*p) - i16::from(*s) >= digits
        }
        (Float32, Float64) => true,
        (Int8 | Int16 | UInt8 | UInt16, Float32 | Float64) | (Int32 | UInt32, Float64) => true,
        (Decimal128(p, s), Decimal128(q, t) | Decimal256(q, t))
        | (Decimal256(p, s), Decimal256(q, t)) => {
            t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s)
        }
        (Dictionary(_, value), Utf8 | LargeUtf8) => **value == Utf8,
        (Utf8, LargeUtf8 | Utf8View) | (Binary, LargeBinary | BinaryView) => true,
        // BIT(1) changed to BIT(n), DATE changed to DATETIME: the server converts them in this way.
        (Boolean, UInt64 | Int64) | (Date32, Timestamp(TimeUnit::Microsecond, None)) => true,
        _ => false,
    }
}

fn widen_text(column: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    let texts = match column.as_any_dictionary_opt() {
        Some(dictionary) => {
            let values = dictionary.values().as_string_opt::<i32>()?;
            // Without values all rows are NULL, and there are no keys to look up.
            let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            let text = |row: usize| {
                let key = keys.get(row).filter(|_| dictionary.is_valid(row))?;
                values.is_valid(*key).then(|| values.value(*key))
            };
            Arc::new(StringArray::from_iter((0..column.len()).map(text)))
        }
        None => Arc::clone(column),
    };
    let plain = texts.as_string_opt::<i32>()?;
    Some(match to {
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter(plain)),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(plain)),
        _ => texts,
    })
}

/// Converts a number through 128-bit integers, so that there is one loop for each type instead of
/// one for each pair.
fn widen_number(column: &ArrayRef, to: &DataType) -> Result<Option<ArrayRef>, ArrowError> {
    Ok(match column.data_type() {
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            Some(Arc::new(values.unary::<_, Float64Type>(f64::from)))
        }
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>();
            let micros = days.unary::<_, TimestampMicrosecondType>(|day| i64::from(day) * DAY);
            Some(Arc::new(micros))
        }
        DataType::Decimal256(_, scale) => {
            let values = column.as_primitive::<Decimal256Type>().clone();
            Some(Arc::new(decimal256(&values, *scale, to)?))
        }
        DataType::Decimal128(_, scale) => {
            from_integers(column.as_primitive::<Decimal128Type>(), *scale, to)?
        }
        DataType::Boolean => {
            let bits = column.as_boolean().iter().map(|bit| bit.map(i128::from));
            from_integers(&PrimitiveArray::from_iter(bits), 0, to)?
        }
        DataType::Int8 => from_integers(&integers::<Int8Type>(column), 0, to)?,
        DataType::Int16 => from_integers(&integers::<Int16Type>(column), 0, to)?,
        DataType::Int32 => from_integers(&integers::<Int32Type>(column), 0, to)?,
        DataType::Int64 => from_integers(&integers::<Int64Type>(column), 0, to)?,
        DataType::UInt8 => from_integers(&integers::<UInt8Type>(column), 0, to)?,
        DataType::UInt16 => from_integers(&integers::<UInt16Type>(column), 0, to)?,
        DataType::UInt32 => from_integers(&integers::<UInt32Type>(column), 0, to)?,
        DataType::UInt64 => from_integers(&integers::<UInt64Type>(column), 0, to)?,
        _ => None,
    })
}

fn integers<T>(column: &ArrayRef) -> PrimitiveArray<Decimal128Type>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
{
    column.as_primitive::<T>().unary(Into::into)
}

/// Converts `integers`, which are the values times ten to the power of `scale`. [`is_widening`] has
/// determined that `to` can represent them.
fn from_integers(
    integers: &PrimitiveArray<Decimal128Type>,
    scale: i8,
    to: &DataType,
) -> Result<Option<ArrayRef>, ArrowError> {
    Ok(Some(match to {
        DataType::Int16 => Arc::new(integers.unary::<_, Int16Type>(|value| value as i16)),
        DataType::Int32 => Arc::new(integers.unary::<_, Int32Type>(|value| value as i32)),
        DataType::Int64 => Arc::new(integers.unary::<_, Int64Type>(|value| value as i64)),
        DataType::UInt16 => Arc::new(integers.unary::<_, UInt16Type>(|value| value as u16)),
        DataType::UInt32 => Arc::new(integers.unary::<_, UInt32Type>(|value| value as u32)),
        DataType::UInt64 => Arc::new(integers.unary::<_, UInt64Type>(|value| value as u64)),
        DataType::Float32 => Arc::new(integers.unary::<_, Float32Type>(|value| value as f32)),
        DataType::Float64 => Arc::new(integers.unary::<_, Float64Type>(|value| value as f64)),
        DataType::Decimal128(precision, to_scale) => {
            let factor = 10_i128.wrapping_pow(power(scale, *to_scale));
            // The value at a NULL may be any number.
            let values = integers.unary::<_, Decimal128Type>(|value| value.wrapping_mul(factor));
            Arc::new(values.with_precision_and_scale(*precision, *to_scale)?)
        }
        DataType::Decimal256(..) => {
            let values = integers.unary::<_, Decimal256Type>(i256::from_i128);
            Arc::new(decimal256(&values, scale, to)?)
        }
        _ => return Ok(None),
    }))
}

fn decimal256(
    values: &PrimitiveArray<Decimal256Type>,
    scale: i8,
    to: &DataType,
) -> Result<PrimitiveArray<Decimal256Type>, ArrowError> {
    let DataType::Decimal256(precision, to_scale) = to else {
        return Err(ArrowError::CastError(format!("{to} is not a Decimal256")));
    };
    let factor = i256::from_i128(10).wrapping_pow(power(scale, *to_scale));
    values
        .unary::<_, Decimal256Type>(|value| value.wrapping_mul(factor))
        .with_precision_and_scale(*precision, *to_scale)
}

fn power(from: i8, to: i8) -> u32 {
    u32::try_from(i16::from(to) - i16::from(from)).unwrap_or(0)
}

/// Returns the same data with other names of the fields inside it.
fn relabel(data: ArrayData, to: &DataType) -> Result<ArrayData, ArrowError> {
    let within: Vec<&DataType> = match to {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => Vec::new(),
    };
    let children = data.child_data().to_vec();
    let relabelled = match within.len() == children.len() {
        true => children
            .into_iter()
            .zip(within)
            .map(|(child, to)| relabel(child, to))
            .collect::<Result<Vec<_>, _>>()?,
        false => children,
    };
    data.into_builder().data_type(to.clone()).child_data(relabelled).build()
}

/// The number of microseconds of a day.
const DAY: i64 = 86_400_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::UInt16Type as Key;
    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
        Int32Array, ListArray, new_null_array,
    };
    use arrow_schema::Field;

    /// Arrays with the least, the greatest and no value of each type.
    fn extremes() -> Vec<ArrayRef> {
        fn of<T: ArrowPrimitiveType>(values: [T::Native; 3]) -> ArrayRef {
            let [least, one, greatest] = values.map(Some);
            Arc::new(PrimitiveArray::<T>::from_iter([least, None, one, greatest]))
        }
        let decimal = 10_i128.pow(18) - 1;
        vec![
            of::<Int8Type>([i8::MIN, 1, i8::MAX]),
            of::<Int16Type>([i16::MIN, 1, i16::MAX]),
            of::<Int32Type>([i32::MIN, 1, i32::MAX]),
            of::<Int64Type>([i64::MIN, 1, i64::MAX]),
            of::<UInt8Type>([u8::MIN, 1, u8::MAX]),
            of::<UInt16Type>([u16::MIN, 1, u16::MAX]),
            of::<UInt32Type>([u32::MIN, 1, u32::MAX]),
            of::<UInt64Type>([u64::MIN, 1, u64::MAX]),
            Arc::new(Float32Array::from(vec![Some(f32::MIN), None, Some(0.1), Some(f32::MAX)])),
            Arc::new(BooleanArray::from(vec![Some(false), None, Some(true), Some(true)])),
            Arc::new(Date32Array::from(vec![Some(-719_528), None, Some(0), Some(2_932_896)])),
            Arc::new(
                Decimal128Array::from(vec![Some(-decimal), None, Some(1), Some(decimal)])
                    .with_precision_and_scale(18, 4)
                    .unwrap(),
            ),
            Arc::new(StringArray::from(vec![
                Some(""),
                None,
                Some("é"),
                Some("longer than a view"),
            ])),
            Arc::new(BinaryArray::from(vec![Some(&b""[..]), None, Some(b"\0"), Some(b"\xff")])),
            Arc::new(DictionaryArray::<Key>::from_iter([Some(""), None, Some("é"), Some("")])),
        ]
    }

    fn targets() -> Vec<DataType> {
        use DataType::*;
        vec![
            Int16,
            Int32,
            Int64,
            UInt16,
            UInt32,
            UInt64,
            Float32,
            Float64,
            Decimal128(38, 0),
            Decimal128(22, 6),
            Decimal128(38, 18),
            Decimal256(76, 30),
            Utf8,
            LargeUtf8,
            Utf8View,
            LargeBinary,
            BinaryView,
            Timestamp(TimeUnit::Microsecond, None),
        ]
    }

    #[test]
    fn widened_values_are_those_of_the_cast_kernel() {
        let mut pairs = 0;
        for column in extremes() {
            for to in targets() {
                let Some(widened) = widen(&column, &to).unwrap() else { continue };
                assert_eq!(&widened, &arrow_cast::cast(&column, &to).unwrap(), "{to}");
                widened.to_data().validate_full().unwrap();
                pairs += usize::from(column.data_type() != &to);
            }
        }
        assert_eq!(pairs, 71);
    }

    #[test]
    fn every_widening_is_carried_out() {
        for from in extremes().iter().map(|column| column.data_type().clone()) {
            for to in targets().iter().filter(|to| is_widening(&from, to)) {
                let column = new_null_array(&from, 2);
                let widened = widen(&column, to).unwrap().expect("is a widening");
                assert_eq!((widened.data_type(), widened.null_count()), (to, 2), "{from} to {to}");
            }
        }
    }

    #[test]
    fn narrower_types_are_refused() {
        for (column, to) in [
            (Arc::new(Int32Array::from(vec![1])) as ArrayRef, DataType::Int16),
            (Arc::new(Int32Array::from(vec![1])), DataType::Utf8),
            (Arc::new(Int32Array::from(vec![1])), DataType::Decimal128(38, -2)),
            (Arc::new(Int32Array::from(vec![1])), DataType::Float32),
        ] {
            assert!(widen(&column, &to).unwrap().is_none(), "{to}");
        }
    }

    #[test]
    fn a_list_may_have_another_name_for_its_items() {
        let list = |name: &str| DataType::List(Arc::new(Field::new(name, DataType::Int32, true)));
        let items =
            ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
        let column: ArrayRef = Arc::new(items);
        let renamed = widen(&column, &list("element")).unwrap().expect("the same type");
        assert_eq!(renamed.data_type(), &list("element"));
        assert_eq!(renamed.as_list::<i32>().value(0).as_primitive::<Int32Type>().value(0), 1);
        assert!(renamed.is_null(1));
    }
}
