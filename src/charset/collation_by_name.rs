//! Finds collations and character sets by their names in SQL.

use super::{Charset, Collation};
use std::collections::HashMap;
use std::sync::OnceLock;

impl Charset {
    /// Finds a character set by its name in SQL; `utf8` is utf8mb3.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("utf8") { "utf8mb3" } else { name };
        let mut charsets = DEFAULTS.iter().map(|(id, _)| Collation(*id).charset());
        charsets.find(|charset| name.eq_ignore_ascii_case(charset.name()))
    }

    /// Returns the collation of columns whose definition names this character set but no collation.
    /// It depends on the version of the server.
    ///
    /// A session of MariaDB 11.5 and later can have other defaults (`character_set_collations`);
    /// but SHOW CREATE TABLE of these versions prints the collation.
    pub fn default_collation(
        self,
        is_mariadb: bool,
        version: (u16, u16, u16),
    ) -> Option<Collation> {
        let (id, newer) =
            DEFAULTS.iter().find(|(id, _)| Collation(*id).charset() == self).copied()?;
        Some(Collation(match newer {
            Newer::MariaDb(newer) if is_mariadb && version >= (11, 5, 0) => newer,
            Newer::Both { mysql, .. } if !is_mariadb && version >= (8, 0, 1) => mysql,
            Newer::Both { mariadb, .. } if is_mariadb && version >= (11, 5, 0) => mariadb,
            _ => id,
        }))
    }

    /// Returns the collation that compares by code points.
    pub fn binary_collation(self) -> Option<Collation> {
        match self {
            Self::Binary => Some(Collation::BINARY),
            charset => Collation::from_name(&format!("{}_bin", charset.name()), None, true),
        }
    }
}

impl Collation {
    /// Finds a collation by its name in SQL. `charset` is the character set of MariaDB's names that
    /// do not contain one (`uca1400_ai_ci`).
    pub fn from_name(name: &str, charset: Option<Charset>, is_mariadb: bool) -> Option<Self> {
        static IDS: [OnceLock<HashMap<String, u32>>; 2] = [OnceLock::new(), OnceLock::new()];
        let [mysql, mariadb] = &IDS;
        let ids = if is_mariadb { mariadb } else { mysql };
        let ids = ids.get_or_init(|| {
            let named = |id| Some((Self(id).name(is_mariadb)?, id));
            (1..=MAX_ID).filter_map(named).collect()
        });
        let mut name = name.to_ascii_lowercase();
        if let Some(suffix) = name.strip_prefix("utf8_") {
            name = format!("utf8mb3_{suffix}");
        } else if is_mariadb && name.starts_with("uca1400_") {
            name = format!("{}_{name}", charset?.name());
        }
        ids.get(&name).copied().map(Self)
    }
}

/// The last id of MariaDB's collations of Unicode 14.
const MAX_ID: u32 = 3327;

/// The default collation of a character set since MySQL 8 or MariaDB 11.5.
#[derive(Clone, Copy)]
enum Newer {
    Same,
    MariaDb(u32),
    Both { mysql: u32, mariadb: u32 },
}

/// Default collations of MySQL 5.7 and MariaDB before 11.5, one for each character set.
#[rustfmt::skip]
const DEFAULTS: [(u32, Newer); 41] = [
    (32, Newer::Same), (11, Newer::Same), (1, Newer::Same), (63, Newer::Same), (26, Newer::Same),
    (51, Newer::Same), (57, Newer::Same), (59, Newer::Same), (4, Newer::Same), (40, Newer::Same),
    (36, Newer::Same), (95, Newer::Same), (3, Newer::Same), (97, Newer::Same), (19, Newer::Same),
    (248, Newer::Same), (24, Newer::Same), (28, Newer::Same), (92, Newer::Same), (25, Newer::Same),
    (16, Newer::Same), (6, Newer::Same), (37, Newer::Same), (7, Newer::Same), (22, Newer::Same),
    (8, Newer::Same), (9, Newer::Same), (30, Newer::Same), (41, Newer::Same), (38, Newer::Same),
    (39, Newer::Same), (13, Newer::Same), (10, Newer::Same), (18, Newer::Same), (35, Newer::MariaDb(2560)),
    (12, Newer::Same), (54, Newer::MariaDb(2816)), (56, Newer::Same), (60, Newer::MariaDb(3072)),
    (33, Newer::MariaDb(2048)), (45, Newer::Both { mysql: 255, mariadb: 2304 }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_servers() {
        for (name, is_mariadb, id) in [
            ("latin1_swedish_ci", false, 8),
            ("LATIN1_BIN", false, 47),
            ("binary", true, 63),
            ("utf8_general_ci", false, 33),
            ("utf8mb3_vietnamese_ci", false, 215),
            ("utf8mb4_general_ci", true, 45),
            ("utf8mb4_0900_ai_ci", false, 255),
            ("utf8mb4_vi_0900_as_cs", false, 300),
            ("utf8mb4_es_trad_0900_ai_ci", false, 270),
            ("utf8mb4_0900_bin", false, 309),
            ("utf8mb4_croatian_ci", false, 245),
            ("utf8mb4_croatian_ci", true, 608),
            ("utf8mb4_croatian_mysql561_ci", true, 245),
            ("utf8mb4_general1400_as_ci", true, 611),
            ("latin1_swedish_nopad_ci", true, 1032),
            ("utf8mb4_unicode_520_nopad_ci", true, 1270),
            ("uca1400_nopad_as_cs", true, 2311),
            ("utf8mb3_uca1400_croatian_nopad_as_cs", true, 2048 + 24 * 8 + 7),
        ] {
            let found = Collation::from_name(name, Some(Charset::Utf8mb4), is_mariadb);
            assert_eq!(found, Some(Collation(id)), "{name}");
        }
        for name in ["", "_", "latin1", "latin1_", "klingon_ci", "utf8mb4_uca1400_", "uca1400_ai"] {
            assert_eq!(Collation::from_name(name, Some(Charset::Utf8mb4), true), None, "{name}");
        }
    }

    #[test]
    fn every_charset_has_a_default_and_a_binary_collation() {
        for (id, newer) in DEFAULTS {
            let charset = Collation(id).charset();
            assert_eq!(Charset::from_name(charset.name()), Some(charset));
            assert_eq!(charset.binary_collation().unwrap().charset(), charset);
            if let Newer::MariaDb(mariadb) | Newer::Both { mariadb, .. } = newer {
                assert_eq!(Collation(mariadb).charset(), charset);
            }
        }
        assert_eq!(Charset::from_name("UTF8"), Some(Charset::Utf8mb3));
        assert_eq!(Charset::from_name("klingon"), None);
    }

    #[test]
    fn defaults_differ_by_server() {
        let default = |charset: &str, is_mariadb, version| {
            let charset = Charset::from_name(charset).unwrap();
            charset.default_collation(is_mariadb, version).unwrap().0
        };
        assert_eq!(default("utf8mb4", false, (9, 7, 0)), 255);
        assert_eq!(default("utf8mb4", false, (5, 7, 29)), 45);
        assert_eq!(default("utf8mb4", true, (10, 11, 0)), 45);
        assert_eq!(default("utf8mb4", true, (11, 8, 0)), 2304);
        assert_eq!(default("utf8", true, (11, 8, 0)), 2048);
        assert_eq!(default("utf8", false, (9, 7, 0)), 33);
        assert_eq!(default("latin1", true, (11, 8, 0)), 8);
        assert_eq!(default("binary", true, (11, 8, 0)), 63);
    }
}
