//! Documents as the server prints them: `{"a": [1, null], "b": "x"}`.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json.html#json-normalization>

use super::super::digits;
use super::budget::Budget;
use super::container::Container;
use super::opaque::Opaque;
use super::scalar::ScalarValue;
use super::{Kind, Value, Width, escape};
use crate::value::float;
use crate::wire::Result;

/// The output, and the number of bytes of the document that are still unused.
pub(super) struct Text<'o> {
    out: &'o mut Vec<u8>,
    budget: Budget,
}

impl<'o> Text<'o> {
    /// Appends the text of `document` to `out`; strings are copied unchanged, even if they are not
    /// UTF-8.
    pub(super) fn write(document: &[u8], out: &'o mut Vec<u8>) -> Result<()> {
        let budget = Budget::new(document.len());
        Self { out, budget }.value(Value::of_document(document)?, 0)
    }

    /// Writes a value that is nested in `depth` containers.
    #[inline(always)] // in the loops over members, so that a call is needed only for containers
    fn value(&mut self, value: Value<'_>, depth: usize) -> Result<()> {
        match value.kind {
            Kind::Scalar(scalar) => {
                let scalar = value.scalar(scalar, &mut self.budget)?;
                self.scalar(scalar)
            }
            Kind::Object(width) => self.object(value.bytes, width, depth),
            Kind::Array(width) => self.array(value.bytes, width, depth),
        }
    }

    #[inline(never)]
    fn object(&mut self, bytes: &[u8], width: Width, depth: usize) -> Result<()> {
        let mut object = Container::object(bytes, width, &mut self.budget, depth)?;
        self.out.push(b'{');
        let mut is_first = true;
        while let Some(value) = object.next_value()? {
            if let Some(key) = object.next_key(&mut self.budget)? {
                // The lengths are constants: a copy of a slice is a call.
                match std::mem::take(&mut is_first) {
                    true => self.out.push(b'"'),
                    false => self.out.extend_from_slice(b", \""),
                }
                escape::write(key, self.out);
                self.out.extend_from_slice(b"\": ");
            }
            self.value(value, depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    #[inline(never)]
    fn array(&mut self, bytes: &[u8], width: Width, depth: usize) -> Result<()> {
        let mut array = Container::array(bytes, width, &mut self.budget, depth)?;
        self.out.push(b'[');
        let mut is_first = true;
        while let Some(value) = array.next_value()? {
            if !std::mem::take(&mut is_first) {
                self.out.extend_from_slice(b", ");
            }
            self.value(value, depth + 1)?;
        }
        self.out.push(b']');
        Ok(())
    }

    #[inline(always)]
    fn scalar(&mut self, value: ScalarValue<'_>) -> Result<()> {
        let out = &mut *self.out;
        match value {
            ScalarValue::Null => out.extend_from_slice(b"null"),
            ScalarValue::Bool(true) => out.extend_from_slice(b"true"),
            ScalarValue::Bool(false) => out.extend_from_slice(b"false"),
            ScalarValue::Signed(number) => digits::push_signed(out, number),
            ScalarValue::Unsigned(number) => digits::push(out, number),
            ScalarValue::Double(number) => float::write_json(number, out)?,
            ScalarValue::String(text) => escape::quote(text, out),
            ScalarValue::Opaque(field_type, data) => {
                Opaque::read(field_type, data)?.write_text(out)?
            }
        }
        Ok(())
    }
}
