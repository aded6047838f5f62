//! The character set of each collation id, on MySQL and MariaDB.

/// A collation by the number that the binary log and the handshake use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(pub u32);

impl Collation {
    /// `binary`: the column contains bytes, not text.
    pub const BINARY: Self = Self(63);

    /// The character set of the collation; [`Charset::Unknown`] for a number that no known server
    /// uses.
    pub const fn charset(self) -> Charset {
        use Charset::*;
        match self.0 {
            63 => Binary,
            11 | 65 => Ascii,
            5 | 8 | 15 | 31 | 47..=49 | 94 => Latin1,
            33 | 76 | 83 | 192..=215 | 223 => Utf8mb3,
            45 | 46 | 224..=247 | 255..=323 => Utf8mb4,
            1 | 84 => Big5,
            2 | 9 | 21 | 27 | 77 => Latin2,
            3 | 69 => Dec8,
            4 | 80 => Cp850,
            6 | 72 => Hp8,
            7 | 74 => Koi8r,
            10 | 82 => Swe7,
            12 | 91 => Ujis,
            13 | 88 => Sjis,
            14 | 23 | 50..=52 => Cp1251,
            16 | 71 => Hebrew,
            18 | 89 => Tis620,
            19 | 85 => Euckr,
            20 | 41 | 42 | 79 => Latin7,
            22 | 75 => Koi8u,
            24 | 86 => Gb2312,
            25 | 70 => Greek,
            26 | 34 | 44 | 66 | 99 => Cp1250,
            28 | 87 => Gbk,
            29 | 58 | 59 => Cp1257,
            30 | 78 => Latin5,
            32 | 64 => Armscii8,
            35 | 90 | 128..=151 | 159 => Ucs2,
            36 | 68 => Cp866,
            37 | 73 => Keybcs2,
            38 | 43 => Macce,
            39 | 53 => Macroman,
            40 | 81 => Cp852,
            54 | 55 | 101..=124 => Utf16,
            56 | 62 => Utf16le,
            57 | 67 => Cp1256,
            60 | 61 | 160..=183 => Utf32,
            92 | 93 => Geostd8,
            95 | 96 => Cp932,
            97 | 98 => Eucjpms,
            248..=250 => Gb18030,
            // MariaDB: Croatian collations and `general1400_as_ci`, NOPAD collations (base + 1024),
            // UCA 14.0.0
            576..=579 => Utf8mb3,
            608..=611 => Utf8mb4,
            640..=642 => Ucs2,
            672..=674 => Utf16,
            736..=738 => Utf32,
            1025..=1279 => Self(self.0 - 1024).charset(),
            2048..=2303 => Utf8mb3,
            2304..=2559 => Utf8mb4,
            2560..=2815 => Ucs2,
            2816..=3071 => Utf16,
            3072..=3327 => Utf32,
            _ => Unknown,
        }
    }
}

/// A server's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of the server
pub enum Charset {
    Armscii8,
    Ascii,
    Big5,
    Binary,
    Cp1250,
    Cp1251,
    Cp1256,
    Cp1257,
    Cp850,
    Cp852,
    Cp866,
    Cp932,
    Dec8,
    Eucjpms,
    Euckr,
    Gb18030,
    Gb2312,
    Gbk,
    Geostd8,
    Greek,
    Hebrew,
    Hp8,
    Keybcs2,
    Koi8r,
    Koi8u,
    Latin1,
    Latin2,
    Latin5,
    Latin7,
    Macce,
    Macroman,
    Sjis,
    Swe7,
    Tis620,
    Ucs2,
    Ujis,
    Utf16,
    Utf16le,
    Utf32,
    Utf8mb3,
    Utf8mb4,
    /// A collation id that no known server uses.
    Unknown,
}

impl Charset {
    /// The name as `SHOW CHARACTER SET` writes it.
    pub const fn name(self) -> &'static str {
        use Charset::*;
        match self {
            Armscii8 => "armscii8",
            Ascii => "ascii",
            Big5 => "big5",
            Binary => "binary",
            Cp1250 => "cp1250",
            Cp1251 => "cp1251",
            Cp1256 => "cp1256",
            Cp1257 => "cp1257",
            Cp850 => "cp850",
            Cp852 => "cp852",
            Cp866 => "cp866",
            Cp932 => "cp932",
            Dec8 => "dec8",
            Eucjpms => "eucjpms",
            Euckr => "euckr",
            Gb18030 => "gb18030",
            Gb2312 => "gb2312",
            Gbk => "gbk",
            Geostd8 => "geostd8",
            Greek => "greek",
            Hebrew => "hebrew",
            Hp8 => "hp8",
            Keybcs2 => "keybcs2",
            Koi8r => "koi8r",
            Koi8u => "koi8u",
            Latin1 => "latin1",
            Latin2 => "latin2",
            Latin5 => "latin5",
            Latin7 => "latin7",
            Macce => "macce",
            Macroman => "macroman",
            Sjis => "sjis",
            Swe7 => "swe7",
            Tis620 => "tis620",
            Ucs2 => "ucs2",
            Ujis => "ujis",
            Utf16 => "utf16",
            Utf16le => "utf16le",
            Utf32 => "utf32",
            Utf8mb3 => "utf8mb3",
            Utf8mb4 => "utf8mb4",
            Unknown => "unknown",
        }
    }

    /// True if a column of this character set contains bytes, not text.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::Binary)
    }

    /// The number of bytes of the longest character.
    pub const fn max_char_bytes(self) -> usize {
        use Charset::*;
        match self {
            Utf8mb4 | Utf16 | Utf16le | Utf32 | Gb18030 => 4,
            Utf8mb3 | Ujis | Eucjpms => 3,
            Big5 | Cp932 | Euckr | Gb2312 | Gbk | Sjis | Ucs2 => 2,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_both_servers() {
        for (id, charset) in [
            (8, Charset::Latin1),
            (45, Charset::Utf8mb4),
            (255, Charset::Utf8mb4),
            (63, Charset::Binary),
            (1069, Charset::Utf8mb4),
            (1032, Charset::Latin1),
            (2304, Charset::Utf8mb4),
            (2048, Charset::Utf8mb3),
            (576, Charset::Utf8mb3),
            (0, Charset::Unknown),
            (9999, Charset::Unknown),
        ] {
            assert_eq!(Collation(id).charset(), charset, "{id}");
        }
    }
}
