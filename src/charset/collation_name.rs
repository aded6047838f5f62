//! The names of collations.
//!
//! Almost all names consist of the name of the character set and a suffix. The suffixes form
//! series: each character set that has the tailorings of a Unicode version has them in the same
//! order.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/charset-collation-names.html>,
//! <https://mariadb.com/kb/en/supported-character-sets-and-collations/>

use super::{Charset, Collation};

impl Collation {
    /// The name as `SHOW COLLATION` writes it; `None` for a number that no known server uses. A few
    /// numbers mean a collation of one name on MySQL and of another on MariaDB.
    pub fn name(self, is_mariadb: bool) -> Option<String> {
        if self.0 >= MARIADB_BEGINS && !is_mariadb {
            return None;
        }
        let charset = match self.charset() {
            Charset::Unknown => return None,
            Charset::Binary => return (self == Self::BINARY).then(|| "binary".into()),
            charset => charset.name(),
        };
        let suffix = match self.0 {
            id @ 1025..=2047 => nopad(Self(id - 1024).suffix(is_mariadb)?)?,
            id @ 2048..=3327 => uca_14_0_0(id - 2048)?,
            _ => self.suffix(is_mariadb)?,
        };
        Some(format!("{charset}_{suffix}"))
    }

    /// The part of the name after the character set and the underscore.
    fn suffix(self, is_mariadb: bool) -> Option<String> {
        if let Some(place) = UCA_4_0_0_BEGINS
            .iter()
            .find_map(|begin| self.0.checked_sub(*begin).filter(|place| *place < 24))
        {
            return Some(match UCA_4_0_0.get(place as usize)? {
                &"croatian" if is_mariadb => "croatian_mysql561_ci".into(),
                tailoring => format!("{tailoring}_ci"),
            });
        }
        for (begin, kind) in [(255, "ai_ci"), (278, "as_cs")] {
            let place = self.0.checked_sub(begin).and_then(|place| UCA_9_0_0.get(place as usize));
            if let Some(language) = place {
                return match *language {
                    "-" => None,
                    "" => Some(format!("0900_{kind}")),
                    language => Some(format!("{language}_0900_{kind}")),
                };
            }
        }
        single(self.0).map(Into::into)
    }
}

/// Changes the suffix to that of MariaDB's NOPAD collation, which compares trailing spaces too.
fn nopad(suffix: String) -> Option<String> {
    if suffix == "bin" {
        return Some("nopad_bin".into());
    }
    let (language, kind) = suffix.rsplit_once('_')?;
    Some(format!("{language}_nopad_{kind}"))
}

/// MariaDB's collations of Unicode 14: tailoring << 3, then one bit each for NOPAD, accents and
/// case; 256 per character set.
fn uca_14_0_0(number: u32) -> Option<String> {
    let number = number % 256;
    let tailoring = match UCA_14_0_0.get((number >> 3) as usize)? {
        &"-" => return None,
        &"" => String::new(),
        tailoring => format!("{tailoring}_"),
    };
    let pad = if number & 4 != 0 { "nopad_" } else { "" };
    let accents = if number & 2 != 0 { "as" } else { "ai" };
    let case = if number & 1 != 0 { "cs" } else { "ci" };
    Some(format!("uca1400_{tailoring}{pad}{accents}_{case}"))
}

/// Numbers from this one on are MariaDB's.
const MARIADB_BEGINS: u32 = 576;

/// The first numbers of the series of [`UCA_4_0_0`]: utf16, ucs2, utf32, utf8mb3, utf8mb4.
const UCA_4_0_0_BEGINS: [u32; 5] = [101, 128, 160, 192, 224];

const UCA_4_0_0: [&str; 24] = [
    "unicode",
    "icelandic",
    "latvian",
    "romanian",
    "slovenian",
    "polish",
    "estonian",
    "spanish",
    "swedish",
    "turkish",
    "czech",
    "danish",
    "lithuanian",
    "slovak",
    "spanish2",
    "roman",
    "persian",
    "esperanto",
    "hungarian",
    "sinhala",
    "german2",
    "croatian",
    "unicode_520",
    "vietnamese",
];

/// MySQL's utf8mb4 collations of Unicode 9; `_` where no collation has the number.
const UCA_9_0_0: [&str; 23] = [
    "", "de_pb", "is", "lv", "ro", "sl", "pl", "et", "es", "sv", "tr", "cs", "da", "lt", "sk",
    "es_trad", "la", "-", "eo", "hu", "hr", "-", "vi",
];

const UCA_14_0_0: [&str; 25] = [
    "",
    "icelandic",
    "latvian",
    "romanian",
    "slovenian",
    "polish",
    "estonian",
    "spanish",
    "swedish",
    "turkish",
    "czech",
    "danish",
    "lithuanian",
    "slovak",
    "spanish2",
    "roman",
    "persian",
    "esperanto",
    "hungarian",
    "sinhala",
    "german2",
    "-",
    "-",
    "vietnamese",
    "croatian",
];

/// The collations whose numbers are in no series.
const fn single(id: u32) -> Option<&'static str> {
    Some(match id {
        1 | 24 | 28 | 248 => "chinese_ci",
        2 | 34 => "czech_cs",
        3 | 8 | 10 => "swedish_ci",
        4 | 7 | 9 | 11 | 16 | 22 | 25 | 26 | 32 | 33 | 35 | 36 | 37 | 38 | 39 | 40 | 41 | 45
        | 48 | 51 | 54 | 56 | 57 | 59 | 60 | 92 => "general_ci",
        5 => "german1_ci",
        6 => "english_ci",
        12 | 13 | 95 | 97 => "japanese_ci",
        14 => "bulgarian_ci",
        15 => "danish_ci",
        18 => "thai_ci",
        19 => "korean_ci",
        20 => "estonian_cs",
        21 => "hungarian_ci",
        23 => "ukrainian_ci",
        27 | 44 => "croatian_ci",
        29 => "lithuanian_ci",
        30 => "turkish_ci",
        31 => "german2_ci",
        42 | 49 | 52 => "general_cs",
        43 | 46 | 47 | 50 | 53 | 55 | 58 | 61 | 62 | 64 | 65 | 66 | 67 | 68 | 69 | 70 | 71 | 72
        | 73 | 74 | 75 | 77 | 78 | 79 | 80 | 81 | 82 | 83 | 84 | 85 | 86 | 87 | 88 | 89 | 90
        | 91 | 93 | 96 | 98 | 249 => "bin",
        76 => "tolower_ci",
        94 => "spanish_ci",
        99 => "polish_ci",
        159 | 223 => "general_mysql500_ci",
        250 => "unicode_520_ci",
        303 => "ja_0900_as_cs",
        304 => "ja_0900_as_cs_ks",
        305 => "0900_as_ci",
        306 => "ru_0900_ai_ci",
        307 => "ru_0900_as_cs",
        308 => "zh_0900_as_cs",
        309 => "0900_bin",
        310 => "nb_0900_ai_ci",
        311 => "nb_0900_as_cs",
        312 => "nn_0900_ai_ci",
        313 => "nn_0900_as_cs",
        314 => "sr_latn_0900_ai_ci",
        315 => "sr_latn_0900_as_cs",
        316 => "bs_0900_ai_ci",
        317 => "bs_0900_as_cs",
        318 => "bg_0900_ai_ci",
        319 => "bg_0900_as_cs",
        320 => "gl_0900_ai_ci",
        321 => "gl_0900_as_cs",
        322 => "mn_cyrl_0900_ai_ci",
        323 => "mn_cyrl_0900_as_cs",
        // MariaDB
        576 | 608 | 640 | 672 | 736 => "croatian_ci",
        577 | 609 | 641 | 673 | 737 => "myanmar_ci",
        579 | 611 => "general1400_as_ci",
        578 | 610 | 642 | 674 | 738 => "thai_520_w2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_servers() {
        for (id, is_mariadb, name) in [
            (8, false, Some("latin1_swedish_ci")),
            (33, false, Some("utf8mb3_general_ci")),
            (63, true, Some("binary")),
            (213, false, Some("utf8mb3_croatian_ci")),
            (213, true, Some("utf8mb3_croatian_mysql561_ci")),
            (255, false, Some("utf8mb4_0900_ai_ci")),
            (270, false, Some("utf8mb4_es_trad_0900_ai_ci")),
            (272, false, None),
            (278, false, Some("utf8mb4_0900_as_cs")),
            (300, false, Some("utf8mb4_vi_0900_as_cs")),
            (301, false, None),
            (309, false, Some("utf8mb4_0900_bin")),
            (610, true, Some("utf8mb4_thai_520_w2")),
            (1071, true, Some("latin1_nopad_bin")),
            (1069, true, Some("utf8mb4_general_nopad_ci")),
            (2304, true, Some("utf8mb4_uca1400_ai_ci")),
            (2304 + (24 << 3) + 7, true, Some("utf8mb4_uca1400_croatian_nopad_as_cs")),
            (2304 + (21 << 3), true, None),
            (0, false, None),
            (9999, true, None),
        ] {
            assert_eq!(Collation(id).name(is_mariadb).as_deref(), name, "{id}");
        }
    }

    #[test]
    fn no_two_numbers_have_one_name() {
        for is_mariadb in [false, true] {
            let mut seen = std::collections::HashSet::new();
            let names = (0..4000).filter_map(|id| Collation(id).name(is_mariadb));
            for name in names {
                assert!(seen.insert(name.clone()), "{name}");
            }
            assert!(seen.len() > 280);
        }
    }
}
