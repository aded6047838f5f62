//! Bytes as MySQL writes them: a checked cursor, length-encoded numbers, bitmaps, deflate streams.
//!
//! In: a slice. Out: numbers and sub-slices of it. Nothing here can read past the end, and nothing allocates but
//! [`Inflater`], which keeps its buffer. Called by `binlog`, `value` and `protocol`.

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
