//! Documents as SQL that creates them again: as text if the text contains everything, or else as
//! calls of JSON_OBJECT and JSON_ARRAY with values of SQL types.
//!
//! ```text
//! {"a": 1.50}, a decimal      JSON_OBJECT('a', CAST(1.50 AS DECIMAL(3,2)))
//! ```

use super::super::digits;
use super::budget::Budget;
use super::container::Container;
use super::opaque::Opaque;
use super::scalar::ScalarValue;
use super::{Kind, Value};
use crate::error::DecodeError;
use crate::wire::{Result, write_hex};

/// Appends text in UTF-8 as a literal.
pub(crate) type Quote = fn(&[u8], &mut Vec<u8>);

/// True if the server creates the same document from the text of it: it contains only values that
/// JSON text has, and numbers of the types that the server reads from text.
pub(crate) fn is_same_from_text(document: &[u8]) -> Result<bool> {
    let mut budget = Budget::new(document.len());
    is_same(Value::of_document(document)?, &mut budget, 0)
}

fn is_same(value: Value<'_>, budget: &mut Budget, depth: usize) -> Result<bool> {
    let mut members = match value.kind {
        Kind::Scalar(scalar) => return Ok(is_same_scalar(value.scalar(scalar, budget)?)),
        Kind::Object(width) => Container::object(value.bytes, width, budget, depth)?,
        Kind::Array(width) => Container::array(value.bytes, width, budget, depth)?,
    };
    while let Some(member) = members.next_value()? {
        members.next_key(budget)?;
        if !is_same(member, budget, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The server reads integers up to 2³² - 1 as signed, larger ones as unsigned. MySQL 5.7 reads only short doubles exactly.
fn is_same_scalar(value: ScalarValue<'_>) -> bool {
    match value {
        ScalarValue::Null | ScalarValue::Bool(_) | ScalarValue::String(_) => true,
        ScalarValue::Signed(number) => number <= i64::from(u32::MAX),
        ScalarValue::Unsigned(number) => number > u64::from(u32::MAX),
        ScalarValue::Double(number) => {
            let mut buffer = zmij::Buffer::new();
            let text = buffer.format_finite(number);
            !text.contains('e') && text.len() <= SHORT
        }
        ScalarValue::Opaque(..) => false,
    }
}

/// Appends an expression whose value is the document.
///
/// # Errors
/// No expression has this value.
pub(crate) fn write_expression(document: &[u8], quote: Quote, out: &mut Vec<u8>) -> Result<()> {
    let value = Value::of_document(document)?;
    let is_scalar = matches!(value.kind, Kind::Scalar(_));
    if is_scalar {
        out.extend_from_slice(b"JSON_EXTRACT(JSON_ARRAY(");
    }
    let budget = Budget::new(document.len());
    Expression { quote, out, budget }.value(value, 0)?;
    if is_scalar {
        out.extend_from_slice(b"), '$[0]')");
    }
    Ok(())
}

struct Expression<'o> {
    quote: Quote,
    out: &'o mut Vec<u8>,
    budget: Budget,
}

impl Expression<'_> {
    fn value(&mut self, value: Value<'_>, depth: usize) -> Result<()> {
        let (name, mut members): (&[u8], _) = match value.kind {
            Kind::Scalar(scalar) => {
                let scalar = value.scalar(scalar, &mut self.budget)?;
                return self.scalar(scalar);
            }
            Kind::Object(width) => {
                (b"JSON_OBJECT(", Container::object(value.bytes, width, &mut self.budget, depth)?)
            }
            Kind::Array(width) => {
                (b"JSON_ARRAY(", Container::array(value.bytes, width, &mut self.budget, depth)?)
            }
        };
        self.out.extend_from_slice(name);
        let mut is_first = true;
        while let Some(member) = members.next_value()? {
            if !std::mem::take(&mut is_first) {
                self.out.extend_from_slice(b", ");
            }
            if let Some(key) = members.next_key(&mut self.budget)? {
                self.text(key)?;
                self.out.extend_from_slice(b", ");
            }
            self.value(member, depth + 1)?;
        }
        self.out.push(b')');
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<()> {
        simdutf8::basic::from_utf8(text).map_err(|_| DecodeError::Text {
            what: "string in a JSON document",
            charset: "utf8mb4",
        })?;
        (self.quote)(text, self.out);
        Ok(())
    }

    fn scalar(&mut self, value: ScalarValue<'_>) -> Result<()> {
        match value {
            ScalarValue::Null => self.out.extend_from_slice(b"NULL"),
            ScalarValue::Bool(true) => self.out.extend_from_slice(b"TRUE"),
            ScalarValue::Bool(false) => self.out.extend_from_slice(b"FALSE"),
            ScalarValue::Signed(number) => {
                self.cast("SIGNED", |out| digits::push_signed(out, number));
            }
            ScalarValue::Unsigned(number) => {
                self.cast("UNSIGNED", |out| digits::push(out, number));
            }
            ScalarValue::Double(number) => {
                let mut buffer = zmij::Buffer::new();
                let text = buffer.format_finite(number);
                self.out.extend_from_slice(text.as_bytes());
                if !text.contains('e') {
                    self.out.extend_from_slice(b"e0");
                }
            }
            ScalarValue::String(text) => self.text(text)?,
            ScalarValue::Opaque(field_type, data) => self.opaque(field_type, data)?,
        }
        Ok(())
    }

    fn opaque(&mut self, field_type: u8, data: &[u8]) -> Result<()> {
        let value = Opaque::read(field_type, data)?;
        let type_name = match value {
            Opaque::Decimal(decimal) => {
                if decimal.scale > MAX_SCALE {
                    return Err(no_expression("JSON decimal, its digits", decimal.scale));
                }
                // The largest DECIMAL(65,30) has the precision 66.
                format!("DECIMAL({},{})", decimal.precision.min(MAX_PRECISION), decimal.scale)
            }
            Opaque::Date(_) => "DATE".to_owned(),
            Opaque::DateTime(_) if field_type != TIMESTAMP => "DATETIME(6)".to_owned(),
            Opaque::Time(_) => "TIME(6)".to_owned(),
            Opaque::Bytes(VARCHAR, bytes) => {
                self.out.extend_from_slice(b"_binary x'");
                write_hex(bytes, self.out);
                self.out.push(b'\'');
                return Ok(());
            }
            Opaque::DateTime(_) | Opaque::Bytes(..) => {
                return Err(no_expression("JSON value, its field type", field_type));
            }
        };
        let (mut written, mut digits) = (Ok(()), 0);
        let is_number = matches!(value, Opaque::Decimal(_));
        self.cast(&type_name, |out| {
            out.extend_from_slice(if is_number { b"" } else { b"'" });
            let start = out.len();
            written = value.write_bare(out);
            digits = out.iter().skip(start).filter(|byte| byte.is_ascii_digit()).count();
            out.extend_from_slice(if is_number { b"" } else { b"'" });
        });
        if is_number && digits > usize::from(MAX_PRECISION) {
            return Err(no_expression("JSON decimal, its digits", MAX_PRECISION));
        }
        written
    }

    fn cast(&mut self, type_name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(b"CAST(");
        write(self.out);
        self.out.extend_from_slice(b" AS ");
        self.out.extend_from_slice(type_name.as_bytes());
        self.out.push(b')');
    }
}

#[cold]
fn no_expression(what: &'static str, value: u8) -> DecodeError {
    DecodeError::Unsupported { what, value: u64::from(value) }
}

/// The longest text of a double that has at most 15 digits.
const SHORT: usize = 16;

const TIMESTAMP: u8 = 7;
const VARCHAR: u8 = 15;
const MAX_PRECISION: u8 = 65;
const MAX_SCALE: u8 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(text: &[u8], out: &mut Vec<u8>) {
        out.push(b'\'');
        out.extend_from_slice(text);
        out.push(b'\'');
    }

    fn expression(document: &[u8]) -> Result<String> {
        let mut out = Vec::new();
        write_expression(document, quote, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// A document that is one value of a field type.
    fn opaque(field_type: u8, data: &[u8]) -> Vec<u8> {
        [&[0x0f, field_type, data.len() as u8], data].concat()
    }

    #[test]
    fn values_that_text_does_not_have() {
        let decimal = opaque(246, &[6, 3, 0x80, 0x7b, 0x01, 0xc8]);
        assert!(!is_same_from_text(&decimal).unwrap());
        let written = expression(&decimal).unwrap();
        assert_eq!(written, "JSON_EXTRACT(JSON_ARRAY(CAST(123.456 AS DECIMAL(6,3))), '$[0]')");
        let time = opaque(12, &0x198b_e4b7_ad00_0000_i64.to_le_bytes());
        assert!(
            expression(&time)
                .unwrap()
                .contains("CAST('2012-03-18 11:30:45.000000' AS DATETIME(6))")
        );
        assert!(expression(&opaque(15, b"U")).unwrap().contains("_binary x'55'"));
        for other in [7, 16, 252, 253] {
            let value = if other == 7 { &time[3..] } else { b"U" };
            assert!(expression(&opaque(other, value)).is_err());
        }
    }

    #[test]
    fn numbers_whose_type_the_text_does_not_show() {
        let object = [0, 1, 0, 12, 0, 11, 0, 1, 0, 6, 5, 0, b'a'];
        assert!(!is_same_from_text(&object).unwrap());
        assert_eq!(expression(&object).unwrap(), "JSON_OBJECT('a', CAST(5 AS UNSIGNED))");
        let double = |value: f64| [&[0x0b], &value.to_le_bytes()[..]].concat();
        assert!(is_same_from_text(&double(71.875)).unwrap());
        assert!(is_same_from_text(&double(-0.0)).unwrap());
        for long in [0.1 + 0.2, 1e300, 5e-324] {
            assert!(!is_same_from_text(&double(long)).unwrap());
        }
        assert!(is_same_from_text(&[0x05, 5, 0]).unwrap());
        assert!(is_same_from_text(&[]).unwrap());
    }
}
