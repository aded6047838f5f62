//! The loop that all character sets share: characters out of bytes, as UTF-8 into a vector.
//!
//! In: stored bytes, a [`Scheme`]. Out: UTF-8. Called by `charset::transcoding`, which picks the scheme once a cell; here
//! everything is compiled for the one scheme.

/// How the bytes of one character set become characters.
pub(super) trait Scheme: Copy {
    /// Bytes that a character of ASCII takes; 0 where [`Scheme::ascii`] is not to be asked.
    const ASCII_WIDTH: usize;

    /// The characters of ASCII at the start of `word`: as bytes, and how many.
    #[inline]
    fn ascii(word: [u8; 8]) -> ([u8; 8], usize) {
        let high = u64::from_le_bytes(word) & 0x8080_8080_8080_8080;
        (word, high.trailing_zeros() as usize / 8)
    }

    /// The first character of `bytes` as a code point, or [`BAD`], and how many bytes it takes: 1 at least. `bytes` is
    /// not empty.
    fn next(self, bytes: &[u8]) -> (u32, usize);
}

/// Instead of a code point: bytes that are no character, or one that Unicode lacks.
pub(super) const BAD: u32 = u32::MAX;

/// What stands for [`BAD`] in the tables.
pub(super) const NO_CODE_POINT: u16 = 0xffff;

const REPLACEMENT: u32 = 0xfffd;

/// Bytes of the source that are done at a time: memory for their UTF-8 is laid out beforehand.
const CHUNK: usize = 4096;
/// The most bytes of UTF-8 that a byte of the source becomes: U+FFFD for a bad one.
const GROWTH: usize = 3;
/// For the last character of a chunk, which may reach into the next, and for writing 8 bytes at a time.
const SLACK: usize = 64;

/// Appends `bytes` as UTF-8 to `out`. Bad bytes become U+FFFD, or else (`replace` is false) end it: `false`, and what
/// `out` got is of no use.
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

/// The same for the characters that start in the first `chunk` bytes; gives what is left, and the bytes written.
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

/// A code point as UTF-8, in the first bytes of four.
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
