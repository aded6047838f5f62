//! Documents as the server prints them: `{"a": [1, null], "b": "x"}`.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json.html#json-normalization>

use super::super::digits;
use super::budget::Budget;
use super::container::Container;
use super::opaque::Opaque;
use super::scalar::{self, ScalarValue};
use super::shapes::{Shape, Shapes};
use super::{Kind, Scalar, Value, Width, escape};
use crate::value::float;
use crate::wire::{Reader, Result};

/// Prints the documents of one column.
#[derive(Debug)]
pub struct TextEncoder {
    shapes: Shapes,
    text: Vec<u8>,
}

impl Default for TextEncoder {
    fn default() -> Self {
        Self { shapes: Shapes::new(), text: Vec::new() }
    }
}

impl TextEncoder {
    /// Returns the text of a document. Strings are copied unchanged, even if they are not UTF-8.
    pub fn encode(&mut self, document: &[u8]) -> Result<&[u8]> {
        self.text.clear();
        Text::write_with(document, &mut self.text, &mut self.shapes)?;
        Ok(&self.text)
    }

    /// Frees the memory of the text if it is large.
    pub fn shrink(&mut self) {
        self.text.clear();
        self.text.shrink_to(MAX_SPARE_BYTES);
    }
}

/// The memory of a larger text is freed at the end of a batch.
const MAX_SPARE_BYTES: usize = 1 << 20;

/// The output, and the number of bytes of the document that are still unused.
pub(super) struct Text<'a, 'o, 's> {
    out: &'o mut Vec<u8>,
    budget: Budget,
    shapes: &'s Shapes,
    /// The number of objects whose shape was known.
    found: u32,
    /// The last object whose shape was not known.
    missed: Option<Container<'a>>,
}

impl<'a, 'o, 's> Text<'a, 'o, 's> {
    /// Appends the text of `document` to `out`; strings are copied unchanged, even if they are not
    /// UTF-8.
    pub(super) fn write(document: &'a [u8], out: &'o mut Vec<u8>) -> Result<()> {
        Self::write_with(document, out, &mut Shapes::none())
    }

    fn write_with(document: &'a [u8], out: &mut Vec<u8>, shapes: &mut Shapes) -> Result<()> {
        let budget = Budget::new(document.len());
        let mut text = Text { out, budget, shapes, found: 0, missed: None };
        text.value(Value::of_document(document)?, 0)?;
        let Text { found, missed, .. } = text;
        shapes.end_document(found, missed);
        Ok(())
    }

    /// Writes a value that is nested in `depth` containers.
    #[inline(always)] // in the loops over members, so that a call is needed only for containers
    fn value(&mut self, value: Value<'a>, depth: usize) -> Result<()> {
        match value.kind {
            Kind::Scalar(scalar) => {
                let scalar = value.scalar(scalar, &mut self.budget)?;
                self.scalar(scalar)
            }
            Kind::Object(width) => self.object(value.bytes, width, depth),
            Kind::Array(width) => self.array(value.bytes, width, depth),
        }
    }

    /// Writes the next value of a container, which is nested in `depth` containers.
    #[inline(always)] // as above
    fn member(&mut self, container: &mut Container<'a>, depth: usize) -> Result<()> {
        // The most frequent values are in their entry.
        match container.small_entry() {
            Some((STRING, entry)) => {
                let bytes = container.skip_to(entry)?;
                let mut reader = Reader::new(bytes);
                let text = scalar::variable(&mut reader, "JSON string")?;
                self.budget.spend(bytes.len() - reader.left())?;
                escape::quote(text, self.out);
            }
            Some((I16, entry)) => {
                container.skip_small();
                digits::push_signed(self.out, i64::from(i16::from_le_bytes(entry)));
            }
            Some((DOUBLE, entry)) => {
                let mut reader = Reader::new(container.skip_to(entry)?);
                let number = scalar::read(Scalar::Double, &mut reader)?;
                self.budget.spend(size_of::<f64>())?;
                self.scalar(number)?;
            }
            Some((LITERAL, [code @ 0..=2, _])) => {
                container.skip_small();
                self.scalar(match code {
                    0 => ScalarValue::Null,
                    code => ScalarValue::Bool(code == 1),
                })?;
            }
            Some((ARRAY, entry)) => {
                let bytes = container.skip_to(entry)?;
                self.array(bytes, Width::Small, depth)?;
            }
            Some((OBJECT, entry)) => {
                let bytes = container.skip_to(entry)?;
                self.object(bytes, Width::Small, depth)?;
            }
            _ => {
                if let Some(value) = container.next_value()? {
                    self.value(value, depth)?;
                }
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn object(&mut self, bytes: &'a [u8], width: Width, depth: usize) -> Result<()> {
        let mut object = Container::object(bytes, width, &mut self.budget, depth)?;
        if let Some(shape) = self.shapes.find(&object) {
            return self.object_of(object, shape, depth);
        }
        self.missed = Some(object);
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

    /// Writes an object whose keys are known.
    #[inline(always)]
    fn object_of(
        &mut self,
        mut object: Container<'a>,
        shape: &'s Shape,
        depth: usize,
    ) -> Result<()> {
        self.budget.spend(shape.key_bytes())?;
        self.found += 1;
        for key in &shape.texts {
            key.write(self.out);
            self.member(&mut object, depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    #[inline(never)]
    fn array(&mut self, bytes: &'a [u8], width: Width, depth: usize) -> Result<()> {
        let mut array = Container::array(bytes, width, &mut self.budget, depth)?;
        self.out.push(b'[');
        let mut is_first = true;
        while !array.value_entries.is_empty() {
            if !std::mem::take(&mut is_first) {
                self.out.extend_from_slice(b", ");
            }
            self.member(&mut array, depth + 1)?;
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

/// Type codes: see [`Kind::from_code`].
const OBJECT: u8 = 0x00;
const ARRAY: u8 = 0x02;
const LITERAL: u8 = 0x04;
const I16: u8 = 0x05;
const DOUBLE: u8 = 0x0b;
const STRING: u8 = 0x0c;
