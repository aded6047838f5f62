//! Documents as the server prints them: `{"a": [1, null], "b": "x"}`.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json.html#json-normalization>

use super::super::digits;
use super::budget::Budget;
use super::container::{Container, SMALL_ENTRY_BYTES};
use super::opaque::Opaque;
use super::scalar::{self, ScalarValue};
use super::shapes::{Shape, Shapes};
use super::{Kind, Value, Width, escape};
use crate::value::float;
use crate::wire::{Reader, Result};

/// Prints the documents of one column.
#[derive(Debug)]
pub struct TextEncoder {
    shapes: Shapes,
    /// The last document, if it is remembered.
    document: Vec<u8>,
    is_remembered: bool,
    /// The text of the last document.
    text: Vec<u8>,
}

impl Default for TextEncoder {
    fn default() -> Self {
        let (document, text) = (Vec::new(), Vec::new());
        Self { shapes: Shapes::new(), document, is_remembered: false, text }
    }
}

impl TextEncoder {
    /// Returns the text of a document. Strings are copied unchanged, even if they are not UTF-8.
    pub fn encode(&mut self, document: &[u8]) -> Result<&[u8]> {
        // Most updates change other columns, so the row after an update often contains the document of the row before it.
        if !self.is_remembered || self.document != document {
            self.is_remembered = false;
            self.text.clear();
            Text::write_with(document, &mut self.text, &mut self.shapes)?;
            if document.len() <= MAX_SPARE_BYTES {
                self.document.clear();
                self.document.extend_from_slice(document);
                self.is_remembered = true;
            }
        }
        Ok(&self.text)
    }

    /// Frees the memory of the text if it is large.
    pub fn shrink(&mut self) {
        self.is_remembered = false;
        self.text.clear();
        self.text.shrink_to(MAX_SPARE_BYTES);
    }
}

/// The memory of a larger text is freed at the end of a batch, and a larger document is not remembered.
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

    /// Writes the value of an entry of a small container, which is nested in `depth` containers.
    #[inline(always)] // as above
    fn small_value(
        &mut self,
        container: &Container<'a>,
        [kind, entry @ ..]: &'a [u8; SMALL_ENTRY_BYTES],
        depth: usize,
    ) -> Result<()> {
        match *kind {
            STRING => {
                let bytes = container.at_entry(*entry)?;
                let mut reader = Reader::new(bytes);
                let text = scalar::variable(&mut reader, "JSON string")?;
                self.budget.spend(bytes.len() - reader.left())?;
                escape::quote(text, self.out);
                Ok(())
            }
            I16 => {
                digits::push_signed(self.out, i64::from(i16::from_le_bytes(*entry)));
                Ok(())
            }
            DOUBLE => {
                let number = Reader::new(container.at_entry(*entry)?).array("JSON double")?;
                self.budget.spend(number.len())?;
                float::write_json(f64::from_le_bytes(number), self.out)
            }
            LITERAL if matches!(entry, [0..=2, _]) => {
                match entry {
                    [0, _] => self.out.extend_from_slice(b"null"),
                    [1, _] => self.out.extend_from_slice(b"true"),
                    _ => self.out.extend_from_slice(b"false"),
                }
                Ok(())
            }
            ARRAY => self.array(container.at_entry(*entry)?, Width::Small, depth),
            OBJECT => self.object(container.at_entry(*entry)?, Width::Small, depth),
            kind => {
                let value = container.value(kind, Reader::new(entry))?;
                self.other_value(value, depth)
            }
        }
    }

    /// [`Self::value`] for the values that are not frequent.
    #[inline(never)]
    fn other_value(&mut self, value: Value<'a>, depth: usize) -> Result<()> {
        self.value(value, depth)
    }

    #[inline(never)]
    fn object(&mut self, bytes: &'a [u8], width: Width, depth: usize) -> Result<()> {
        let mut object = Container::object(bytes, width, &mut self.budget, depth)?;
        if let Some(shape) = self.shapes.find(&object) {
            return self.object_of(&object, shape, depth);
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
    fn object_of(&mut self, object: &Container<'a>, shape: &'s Shape, depth: usize) -> Result<()> {
        self.budget.spend(shape.key_bytes())?;
        self.found += 1;
        // An object that has a shape is small, and has as many values as keys.
        let entries = object.small_entries().unwrap_or_default();
        for (key, entry) in shape.texts.iter().zip(entries) {
            key.write(self.out);
            self.small_value(object, entry, depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    #[inline(never)]
    fn array(&mut self, bytes: &'a [u8], width: Width, depth: usize) -> Result<()> {
        let mut array = Container::array(bytes, width, &mut self.budget, depth)?;
        self.out.push(b'[');
        let mut is_first = true;
        if let Some(entries) = array.small_entries() {
            for entry in entries {
                if !std::mem::take(&mut is_first) {
                    self.out.extend_from_slice(b", ");
                }
                self.small_value(&array, entry, depth + 1)?;
            }
        } else {
            while let Some(value) = array.next_value()? {
                if !std::mem::take(&mut is_first) {
                    self.out.extend_from_slice(b", ");
                }
                self.other_value(value, depth + 1)?;
            }
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
