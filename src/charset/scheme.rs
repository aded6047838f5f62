//! The loop that all character sets share: it decodes characters from bytes and writes UTF-8 to a
//! vector.
//!
//! Input: stored bytes, a [`Scheme`]. Output: UTF-8. Called by `charset::transcoding`, which
//! selects the scheme once per cell. The code of this file is compiled separately for each scheme.

/// The decoder of one character set.
pub(super) trait Scheme: Copy {
    /// The number of bytes of an ASCII character; 0 if [`Scheme::ascii`] must not be called.
    const ASCII_WIDTH: usize;

    /// Returns the ASCII characters at the start of `word` as bytes, and their number.
    #[inline]
    fn ascii(word: [u8; 8]) -> ([u8; 8], usize) {
        let high = u64::from_le_bytes(word) & 0x8080_8080_8080_8080;
        (word, high.trailing_zeros() as usize / 8)
    }

    /// Returns the first character of `bytes` as a code point, or [`BAD`], and its number of bytes,
    /// at least 1. `bytes` is not empty.
    fn next(self, bytes: &[u8]) -> (u32, usize);
}

/// Returned instead of a code point, for bytes that are no character and for characters that
/// Unicode lacks.
pub(super) const BAD: u32 = u32::MAX;

/// The entry in the tables that means [`BAD`].
pub(super) const NO_CODE_POINT: u16 = 0xffff;

const REPLACEMENT: u32 = 0xfffd;

/// The number of source bytes that are converted at a time: the memory for their UTF-8 is allocated
/// before.
const CHUNK: usize = 4096;
/// The largest number of bytes of UTF-8 for one byte of the source: U+FFFD for a bad byte.
const GROWTH: usize = 3;
/// Space for the last character of a chunk, which may continue in the next chunk, and for writes of
/// 8 bytes.
const SLACK: usize = 64;

/// Appends `bytes` to `out` as UTF-8. If `replace` is true, bad bytes become U+FFFD. Otherwise they
/// end the conversion: it returns `false`, and the content of `out` is undefined.
pub(super) fn transcode<S: Scheme>(
    scheme: S,
    bytes: &[u8],
    replace: bool,
    out: &mut Vec<u8>,
) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let chunk = rest.len().min(CHUNK);
        let start = out.len();
        out.resize(start + chunk * GROWTH + SLACK, 0);
        let room = out.get_mut(start..).unwrap_or_default();
        let Some((left, written)) = transcode_chunk(scheme, rest, chunk, replace, room) else {
            return false;
        };
        out.truncate(start + written);
        rest = left;
    }
    true
}

/// Converts the characters that start in the first `chunk` bytes; returns the rest of the source,
/// and the number of bytes written.
#[inline]
fn transcode_chunk<'a, S: Scheme>(
    scheme: S,
    mut rest: &'a [u8],
    chunk: usize,
    replace: bool,
    room: &mut [u8],
) -> Option<(&'a [u8], usize)> {
    let end = rest.len() - chunk;
    let mut at = 0;
    while rest.len() > end {
        if S::ASCII_WIDTH > 0
            && let Some(word) = rest.first_chunk::<8>()
        {
            let (ascii, count) = S::ascii(*word);
            *room.get_mut(at..)?.first_chunk_mut::<8>()? = ascii;
            at += count;
            rest = rest.get(count * S::ASCII_WIDTH..)?;
            if count * S::ASCII_WIDTH == 8 || rest.len() <= end {
                continue;
            }
        }
        let (mut point, taken) = scheme.next(rest);
        if point == BAD {
            if !replace {
                return None;
            }
            point = REPLACEMENT;
        }
        let (utf8, len) = encode(point);
        *room.get_mut(at..)?.first_chunk_mut::<4>()? = utf8;
        at += len;
        rest = rest.get(taken..)?;
    }
    Some((rest, at))
}

/// Encodes a code point as UTF-8, in the first of the four bytes.
#[inline]
fn encode(point: u32) -> ([u8; 4], usize) {
    let tail = |shift: u32| (point >> shift) as u8 & 0x3f | 0x80;
    match point {
        0..0x80 => ([point as u8, 0, 0, 0], 1),
        0x80..0x800 => ([(point >> 6) as u8 | 0xc0, tail(0), 0, 0], 2),
        0x800..0x1_0000 => ([(point >> 12) as u8 | 0xe0, tail(6), tail(0), 0], 3),
        _ => ([(point >> 18) as u8 | 0xf0, tail(12), tail(6), tail(0)], 4),
    }
}
