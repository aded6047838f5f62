//! Rows as JSON text, in the forms from which Spark's `from_json` reads the same values.
//!
//! | value | text |
//! |---|---|
//! | numbers | with all digits; a FLOAT or DOUBLE with the fewest digits from which the same number is read |
//! | dates and times | `"2026-11-22"`, `"2026-11-22T05:06:07.000000"`, with a `Z` for a time in UTC |
//! | interval | `"INTERVAL '-34 22:59:59.000000' DAY TO SECOND"` |
//! | bytes | in base64 |

use super::AlteredTable;
use super::cells::DocumentColumn;
use crate::export::cell::{json, write_base64};
use crate::history::NewType;
use crate::value::json::quote;
use crate::value::{Cell, Date, DateTime, digits};

/// Appends an object of the columns that a row contains.
pub(super) fn write(columns: &[DocumentColumn<'_>], held: &[u8], row: usize, out: &mut Vec<u8>) {
    let mut opening = b'{';
    for column in columns {
        if let Some(cell) = column.cell(held, row) {
            out.push(opening);
            opening = b',';
            out.extend_from_slice(&column.head);
            write_cell(cell, out);
        }
    }
    if opening == b'{' {
        out.push(opening);
    }
    out.push(b'}');
}

/// Appends the document of a statement that creates or alters a table.
pub(super) fn write_altered(altered: &AlteredTable<'_>, out: &mut Vec<u8>) {
    let AlteredTable { is_created, changes_rows, .. } = altered;
    let flags = format!("{{\"is_created\":{is_created},\"changes_rows\":{changes_rows}");
    out.extend_from_slice(flags.as_bytes());
    out.extend_from_slice(b",\"converted_columns\":");
    write_names(altered.converted_columns.iter().map(|(name, _)| name), out);
    out.extend_from_slice(b",\"converted_types\":{");
    let types = altered.converted_columns.iter();
    let known = types.filter_map(|(name, new)| new.as_ref().map(|new| (name, new)));
    for (place, (name, new_type)) in known.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        quote(name.as_bytes(), out);
        out.push(b':');
        write_type(new_type, out);
    }
    out.extend_from_slice(b"},\"dropped_columns\":");
    write_names(altered.dropped_columns.iter(), out);
    out.extend_from_slice(b",\"renamed_columns\":{");
    for (place, (from, to)) in altered.renamed_columns.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        quote(from.as_bytes(), out);
        out.push(b':');
        quote(to.as_bytes(), out);
    }
    out.extend_from_slice(b"}}");
}

/// Appends the type that a statement gives to a column. `charset` is left out if it is not known.
fn write_type(new_type: &NewType, out: &mut Vec<u8>) {
    let NewType { sql, charset, nullable, auto_increment, members } = new_type;
    out.extend_from_slice(b"{\"type\":");
    quote(sql.as_bytes(), out);
    if let Some(charset) = charset {
        out.extend_from_slice(b",\"charset\":");
        match charset {
            Some(charset) => quote(charset.as_bytes(), out),
            None => out.extend_from_slice(b"null"),
        }
    }
    for (key, flag) in [("nullable", nullable), ("auto_increment", auto_increment)] {
        out.extend_from_slice(format!(",\"{key}\":{flag}").as_bytes());
    }
    out.extend_from_slice(b",\"members\":");
    write_names(members.iter(), out);
    out.push(b'}');
}

fn write_names<'n>(names: impl Iterator<Item = &'n String>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (place, name) in names.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        quote(name.as_bytes(), out);
    }
    out.push(b']');
}

fn write_cell(cell: Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        // Documents occur in variants only.
        Cell::Null | Cell::Document(_) => out.extend_from_slice(b"null"),
        Cell::Bool(true) => out.extend_from_slice(b"true"),
        Cell::Bool(false) => out.extend_from_slice(b"false"),
        Cell::Integer(number) => digits::push_signed(out, number),
        Cell::Decimal(unscaled, scale) => write_decimal(unscaled, scale, out),
        Cell::Single(number) => write_single(number, out),
        Cell::Double(number) if number.is_finite() => json(&number, out),
        Cell::Double(number) => write_not_finite(number, out),
        Cell::Date(days) => {
            out.push(b'"');
            Date::from_days_since_epoch(days).write_text(out);
            out.push(b'"');
        }
        Cell::Timestamp(micros) => write_moment(micros, b"Z\"", out),
        Cell::DateTime(micros) => write_moment(micros, b"\"", out),
        Cell::Interval(micros) => write_interval(micros, out),
        Cell::Text(text) => quote(text.as_bytes(), out),
        Cell::Binary(bytes) => write_base64(bytes, out),
        Cell::Singles(numbers) => {
            out.push(b'[');
            for (place, number) in numbers.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_single(*number, out);
            }
            out.push(b']');
        }
    }
}

fn write_single(number: f32, out: &mut Vec<u8>) {
    match number.is_finite() {
        true => json(&number, out),
        false => write_not_finite(number.into(), out),
    }
}

/// Appends infinities and NaN, which are not JSON numbers, as Spark's own writer does.
fn write_not_finite(number: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(match number {
        f64::INFINITY => b"\"Infinity\"",
        f64::NEG_INFINITY => b"\"-Infinity\"",
        _ => b"\"NaN\"",
    });
}

fn write_decimal(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let magnitude = unscaled.unsigned_abs();
    let Some(one) = 10_u128.checked_pow(scale.into()).filter(|_| scale > 0) else {
        return push_wide(magnitude, 1, out);
    };
    push_wide(magnitude / one, 1, out);
    out.push(b'.');
    push_wide(magnitude % one, scale.into(), out);
}

/// Appends the digits of a number with at most 39 digits, with leading zeros up to `width`.
fn push_wide(number: u128, width: usize, out: &mut Vec<u8>) {
    const HALF: u128 = 10_u128.pow(HALF_DIGITS as u32);
    const HALF_DIGITS: usize = 19;
    let (high, low) = (number / HALF, (number % HALF) as u64);
    if high == 0 && width <= HALF_DIGITS {
        return digits::push_padded(out, low, width);
    }
    // At most 10^38, of which 20 digits are left.
    let high = u64::try_from(high).unwrap_or(u64::MAX);
    digits::push_padded(out, high, width.saturating_sub(HALF_DIGITS));
    digits::push_padded(out, low, HALF_DIGITS);
}

fn write_moment(micros: i64, end: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    DateTime::from_timestamp(Some(micros)).write_text(6, out);
    if let Some(space) = out.get_mut(start + "2026-11-21".len()) {
        *space = b'T';
    }
    out.extend_from_slice(end);
}

fn write_interval(micros: i64, out: &mut Vec<u8>) {
    const DAY: u64 = 86_400_000_000;
    out.extend_from_slice(b"\"INTERVAL '");
    if micros < 0 {
        out.push(b'-');
    }
    let micros = micros.unsigned_abs();
    let (days, seconds) = (micros / DAY, micros % DAY / 1_000_000);
    digits::push(out, days);
    for (part, mark) in [(seconds / 3600, b' '), (seconds / 60 % 60, b':'), (seconds % 60, b':')] {
        out.push(mark);
        digits::push_padded(out, part, 2);
    }
    out.push(b'.');
    digits::push_padded(out, micros % 1_000_000, 6);
    out.extend_from_slice(b"' DAY TO SECOND\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cell: Cell<'_>) -> String {
        let mut out = Vec::new();
        write_cell(cell, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values() {
        let nines = 10_i128.pow(38) - 1;
        let all = "9".repeat(38);
        for (cell, expected) in [
            (Cell::Null, "null"),
            (Cell::Bool(false), "false"),
            (Cell::Integer(i64::MIN), "-9223372036854775808"),
            (Cell::Decimal(nines, 0), all.as_str()),
            (Cell::Decimal(-nines, 38), &format!("-0.{all}")),
            (Cell::Decimal(nines, 30), &format!("{}.{}", &all[..8], &all[..30])),
            (
                Cell::Decimal(10_i128.pow(37), 19),
                &format!("1{}.{}", "0".repeat(18), "0".repeat(19)),
            ),
            (Cell::Decimal(-5, 3), "-0.005"),
            (Cell::Decimal(0, 2), "0.00"),
            (Cell::Single(0.1), "0.1"),
            (Cell::Single(-0.0), "-0.0"),
            (Cell::Single(f32::MAX), "3.4028235e+38"),
            (Cell::Double(5e-324), "5e-324"),
            (Cell::Double(f64::NEG_INFINITY), "\"-Infinity\""),
            (Cell::Singles(&[1.5, f32::NAN, -2.0]), "[1.5,\"NaN\",-2.0]"),
            (Cell::Singles(&[]), "[]"),
            (Cell::Date(-719_528), "\"0000-01-01\""),
            (Cell::Date(2_932_896), "\"9999-12-31\""),
            (Cell::Timestamp(1), "\"1970-01-01T00:00:00.000001Z\""),
            (Cell::DateTime(-62_135_596_800_000_000), "\"0001-01-01T00:00:00.000000\""),
            (
                Cell::Interval(-3_020_399_000_001),
                "\"INTERVAL '-34 22:59:59.000001' DAY TO SECOND\"",
            ),
            (Cell::Interval(1), "\"INTERVAL '0 00:00:00.000001' DAY TO SECOND\""),
            (Cell::Text("a\"\0é"), "\"a\\\"\\u0000é\""),
            (Cell::Binary(b"Us"), "\"VXM=\""),
        ] {
            assert_eq!(text(cell), expected, "{cell:?}");
        }
    }
}
