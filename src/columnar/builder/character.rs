//! CHAR, VARCHAR, TEXT and their binary types: selects the cells for a column.

use super::ColumnBuilder;
use super::binary::Bytes;
use super::length::CellLength;
use super::text::{Text, TranscodedText};
use super::var_len::{VarLen, VarLenCell};
use crate::charset::{Collation, Transcoding};
use crate::columnar::type_options::{InvalidText, TypeOptions};
use crate::error::Error;
use crate::schema::Column;

/// The cells of a column of characters or bytes.
pub(super) enum Character {
    Bytes(Bytes),
    /// Text that is checked at the end of a rows event.
    Utf8(Text),
    Transcoded(TranscodedText),
}

impl Character {
    /// Text if the column has a collation of a character set, else bytes. `pad_to`: the length of BINARY(n).
    pub(super) fn of(
        column: &Column,
        length: CellLength,
        options: &TypeOptions,
        pad_to: u16,
    ) -> Result<Self, Error> {
        let Some(collation) = column.collation else { return Ok(Self::Bytes(Bytes::new(length))) };
        let charset = collation.charset();
        if charset.is_binary() {
            return Ok(Self::Bytes(Bytes::padded(length, usize::from(pad_to))));
        }
        if options.invalid_text == InvalidText::Binary {
            return Ok(Self::Bytes(Bytes::new(length)));
        }
        let replace = options.invalid_text == InvalidText::Replace;
        match charset.transcoding() {
            Some(Transcoding::Utf8) if !replace => Ok(Self::Utf8(Text::utf8(length, charset))),
            Some(Transcoding::Ascii) if !replace => Ok(Self::Utf8(Text::ascii(length))),
            Some(_) => Ok(Self::Transcoded(TranscodedText { length, charset, replace })),
            None => Err(unknown_collation(collation)),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        !matches!(self, Self::Bytes(_))
    }

    /// Returns the builder of a column with these cells.
    pub(super) fn builder(self) -> Box<dyn ColumnBuilder> {
        match self {
            Self::Bytes(cell) => VarLen::binary(cell),
            Self::Utf8(cell) => VarLen::text(cell),
            Self::Transcoded(cell) => VarLen::text(cell),
        }
    }

    /// Returns the cells, for another builder that contains them.
    pub(super) fn cell(self) -> Box<dyn VarLenCell> {
        match self {
            Self::Bytes(cell) => Box::new(cell),
            Self::Utf8(cell) => Box::new(cell),
            Self::Transcoded(cell) => Box::new(cell),
        }
    }

    /// Returns the cells; each cell is checked when it is read.
    pub(super) fn checked_cell(self) -> Box<dyn VarLenCell> {
        match self {
            Self::Utf8(Text { length, charset, .. }) => {
                Box::new(TranscodedText { length, charset, replace: false })
            }
            other => other.cell(),
        }
    }
}

/// The error for a text column whose collation id is not known.
fn unknown_collation(collation: Collation) -> Error {
    Error::unsupported(format!(
        "collation id {} is not known to this version, so the character set of the text is not known either; \
         ⟦invalid_text=binary⟧ returns text columns as bytes",
        collation.0
    ))
}
