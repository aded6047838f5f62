//! Value options: the cells of an after image that contain a change instead of a value.
//!
//! ```text
//! value_options lenenc | with PARTIAL_JSON: one bit per JSON column of the table, even if it is
//! not in the image | the image
//! ```
//!
//! They are before each after image of a Partial_update_rows event, and nowhere else.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__event.html>

use crate::error::DecodeError;
use crate::wire::{Bitmap, Reader, Result};

/// The value of a document may be its changes.
const PARTIAL_JSON: u64 = 1;

/// Returns the JSON columns, counted among the table's `json_columns`, that are partial in the
/// image that follows.
pub fn partial_columns<'a>(image: &mut Reader<'a>, json_columns: usize) -> Result<Bitmap<'a>> {
    match image.lenenc_int("value options")? {
        0 => Ok(Bitmap(&[])),
        PARTIAL_JSON => image.take(Bitmap::byte_count(json_columns), "partial bits").map(Bitmap),
        value => Err(DecodeError::Unsupported { what: "value options of a row", value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        let mut image = Reader::new(&[1, 0b10, 0b1, 7]);
        let partial = partial_columns(&mut image, 9).unwrap();
        assert_eq!((partial.get(0), partial.get(1), partial.get(8)), (false, true, true));
        assert_eq!(image.rest(), [7]);

        let mut image = Reader::new(&[0, 7]);
        assert!(!partial_columns(&mut image, 9).unwrap().get(1));
        assert_eq!(image.rest(), [7]);

        for bytes in [&[][..], &[1], &[1, 0], &[2, 0, 0], &[3, 0, 0], &[0xfb, 0, 0], &[0xfc, 1]] {
            assert!(partial_columns(&mut Reader::new(bytes), 9).is_err());
        }
    }
}
