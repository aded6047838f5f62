//! Inflates deflate streams into a buffer that is reused.
//!
//! <https://www.rfc-editor.org/rfc/rfc1950> (zlib), <https://www.rfc-editor.org/rfc/rfc1951> (deflate)

use super::Result;
use crate::error::DecodeError;
use crate::limits::MAX_INFLATED;
use flate2::{Decompress, FlushDecompress, Status};

/// The format around a deflate stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeflateForm {
    /// A zlib header before the stream, and an Adler-32 checksum after it.
    Zlib,
    /// No header and no checksum.
    Raw,
}

/// Inflates one stream after another. It allocates memory for the first stream, and for a later one
/// only if it is larger.
#[derive(Debug, Default)]
pub struct Inflater {
    state: Option<Decompress>,
    /// The current stream, and free space after it.
    out: Vec<u8>,
}

impl Inflater {
    /// Inflates `packed` and returns the plain bytes. There must be exactly `len` of them, and
    /// `packed` must be used up. The buffer grows as the stream fills it, so a wrong length costs
    /// no memory.
    pub fn inflate(
        &mut self,
        packed: &[u8],
        form: DeflateForm,
        len: u64,
        what: &'static str,
    ) -> Result<&[u8]> {
        if len > MAX_INFLATED {
            return Err(DecodeError::Limit { what, value: len, limit: MAX_INFLATED });
        }
        let len = len as usize;
        // One byte more than the stream may fill: so a stream that continues differs from one that
        // ends there.
        let full = len + 1;
        if self.out.len() > MAX_KEPT && full <= MAX_KEPT {
            self.out = Vec::new();
        }
        let zlib_header = form == DeflateForm::Zlib;
        let state = self.state.get_or_insert_with(|| Decompress::new(zlib_header));
        state.reset(zlib_header);
        let damaged = || DecodeError::Deflate { what };
        let (mut taken, mut filled) = (0, 0);
        loop {
            if filled == self.out.len() {
                let room = (2 * filled).max(packed.len().saturating_mul(USUAL_RATIO));
                self.out.resize(room.clamp(FIRST_ROOM, full.max(FIRST_ROOM)), 0);
            }
            let input = packed.get(taken..).unwrap_or_default();
            let end = self.out.len().min(full);
            let output = self.out.get_mut(filled..end).unwrap_or_default();
            let status =
                state.decompress(input, output, FlushDecompress::Finish).map_err(|_| damaged())?;
            let before = (taken, filled);
            (taken, filled) = (state.total_in() as usize, state.total_out() as usize);
            if filled > len {
                return Err(DecodeError::Deflate { what });
            }
            match status {
                Status::StreamEnd if filled != len => {
                    return Err(DecodeError::Deflate { what });
                }
                Status::StreamEnd if taken != packed.len() => {
                    let bytes = packed.len().saturating_sub(taken);
                    return Err(DecodeError::LeftOver { what, bytes });
                }
                Status::StreamEnd => return Ok(self.out.get(..len).unwrap_or_default()),
                // The stream has used its complete input and still has free space in the buffer.
                _ if (taken, filled) == before && filled < self.out.len() => {
                    return Err(damaged());
                }
                _ => {}
            }
        }
    }
}

/// The usual compression ratio of rows and text is at most this.
const USUAL_RATIO: usize = 4;

const FIRST_ROOM: usize = 4 << 10;

/// A larger buffer is freed before the next stream that needs less.
const MAX_KEPT: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    fn zlib(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn raw(plain: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn inflate(packed: &[u8], form: DeflateForm, len: u64) -> Result<Vec<u8>> {
        Inflater::default().inflate(packed, form, len, "test").map(<[u8]>::to_vec)
    }

    #[test]
    fn one_inflater_for_all() {
        let mut inflater = Inflater::default();
        for size in [0_usize, 1, 100, 4095, 4096, 4097, 100_000, 3, 20 << 20, 5] {
            let plain: Vec<u8> = (0..size).map(|n| (n / 7 * 31) as u8).collect();
            let len = size as u64;
            for (packed, form) in
                [(zlib(&plain), DeflateForm::Zlib), (raw(&plain), DeflateForm::Raw)]
            {
                assert!(inflater.inflate(&packed, form, len, "test").unwrap() == plain, "{size}");
                // A stream that failed leaves no state for the next one.
                assert!(inflater.inflate(&packed[1..], form, len, "test").is_err());
            }
        }
        assert!(inflater.out.len() <= MAX_KEPT);
    }

    #[test]
    fn lengths_that_lie() {
        for form in [DeflateForm::Zlib, DeflateForm::Raw] {
            let pack = if form == DeflateForm::Zlib { zlib } else { raw };
            for size in [10_u64, 4095, 4096, 5000, 100_000] {
                let packed = pack(&vec![b'x'; size as usize]);
                assert_eq!(inflate(&packed, form, size).unwrap().len() as u64, size);
                for wrong in [0, 1, size - 1, size + 1, 2 * size, MAX_INFLATED] {
                    let error = inflate(&packed, form, wrong).unwrap_err();
                    assert_eq!(error, DecodeError::Deflate { what: "test" }, "{size} {wrong}");
                }
                let error = inflate(&packed, form, MAX_INFLATED + 1).unwrap_err();
                assert!(matches!(error, DecodeError::Limit { .. }), "{error}");
            }
        }
    }

    #[test]
    fn a_length_takes_no_room_before_its_bytes_are_there() {
        let mut inflater = Inflater::default();
        let packed = zlib(&[b'x'; 50]);
        assert!(inflater.inflate(&packed, DeflateForm::Zlib, MAX_INFLATED, "test").is_err());
        assert!(inflater.out.len() <= FIRST_ROOM);
    }

    #[test]
    fn cut_or_followed_by_something() {
        let plain = b"some text that is packed, some text that is packed";
        for form in [DeflateForm::Zlib, DeflateForm::Raw] {
            let mut packed = if form == DeflateForm::Zlib { zlib(plain) } else { raw(plain) };
            for end in 0..packed.len() {
                assert!(inflate(&packed[..end], form, plain.len() as u64).is_err(), "{end}");
            }
            packed.push(0);
            let error = inflate(&packed, form, plain.len() as u64).unwrap_err();
            assert_eq!(error, DecodeError::LeftOver { what: "test", bytes: 1 });
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(packed: Vec<u8>, zlib: bool, len in 0_u64..100_000) {
            let form = if zlib { DeflateForm::Zlib } else { DeflateForm::Raw };
            if let Ok(plain) = inflate(&packed, form, len) {
                prop_assert_eq!(plain.len() as u64, len);
            }
        }

        #[test]
        fn what_is_packed_comes_back(plain: Vec<u8>) {
            prop_assert_eq!(inflate(&zlib(&plain), DeflateForm::Zlib, plain.len() as u64).unwrap(), plain.clone());
            prop_assert_eq!(inflate(&raw(&plain), DeflateForm::Raw, plain.len() as u64).unwrap(), plain);
        }
    }
}
