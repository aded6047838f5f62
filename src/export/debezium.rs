//! The values of Debezium's change events, without their schemas, as its JSON converter writes them
//! with `schemas.enable=false`.
//!
//! ```text
//! {"before":null,"after":{"id":3,"name":"go"},
//!  "source":{"version":"0.1.0","connector":"mysql","name":"shop","ts_ms":…,"snapshot":"false","db":"shop","table":"user",
//!            "server_id":1,"gtid":…,"file":"binlog.000002","pos":4321,"row":0,"thread":7,"query":null},
//!  "op":"c","ts_ms":…,"transaction":null}
//! ```
//!
//! Values have the default forms of the connector: `decimal.handling.mode=precise`,
//! `time.precision.mode=adaptive_time_microseconds`, `bigint.unsigned.handling.mode=long`,
//! `binary.handling.mode=bytes`. A delete caused by a changed key is followed by its insert; there
//! are no tombstones.
//!
//! <https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-data-types>

use super::EventOptions;
use super::cell::{
    CellWriter, booleans, cells, encoded, integer, json, numbers, or_null, plain_numbers, quoted,
    write_base64,
};
use super::nested::{Nested, Side, SideColumn, unfit};
use crate::error::Result;
use crate::reader::ChangeBatch;
use crate::schema::{ColumnType, GeometryType};
use crate::value::{DateTime, base64, geometry};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType, Float32Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_schema::DataType;

pub(super) fn write(
    change: &ChangeBatch,
    options: &EventOptions<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let nested = Nested::try_new(change)?;
    let source = Source::try_new(&nested, options)?;
    let before = columns(&nested, &nested.before)?;
    let after = columns(&nested, &nested.after)?;
    let mut tail = b",\"ts_ms\":".to_vec();
    integer(options.processed_ms, &mut tail);
    tail.extend_from_slice(b",\"transaction\":null}\n");
    for row in 0..nested.rows() {
        out.extend_from_slice(b"{\"before\":");
        write_side(&nested.before, &before, row, out);
        out.extend_from_slice(b",\"after\":");
        write_side(&nested.after, &after, row, out);
        out.extend_from_slice(b",\"source\":{");
        source.write(row, out);
        out.extend_from_slice(b"},\"op\":\"");
        out.extend_from_slice(nested.op(row).as_bytes());
        out.push(b'"');
        out.extend_from_slice(&tail);
    }
    Ok(())
}

/// The `source` of a change.
struct Source<'b> {
    /// `"version":…,"connector":…,"name":…,"ts_ms":`
    head: Vec<u8>,
    /// `,"snapshot":…,"db":…,"table":…,"server_id":`
    table: Vec<u8>,
    times: &'b arrow_array::TimestampMicrosecondArray,
    ordinals: &'b arrow_array::Int64Array,
    gtids: &'b arrow_array::StringArray,
    files: &'b arrow_array::StringArray,
    positions: &'b arrow_array::Int64Array,
    servers: &'b arrow_array::Int64Array,
    threads: &'b arrow_array::Int64Array,
    queries: Option<Queries<'b>>,
}

/// `_query`, if it was requested.
struct Queries<'b> {
    keys: &'b dyn Array,
    text: Box<dyn Fn(usize) -> Option<&'b str> + 'b>,
}

impl<'b> Source<'b> {
    fn try_new(nested: &Nested<'b>, options: &EventOptions<'_>) -> Result<Self> {
        let mut head = b"\"version\":".to_vec();
        json(env!("CARGO_PKG_VERSION"), &mut head);
        head.extend_from_slice(b",\"connector\":");
        json(if nested.plan.is_mariadb() { "mariadb" } else { "mysql" }, &mut head);
        head.extend_from_slice(b",\"name\":");
        json(options.source_name, &mut head);
        head.extend_from_slice(b",\"ts_ms\":");
        let mut table = b",\"snapshot\":\"false\",\"db\":".to_vec();
        json(&*nested.plan.shown_table().database, &mut table);
        table.extend_from_slice(b",\"table\":");
        json(&*nested.plan.shown_table().table, &mut table);
        table.extend_from_slice(b",\"server_id\":");
        Ok(Self {
            head,
            table,
            times: nested.numbers::<TimestampMicrosecondType>("_commit_timestamp")?,
            ordinals: nested.numbers::<Int64Type>("_change_ordinal")?,
            gtids: nested.texts("_gtid")?,
            files: nested.texts("_binlog_file")?,
            positions: nested.numbers::<Int64Type>("_binlog_position")?,
            servers: nested.numbers::<Int64Type>("_server_id")?,
            threads: nested.numbers::<Int64Type>("_thread_id")?,
            queries: nested.optional("_query").map(Queries::try_new).transpose()?,
        })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        integer(self.times.value(row).div_euclid(1000), out);
        out.extend_from_slice(&self.table);
        integer(self.servers.value(row), out);
        out.extend_from_slice(b",\"gtid\":");
        or_null(self.gtids, row, out, |out| json(self.gtids.value(row), out));
        out.extend_from_slice(b",\"file\":");
        json(self.files.value(row), out);
        out.extend_from_slice(b",\"pos\":");
        integer(self.positions.value(row), out);
        out.extend_from_slice(b",\"row\":");
        integer((self.ordinals.value(row) & i64::from(u32::MAX)) / 2, out);
        out.extend_from_slice(b",\"thread\":");
        or_null(self.threads, row, out, |out| integer(self.threads.value(row), out));
        out.extend_from_slice(b",\"query\":");
        let query = self.queries.as_ref().filter(|queries| queries.keys.is_valid(row));
        match query.and_then(|queries| (queries.text)(row)) {
            Some(query) => json(query, out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl<'b> Queries<'b> {
    fn try_new(keys: &'b dyn Array) -> Result<Self> {
        let dictionary = keys.as_dictionary_opt::<Int32Type>().ok_or_else(|| unfit("_query"))?;
        let texts = dictionary.values().as_string_opt::<i32>().ok_or_else(|| unfit("_query"))?;
        let text = move |row| {
            let number = usize::try_from(dictionary.keys().value(row)).ok()?;
            (number < texts.len()).then(|| texts.value(number))
        };
        Ok(Self { keys, text: Box::new(text) })
    }
}

/// A column of one side.
struct EventColumn<'b> {
    index: usize,
    /// `"name":`
    head: Vec<u8>,
    values: &'b dyn Array,
    writer: Box<dyn CellWriter + 'b>,
    /// The value of a zero date.
    null: &'static [u8],
}

fn columns<'b>(nested: &Nested<'b>, side: &Side<'b>) -> Result<Vec<EventColumn<'b>>> {
    let columns = side.columns(nested.plan)?.into_iter().map(|column| {
        let mut head = Vec::new();
        json(column.name, &mut head);
        head.push(b':');
        let null = null(&column);
        let SideColumn { index, values, .. } = column;
        Ok(EventColumn { index, head, values, writer: writer(&column)?, null })
    });
    columns.collect()
}

/// The form of a NULL. In a column that is NOT NULL it is a zero date, for which the connector
/// writes 1970.
fn null(column: &SideColumn<'_>) -> &'static [u8] {
    match column.values.data_type() {
        _ if column.column.nullable => b"null",
        DataType::Date32 | DataType::Timestamp(_, None) => b"0",
        DataType::Timestamp(_, Some(_)) => b"\"1970-01-01T00:00:00Z\"",
        _ => b"null",
    }
}

fn write_side(side: &Side<'_>, columns: &[EventColumn<'_>], row: usize, out: &mut Vec<u8>) {
    if !side.is_there(row) {
        out.extend_from_slice(b"null");
        return;
    }
    out.push(b'{');
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&column.head);
        if column.values.is_valid(row) {
            column.writer.write(row, out);
        } else if side.holds(row, column.index) {
            out.extend_from_slice(column.null);
        } else {
            out.extend_from_slice(b"null");
        }
    }
    out.push(b'}');
}

fn writer<'b>(column: &SideColumn<'b>) -> Result<Box<dyn CellWriter + 'b>> {
    use ColumnType as T;
    use DataType as D;
    let values = column.values;
    let column_type = &column.column.column_type;
    Ok(match (values.data_type(), column_type) {
        (D::UInt64, T::Bit { bits }) => {
            let bytes = usize::from(bits.div_ceil(8));
            cells(values.as_primitive::<UInt64Type>(), move |array, row, out| {
                let encoded = array.value(row).to_le_bytes();
                write_base64(encoded.get(..bytes).unwrap_or(&encoded), out);
            })
        }
        // A value above the largest long becomes negative, as in the connector.
        (D::UInt64, T::LongLong) => {
            cells(values.as_primitive::<UInt64Type>(), |array, row, out| {
                integer(array.value(row).cast_signed(), out);
            })
        }
        (D::Boolean, _) => booleans(values.as_boolean()),
        (D::Decimal128(..), _) => {
            cells(values.as_primitive::<Decimal128Type>(), |array, row, out| {
                write_base64(unscaled(&array.value(row).to_be_bytes()), out);
            })
        }
        (D::Decimal256(..), _) => {
            cells(values.as_primitive::<Decimal256Type>(), |array, row, out| {
                write_base64(unscaled(&array.value(row).to_be_bytes()), out);
            })
        }
        (D::Date32, _) => numbers(values.as_primitive::<Date32Type>()),
        (D::Duration(_), _) => numbers(values.as_primitive::<DurationMicrosecondType>()),
        (D::Timestamp(_, Some(_)), _) => {
            let fsp = fsp(column_type);
            cells(values.as_primitive::<TimestampMicrosecondType>(), move |array, row, out| {
                write_instant(array.value(row), fsp, out);
            })
        }
        (D::Timestamp(_, None), _) => {
            let unit = if fsp(column_type) > 3 { 1 } else { 1000 };
            cells(values.as_primitive::<TimestampMicrosecondType>(), move |array, row, out| {
                integer(array.value(row).div_euclid(unit), out);
            })
        }
        (D::Utf8, _) => quoted(values.as_string()),
        (D::Binary, T::Geometry { .. }) => {
            let is_point = column.column.geometry_type == Some(GeometryType::Point);
            cells(values.as_binary::<i32>(), move |array, row, out| {
                write_geometry(array.value(row), is_point, out);
            })
        }
        (D::Binary, _) => encoded(values.as_binary()),
        (D::List(_), _) => cells(values.as_list::<i32>(), |array, row, out| {
            let floats = array.value(row);
            match floats.as_primitive_opt::<Float32Type>() {
                Some(floats) => json(&floats.values()[..], out),
                None => out.extend_from_slice(b"null"),
            }
        }),
        _ => return plain_numbers(values).ok_or_else(|| unfit(column.name)),
    })
}

/// The number of digits of the fraction of a second.
fn fsp(column_type: &ColumnType) -> u8 {
    use ColumnType as T;
    match column_type {
        T::DateTime2 { fsp } | T::Timestamp2 { fsp } => *fsp,
        T::DateTimeOld { fsp } | T::TimestampOld { fsp } => fsp.unwrap_or(0),
        _ => 0,
    }
}

/// Appends `2026-11-21T22:38:01.5Z`, with as many digits as the column has.
fn write_instant(micros: i64, fsp: u8, out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    DateTime::from_timestamp(Some(micros)).write_text(fsp, out);
    if let Some(space) = out.get_mut(start + "2026-11-21".len()) {
        *space = b'T';
    }
    out.extend_from_slice(b"Z\"");
}

/// The shortest two's complement, big-endian: Java's form of an unscaled decimal.
fn unscaled(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [first, second, ..] = rest {
        let is_sign = match *first {
            0 => *second < 0x80,
            0xff => *second >= 0x80,
            _ => false,
        };
        match (is_sign, rest.get(1..)) {
            (true, Some(shorter)) => rest = shorter,
            _ => break,
        }
    }
    rest
}

/// Appends `{"wkb":…,"srid":…}`; for a POINT also its coordinates. An SRID of 0 means no SRID.
fn write_geometry(bytes: &[u8], is_point: bool, out: &mut Vec<u8>) {
    let (srid, wkb) = geometry::split(bytes).unwrap_or((0, bytes));
    out.push(b'{');
    if is_point && let Some((x, y)) = point(wkb) {
        out.extend_from_slice(b"\"x\":");
        json(&x, out);
        out.extend_from_slice(b",\"y\":");
        json(&y, out);
        out.push(b',');
    }
    out.extend_from_slice(b"\"wkb\":\"");
    base64::write(wkb, out);
    out.extend_from_slice(b"\",\"srid\":");
    match srid {
        0 => out.extend_from_slice(b"null"),
        srid => integer(i64::from(srid), out),
    }
    out.push(b'}');
}

/// The coordinates in the WKB of a point, which servers store in little-endian.
fn point(wkb: &[u8]) -> Option<(f64, f64)> {
    let (head, rest) = wkb.split_first_chunk::<5>()?;
    let (x, rest) = rest.split_first_chunk::<8>()?;
    let (y, []) = rest.split_first_chunk::<8>()? else { return None };
    (*head == [1, 1, 0, 0, 0]).then(|| (f64::from_le_bytes(*x), f64::from_le_bytes(*y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_form_of_a_number() {
        for (value, bytes) in [
            (0_i128, &[0][..]),
            (127, &[0x7f]),
            (128, &[0, 0x80]),
            (-1, &[0xff]),
            (-128, &[0x80]),
            (-129, &[0xff, 0x7f]),
            (12_345, &[0x30, 0x39]),
        ] {
            assert_eq!(unscaled(&value.to_be_bytes()), bytes, "{value}");
        }
    }

    #[test]
    fn instants() {
        for (micros, fsp, text) in [
            (0, 0, "\"1970-01-01T00:00:00Z\""),
            (1_529_501_823_500_000, 1, "\"2018-06-20T13:37:03.5Z\""),
            (1_529_501_823_000_000, 6, "\"2018-06-20T13:37:03.000000Z\""),
        ] {
            let mut out = Vec::new();
            write_instant(micros, fsp, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn geometries() {
        let text = |srid: u32, wkb: &[u8], is_point| {
            let mut out = Vec::new();
            write_geometry(&[&srid.to_le_bytes(), wkb].concat(), is_point, &mut out);
            String::from_utf8(out).unwrap()
        };
        let mut wkb = vec![1, 1, 0, 0, 0];
        wkb.extend(1.5_f64.to_le_bytes());
        wkb.extend((-2.0_f64).to_le_bytes());
        let encoded = "\"wkb\":\"AQEAAAAAAAAAAAD4PwAAAAAAAADA\"";
        assert_eq!(
            text(4326, &wkb, true),
            format!("{{\"x\":1.5,\"y\":-2.0,{encoded},\"srid\":4326}}")
        );
        assert_eq!(text(0, &wkb, false), format!("{{{encoded},\"srid\":null}}"));
        assert_eq!(text(0, &[7], true), "{\"wkb\":\"Bw==\",\"srid\":null}");
    }
}
