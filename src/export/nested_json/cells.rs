//! Reads the columns of one side of a batch, cell by cell.

use super::super::nested::{Nested, Side, SideColumn, is_held, unfit};
use crate::error::Result;
use crate::schema::ColumnType;
use crate::value::Cell;
use crate::value::json::quote;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DurationMicrosecondArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};

/// A column of a document.
pub(super) struct DocumentColumn<'b> {
    /// Its index in the table.
    index: usize,
    name: &'b str,
    /// `"name":`
    pub(super) head: Vec<u8>,
    /// For columns of documents: the name followed by a space; no column has such a name. If the
    /// value is the document `null`, a member of that name is added, because otherwise the value
    /// would look like NULL.
    null_mark: Option<String>,
    values: &'b dyn Array,
    cells: Cells<'b>,
}

/// The values of a column, by their type.
enum Cells<'b> {
    Bool(&'b BooleanArray),
    Int8(&'b Int8Array),
    Int16(&'b Int16Array),
    Int32(&'b Int32Array),
    Int64(&'b Int64Array),
    Decimal(&'b Decimal128Array, u8),
    Single(&'b Float32Array),
    Double(&'b Float64Array),
    Date(&'b Date32Array),
    Timestamp(&'b TimestampMicrosecondArray),
    DateTime(&'b TimestampMicrosecondArray),
    Interval(&'b DurationMicrosecondArray),
    Text(&'b StringArray),
    Binary(&'b BinaryArray),
    Document(&'b BinaryArray),
    Singles { ends: &'b [i32], elements: &'b [f32] },
}

impl DocumentColumn<'_> {
    /// Returns the cell of a row; `None` if the image did not contain the column. `held` has one
    /// bit per column of the image.
    #[inline]
    pub(super) fn cell(&self, held: &[u8], row: usize) -> Option<Cell<'_>> {
        is_held(held, self.index).then(|| match self.values.is_null(row) {
            true => Cell::Null,
            false => self.cells.get(row),
        })
    }

    /// Adds the members of this column to the variant of a row.
    pub(super) fn members(
        &self,
        held: &[u8],
        row: usize,
    ) -> impl Iterator<Item = (&str, Cell<'_>)> + Clone {
        let cell = self.cell(held, row);
        let is_null_document = matches!(cell, Some(Cell::Document([] | [4, 0, ..])));
        let mark = self.null_mark.as_deref().filter(|_| is_null_document);
        let value = cell.map(|cell| (self.name, cell));
        value.into_iter().chain(mark.map(|name| (name, Cell::Bool(true))))
    }
}

impl Cells<'_> {
    #[inline]
    fn get(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Bool(array) => Cell::Bool(array.value(row)),
            Self::Int8(array) => Cell::Integer(array.value(row).into()),
            Self::Int16(array) => Cell::Integer(array.value(row).into()),
            Self::Int32(array) => Cell::Integer(array.value(row).into()),
            Self::Int64(array) => Cell::Integer(array.value(row)),
            Self::Decimal(array, scale) => Cell::Decimal(array.value(row), *scale),
            Self::Single(array) => Cell::Single(array.value(row)),
            Self::Double(array) => Cell::Double(array.value(row)),
            Self::Date(array) => Cell::Date(array.value(row)),
            Self::Timestamp(array) => Cell::Timestamp(array.value(row)),
            Self::DateTime(array) => Cell::DateTime(array.value(row)),
            Self::Interval(array) => Cell::Interval(array.value(row)),
            Self::Text(array) => Cell::Text(array.value(row)),
            Self::Binary(array) => Cell::Binary(array.value(row)),
            Self::Document(array) => Cell::Document(array.value(row)),
            Self::Singles { ends, elements } => {
                let end = |place| ends.get(place).map_or(0, |end: &i32| *end as usize);
                Cell::Singles(elements.get(end(row)..end(row + 1)).unwrap_or_default())
            }
        }
    }
}

/// Returns the columns of a side. `has_variants`: JSON is in MySQL's binary form, for variants.
pub(super) fn columns<'b>(
    nested: &Nested<'b>,
    side: &Side<'b>,
    has_variants: bool,
) -> Result<Vec<DocumentColumn<'b>>> {
    side.columns(nested.plan)?
        .into_iter()
        .map(|SideColumn { name, index, column, values }| {
            let is_json = matches!(column.column_type, ColumnType::Json { .. });
            let cells = cells(values, is_json && has_variants).ok_or_else(|| unfit(name))?;
            let null_mark = matches!(cells, Cells::Document(_)).then(|| format!("{name} "));
            let mut head = Vec::with_capacity(name.len() + 3);
            quote(name.as_bytes(), &mut head);
            head.push(b':');
            Ok(DocumentColumn { index, name, head, null_mark, values, cells })
        })
        .collect()
}

fn cells(values: &dyn Array, is_document: bool) -> Option<Cells<'_>> {
    use DataType as D;
    let micros = TimeUnit::Microsecond;
    Some(match values.data_type() {
        D::Boolean => Cells::Bool(values.as_boolean()),
        D::Int8 => Cells::Int8(values.as_primitive::<Int8Type>()),
        D::Int16 => Cells::Int16(values.as_primitive::<Int16Type>()),
        D::Int32 => Cells::Int32(values.as_primitive::<Int32Type>()),
        D::Int64 => Cells::Int64(values.as_primitive::<Int64Type>()),
        D::Decimal128(_, scale) => {
            Cells::Decimal(values.as_primitive::<Decimal128Type>(), u8::try_from(*scale).ok()?)
        }
        D::Float32 => Cells::Single(values.as_primitive::<Float32Type>()),
        D::Float64 => Cells::Double(values.as_primitive::<Float64Type>()),
        D::Date32 => Cells::Date(values.as_primitive::<Date32Type>()),
        D::Timestamp(unit, Some(_)) if *unit == micros => {
            Cells::Timestamp(values.as_primitive::<TimestampMicrosecondType>())
        }
        D::Timestamp(unit, None) if *unit == micros => {
            Cells::DateTime(values.as_primitive::<TimestampMicrosecondType>())
        }
        D::Duration(unit) if *unit == micros => {
            Cells::Interval(values.as_primitive::<DurationMicrosecondType>())
        }
        D::Utf8 => Cells::Text(values.as_string()),
        D::Binary if is_document => Cells::Document(values.as_binary()),
        D::Binary => Cells::Binary(values.as_binary()),
        D::List(_) => {
            let lists = values.as_list::<i32>();
            let elements = lists.values().as_primitive_opt::<Float32Type>()?.values();
            Cells::Singles { ends: lists.offsets(), elements }
        }
        _ => return None,
    })
}
