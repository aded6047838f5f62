//! Documents as the server prints them: `{"a": [1, null], "b": "x"}`.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json.html#json-normalization>

use super::super::digits;
use super::budget::Budget;
use super::container::Container;
use super::opaque::Opaque;
use super::scalar::ScalarValue;
use super::{Kind, Value, escape};
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
    fn value(&mut self, value: Value<'_>, depth: usize) -> Result<()> {
        let bytes = value.bytes;
        match value.kind {
            Kind::Object(width) => {
                let object = Container::object(bytes, width, &mut self.budget, depth)?;
                self.object(object, depth)
            }
            Kind::Array(width) => {
                let array = Container::array(bytes, width, &mut self.budget, depth)?;
                self.array(array, depth)
            }
            Kind::Scalar(scalar) => {
                let scalar = value.scalar(scalar, &mut self.budget)?;
                self.scalar(scalar)
            }
        }
    }

    fn object(&mut self, mut object: Container<'_>, depth: usize) -> Result<()> {
        self.out.push(b'{');
        let mut first = true;
        while let Some(value) = object.next_value()? {
            self.separate(&mut first);
            if let Some(key) = object.next_key(&mut self.budget)? {
                escape::quote(key, self.out);
                self.out.extend_from_slice(b": ");
            }
            self.value(value, depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn array(&mut self, mut array: Container<'_>, depth: usize) -> Result<()> {
        self.out.push(b'[');
        let mut first = true;
        while let Some(value) = array.next_value()? {
            self.separate(&mut first);
            self.value(value, depth + 1)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn separate(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.extend_from_slice(b", ");
        }
    }

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
