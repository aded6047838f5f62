//! Write_rows, Update_rows, Delete_rows and Partial_update_rows: the row images of one table.
//!
//! ```text
//! table_id u48 (u32 on 5.1 betas) | flags u16 | v2: extra row info, u16 length that counts itself
//! width lenenc | columns_before | update: columns_after | rows ...
//! ```
//! A row image contains the null bits of the columns that are present, then the values that are not
//! NULL. An update has two images per row. In a Partial_update_rows event the second of them begins
//! with its value options (`value_options.rs`).
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__event.html>

use super::{Compressed, EventType, RowsKind};
use crate::error::DecodeError;
use crate::wire::{Bitmap, Inflater, Reader, Result};

/// The dummy table id of the event that ends a statement without rows.
pub const DUMMY_TABLE_ID: u64 = 0x00ff_ffff;

/// The last rows event of its statement.
pub const STMT_END: u16 = 0x0001;

/// A rows event, borrowed from its bytes.
#[derive(Debug, Clone, Copy)]
pub struct RowsEvent<'a> {
    /// The id of the Table_map event that describes the columns.
    pub table_id: u64,
    /// [`STMT_END`] and others.
    pub flags: u16,
    /// The operation.
    pub kind: RowsKind,
    /// The number of columns of the table.
    pub width: usize,
    /// The columns that the images contain: the before image of an update or delete, the only image
    /// of a write.
    pub columns: Bitmap<'a>,
    /// The columns that the after image of an update contains; equal to `columns` for the others.
    pub columns_after: Bitmap<'a>,
    /// True if each after image begins with value options.
    pub has_value_options: bool,
    /// The row images; compressed, if the event's type means that, until [`RowsEvent::inflate`].
    pub rows: &'a [u8],
}

/// Returns the table id and flags of a rows event, without reading more.
pub fn table_id_and_flags(body: &[u8], id_width: usize) -> Result<(u64, u16)> {
    let mut reader = Reader::new(body);
    Ok((reader.uint_le(id_width, "table id")?, reader.u16("rows event flags")?))
}

impl<'a> RowsEvent<'a> {
    /// Decodes the header and bitmaps of a rows event's body; the images are not decoded.
    pub fn decode(body: &'a [u8], event_type: EventType, id_width: usize) -> Result<Self> {
        let kind = match (event_type.0, event_type.rows_kind()) {
            (23..=25 | 30..=32 | 39 | 166..=171, Some(kind)) => kind,
            (code, _) => {
                let what = "a rows event of this type";
                return Err(DecodeError::Unsupported { what, value: u64::from(code) });
            }
        };
        let mut reader = Reader::new(body);
        let table_id = reader.uint_le(id_width, "table id")?;
        let flags = reader.u16("rows event flags")?;
        if event_type.is_rows_v2() {
            let len = usize::from(reader.u16("extra row info length")?);
            let len = len
                .checked_sub(2)
                .ok_or(DecodeError::Invalid { what: "extra row info length", value: len as u64 })?;
            check_extra_row_info(reader.sub(len, "extra row info")?, kind)?;
        }
        let width = reader.lenenc_len("column count")?;
        let columns = Bitmap(reader.take(Bitmap::byte_count(width), "columns-present bitmap")?);
        let columns_after = match kind {
            RowsKind::Update => {
                Bitmap(reader.take(Bitmap::byte_count(width), "columns-present bitmap")?)
            }
            _ => columns,
        };
        Ok(Self {
            table_id,
            flags,
            kind,
            width,
            columns,
            columns_after,
            has_value_options: event_type == EventType::PARTIAL_UPDATE_ROWS,
            rows: reader.rest(),
        })
    }

    /// Returns the event with plain rows: inflates them if the event's type means that they are
    /// compressed.
    pub fn inflate<'i>(
        self,
        event_type: EventType,
        inflater: &'i mut Inflater,
    ) -> Result<RowsEvent<'i>>
    where
        'a: 'i,
    {
        if !event_type.is_mariadb_compressed() {
            return Ok(self);
        }
        let rows = Compressed::decode(self.rows)?.inflate(inflater, "the compressed rows")?;
        Ok(RowsEvent { rows, ..self })
    }
}

/// Skips the chunks of the extra row info, and checks their lengths.
fn check_extra_row_info(mut info: Reader<'_>, kind: RowsKind) -> Result<()> {
    while !info.is_empty() {
        match info.u8("extra row info type")? {
            0 => {
                let len = usize::from(info.u8("NDB info length")?);
                let len = len
                    .checked_sub(1)
                    .ok_or(DecodeError::Invalid { what: "NDB info length", value: len as u64 })?;
                info.take(len, "NDB info")?;
            }
            1 => {
                let ids = if kind == RowsKind::Update { 4 } else { 2 };
                info.take(ids, "partition id")?;
            }
            _ => {
                info.rest();
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_rows_of_seed_001() {
        let body = [
            0x8c, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0xff, 4, 1, 0, 0, 0, 5, 0x61, 0x70, 0x70, 0x6c,
            0x65,
        ];
        let event = RowsEvent::decode(&body, EventType(30), 6).unwrap();
        assert_eq!((event.table_id, event.flags, event.width), (140, STMT_END, 3));
        assert_eq!(event.rows, &body[12..]);
        for end in 0..12 {
            assert!(RowsEvent::decode(&body[..end], EventType(30), 6).is_err(), "{end}");
        }
    }

    #[test]
    fn partition_info_is_passed_over() {
        let body = [1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 1, 3, 0, 4, 0, 1, 1, 1];
        assert!(RowsEvent::decode(&body, EventType(31), 6).is_ok());
        assert!(
            RowsEvent::decode(&[1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 3], EventType(30), 6).is_err()
        );
    }
}
