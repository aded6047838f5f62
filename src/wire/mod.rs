//! Reads bytes in the formats of MySQL: a checked cursor, length-encoded numbers, bitmaps, deflate
//! streams.
//!
//! Input: a slice. Output: numbers and sub-slices of it. No function reads past the end, and only
//! [`Inflater`] allocates; it keeps its buffer. Called by `binlog`, `value` and `protocol`.

mod bitmap;
mod hex;
mod inflate;
mod reader;

pub use bitmap::{Bitmap, MsbBitmap};
pub(crate) use hex::{HEX_DIGITS, from_hex, to_hex, write_hex};
pub use inflate::{DeflateForm, Inflater};
pub use reader::Reader;

/// The result of a codec.
pub type Result<T, E = crate::error::DecodeError> = std::result::Result<T, E>;
