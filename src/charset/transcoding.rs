//! The scheme of each character set, and the measured tables.
//!
//! The tables contain the answers of servers for each byte sequence
//! (`tests/support/oracles/charset_tables.py` writes them); MySQL 9.7, MariaDB 10.11 and 11.8 agree
//! on every character. Tables of libraries are not used: encoding_rs, for example, follows the
//! standard of the web, which differs for most of these character sets.

use super::Charset;
use super::multi_byte::{DoubleByte, EucJapanese, Gb18030, Grid, ShiftedJis};
use super::scheme::transcode;
use super::single_byte::{Ascii, Points, SingleByte, points};
use super::wide::{Utf16, Utf32};

/// Appends `bytes` to `out` as UTF-8. If `replace` is true, invalid bytes become U+FFFD.
/// Otherwise it returns `false` for them, and the content of `out` is undefined.
pub(super) fn to_utf8(charset: Charset, bytes: &[u8], replace: bool, out: &mut Vec<u8>) -> bool {
    match charset {
        Charset::Utf8mb3 | Charset::Utf8mb4 => utf8(bytes, replace, out),
        Charset::Binary | Charset::Unknown => false,
        Charset::Ascii => transcode(Ascii, bytes, replace, out),
        Charset::Swe7 => transcode(SingleByte::<false>(&SWE7), bytes, replace, out),
        Charset::Big5 => transcode(DoubleByte(&BIG5), bytes, replace, out),
        Charset::Euckr => transcode(DoubleByte(&EUCKR), bytes, replace, out),
        Charset::Gb2312 => transcode(DoubleByte(&GB2312), bytes, replace, out),
        Charset::Gbk => transcode(DoubleByte(&GBK), bytes, replace, out),
        Charset::Cp932 => transcode(ShiftedJis(&CP932), bytes, replace, out),
        Charset::Sjis => transcode(ShiftedJis(&SJIS), bytes, replace, out),
        Charset::Eucjpms => transcode(EucJapanese(&EUCJPMS, &EUCJPMS_3), bytes, replace, out),
        Charset::Ujis => transcode(EucJapanese(&UJIS, &UJIS_3), bytes, replace, out),
        Charset::Gb18030 => {
            transcode(Gb18030 { two: &GB18030, four: GB18030_4 }, bytes, replace, out)
        }
        Charset::Ucs2 => transcode(Utf16::<true, false>, bytes, replace, out),
        Charset::Utf16 => transcode(Utf16::<true, true>, bytes, replace, out),
        Charset::Utf16le => transcode(Utf16::<false, true>, bytes, replace, out),
        Charset::Utf32 => transcode(Utf32, bytes, replace, out),
        _ => match single_byte(charset) {
            Some(points) => transcode(SingleByte::<true>(points), bytes, replace, out),
            None => false,
        },
    }
}

/// The table of a character set with one byte per character whose lower half is ASCII.
const fn single_byte(charset: Charset) -> Option<&'static Points> {
    Some(match charset {
        Charset::Armscii8 => &ARMSCII8,
        Charset::Cp1250 => &CP1250,
        Charset::Cp1251 => &CP1251,
        Charset::Cp1256 => &CP1256,
        Charset::Cp1257 => &CP1257,
        Charset::Cp850 => &CP850,
        Charset::Cp852 => &CP852,
        Charset::Cp866 => &CP866,
        Charset::Dec8 => &DEC8,
        Charset::Geostd8 => &GEOSTD8,
        Charset::Greek => &GREEK,
        Charset::Hebrew => &HEBREW,
        Charset::Hp8 => &HP8,
        Charset::Keybcs2 => &KEYBCS2,
        Charset::Koi8r => &KOI8R,
        Charset::Koi8u => &KOI8U,
        Charset::Latin1 => &LATIN1,
        Charset::Latin2 => &LATIN2,
        Charset::Latin5 => &LATIN5,
        Charset::Latin7 => &LATIN7,
        Charset::Macce => &MACCE,
        Charset::Macroman => &MACROMAN,
        Charset::Tis620 => &TIS620,
        _ => return None,
    })
}

/// Checks valid text in one step. Invalid text gets U+FFFD as Unicode recommends, one for each
/// longest prefix of a character.
fn utf8(bytes: &[u8], replace: bool, out: &mut Vec<u8>) -> bool {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        out.extend_from_slice(bytes);
        return true;
    }
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    replace
}

macro_rules! single_byte {
    ($($name:ident = $file:literal),+ $(,)?) => {
        $(static $name: Points = points(include_bytes!(concat!("tables/", $file, ".bin")));)+
    };
}

single_byte! {
    ARMSCII8 = "armscii8",
    CP1250 = "cp1250",
    CP1251 = "cp1251",
    CP1256 = "cp1256",
    CP1257 = "cp1257",
    CP850 = "cp850",
    CP852 = "cp852",
    CP866 = "cp866",
    DEC8 = "dec8",
    GEOSTD8 = "geostd8",
    GREEK = "greek",
    HEBREW = "hebrew",
    HP8 = "hp8",
    KEYBCS2 = "keybcs2",
    KOI8R = "koi8r",
    KOI8U = "koi8u",
    LATIN1 = "latin1",
    LATIN2 = "latin2",
    LATIN5 = "latin5",
    LATIN7 = "latin7",
    MACCE = "macce",
    MACROMAN = "macroman",
    SWE7 = "swe7",
    TIS620 = "tis620",
}

// For each: the first lead byte, and the first and last trail byte, as in the script that writes
// the tables.
static BIG5: Grid = Grid::new(0xa1, 0x40, 0xfe, include_bytes!("tables/big5.bin"));
static CP932: Grid = Grid::new(0x81, 0x40, 0xfc, include_bytes!("tables/cp932.bin"));
static EUCJPMS: Grid = Grid::new(0xa1, 0xa1, 0xfe, include_bytes!("tables/eucjpms.bin"));
static EUCJPMS_3: Grid = Grid::new(0xa1, 0xa1, 0xfe, include_bytes!("tables/eucjpms-3.bin"));
static EUCKR: Grid = Grid::new(0x81, 0x41, 0xfe, include_bytes!("tables/euckr.bin"));
static GB18030: Grid = Grid::new(0x81, 0x40, 0xfe, include_bytes!("tables/gb18030.bin"));
static GB2312: Grid = Grid::new(0xa1, 0xa1, 0xfe, include_bytes!("tables/gb2312.bin"));
static GBK: Grid = Grid::new(0x81, 0x40, 0xfe, include_bytes!("tables/gbk.bin"));
static SJIS: Grid = Grid::new(0x81, 0x40, 0xfc, include_bytes!("tables/sjis.bin"));
static UJIS: Grid = Grid::new(0xa1, 0xa1, 0xfe, include_bytes!("tables/ujis.bin"));
static UJIS_3: Grid = Grid::new(0xa1, 0xa1, 0xfe, include_bytes!("tables/ujis-3.bin"));

static GB18030_4: &[[u8; 4]] = include_bytes!("tables/gb18030-4.bin").as_chunks().0;
