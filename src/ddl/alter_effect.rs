//! The effect of an ALTER TABLE on the existing rows of the table. The log has no row events for it.
//!
//! A clause that is not listed here as harmless counts as a change of rows. "Followed" means that the rows after the statement
//! show it, and that `on_schema_change` decides.
//!
//! | clause | rows that the table has |
//! |---|---|
//! | ADD COLUMN | followed: the column is new |
//! | DROP, RENAME COLUMN, CHANGE of the name | followed; **other values** if one statement removes and adds the same name |
//! | ADD, RENAME, CHANGE to a name that another column had in an earlier statement | **other values**: see `LeftColumns` |
//! | MODIFY, CHANGE, ADD PRIMARY KEY | stay if the types before and after are listed in `catalog::type_change` |
//! | MODIFY, CHANGE of a generated column | **other values** |
//! | ALTER COLUMN (DEFAULT, VISIBLE) | stay |
//! | ADD, DROP, RENAME, ALTER of keys, CHECK and foreign keys | stay, or the server refuses the statement |
//! | ALTER IGNORE, whatever the clauses | **removed or converted** if they do not fit |
//! | CONVERT TO a character set that has all characters | stay |
//! | CONVERT TO binary | **other values**: text becomes bytes |
//! | CONVERT TO another one | stay under a strict `sql_mode`, or the server refuses it; otherwise **other values** |
//! | DEFAULT CHARACTER SET, COLLATE | stay: only the default changes |
//! | an ENGINE in `KEEPING_ENGINES` | stay |
//! | ENGINE=BLACKHOLE | **all removed** |
//! | any other ENGINE | **other rows**: those of the engine |
//! | UNION, CONNECTION, SEQUENCE | **other rows**: those of other tables, of another server |
//! | options in `OPTIONS` of `alter_table::table_option` | stay |
//! | unknown options | **other rows**: options of an engine, such as CONNECT's FILE_NAME |
//! | ORDER BY, FORCE, ENABLE and DISABLE KEYS, ALGORITHM, LOCK, WAIT, VALIDATION | stay |
//! | ADD, COALESCE, REORGANIZE, REBUILD, ANALYZE, CHECK, OPTIMIZE PARTITION | stay, or the server refuses the statement |
//! | PARTITION BY, REMOVE PARTITIONING | stay, or the server refuses the statement |
//! | DROP, TRUNCATE, EXCHANGE, REPAIR PARTITION | **removed or replaced** |
//! | CONVERT PARTITION, CONVERT TABLE (MariaDB) | **removed or replaced** |
//! | DISCARD, IMPORT TABLESPACE | **removed or replaced** |
//! | ADD SYSTEM VERSIONING, ADD and DROP PERIOD | stay |
//! | DROP SYSTEM VERSIONING (MariaDB) | **removed**: historical rows |
//! | RENAME TO | the table has another name: see [`Ddl::renames`](super::effect::Ddl) |
//! | SECONDARY_LOAD, SECONDARY_UNLOAD | stay |

use super::alter_action::{Action, Clauses};
use super::charset_clause::CharsetClause;
use super::row_effect::RowEffect;
use super::token::Result;
use crate::charset::Charset;

/// A column that is added, removed or renamed; names are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedColumn {
    /// Its name before; `None` if it is added.
    pub from: Option<String>,
    /// Its name afterwards; `None` if it is removed.
    pub to: Option<String>,
}

/// Returns the effect of the clauses, and the columns that get other names.
pub(super) fn effect(clauses: &Result<Clauses>, has_ignore: bool) -> (RowEffect, Vec<MovedColumn>) {
    match clauses {
        Ok(Clauses { actions, .. }) => {
            let moved = moved(actions);
            (row_effect(actions, &moved, has_ignore), moved)
        }
        Err(_) => (RowEffect::Some("an ALTER TABLE with a clause that is not known"), Vec::new()),
    }
}

fn row_effect(actions: &[Action], moved: &[MovedColumn], has_ignore: bool) -> RowEffect {
    let mut effect = match has_ignore {
        true => RowEffect::Some("ALTER IGNORE TABLE"),
        false => RowEffect::None,
    };
    for action in actions {
        effect = effect.or(of_action(action));
    }
    match has_one_name_twice(moved) {
        true => effect.or(RowEffect::Some("a column that takes the name of another one")),
        false => effect,
    }
}

fn of_action(action: &Action) -> RowEffect {
    match action {
        Action::Change { column, .. } if column.is_generated => {
            RowEffect::Some("MODIFY or CHANGE of a generated column")
        }
        Action::Engine(engine) if engine.eq_ignore_ascii_case("BLACKHOLE") => {
            RowEffect::All("ENGINE=BLACKHOLE")
        }
        Action::Engine(engine) => {
            match KEEPING_ENGINES.iter().any(|own| own.eq_ignore_ascii_case(engine)) {
                true => RowEffect::None,
                false => RowEffect::Some("an ENGINE that is not known to keep the rows"),
            }
        }
        Action::Convert(CharsetClause { charset: Some(Charset::Binary), .. }) => {
            RowEffect::Some("CONVERT TO CHARACTER SET binary")
        }
        Action::Convert(clause) if !has_all_characters(clause) => {
            RowEffect::UnlessStrict("CONVERT TO CHARACTER SET")
        }
        Action::Versioning(false) => RowEffect::Some("DROP SYSTEM VERSIONING"),
        Action::PartitionToTable(_) | Action::TableToPartition(_) => {
            RowEffect::Some("CONVERT PARTITION or TABLE")
        }
        Action::Exchange(_) => RowEffect::Some("EXCHANGE PARTITION"),
        Action::OtherRows(by) => RowEffect::Some(by),
        Action::AddColumn { .. }
        | Action::Change { .. }
        | Action::DropColumn { .. }
        | Action::RenameColumn { .. }
        | Action::Default { .. }
        | Action::ColumnVisible { .. }
        | Action::AddKey(_)
        | Action::AddCheck(_)
        | Action::DropPrimary { .. }
        | Action::DropKey { .. }
        | Action::DropConstraint { .. }
        | Action::RenameKey { .. }
        | Action::KeyVisible { .. }
        | Action::Rename(_)
        | Action::Convert(_)
        | Action::DefaultCharset(_)
        | Action::Comment(_)
        | Action::Versioning(true)
        | Action::AddPeriod(_)
        | Action::DropPeriod(_) => RowEffect::None,
    }
}

/// The columns that are added, removed or renamed.
fn moved(actions: &[Action]) -> Vec<MovedColumn> {
    let mut moved = Vec::new();
    for action in actions {
        let (from, to) = match action {
            Action::AddColumn { column, .. } => (None, Some(&*column.name)),
            Action::DropColumn { name, .. } => (Some(name.as_str()), None),
            Action::Change { from, column, .. } => (Some(from.as_str()), Some(&*column.name)),
            Action::RenameColumn { from, to, .. } => (Some(from.as_str()), Some(to.as_str())),
            _ => continue,
        };
        let (from, to) = (from.map(str::to_lowercase), to.map(str::to_lowercase));
        if from != to {
            moved.push(MovedColumn { from, to });
        }
    }
    moved
}

/// True if a column gets the name that another column had before the statement: the log cannot distinguish the two.
fn has_one_name_twice(moved: &[MovedColumn]) -> bool {
    let mut left: Vec<_> = moved.iter().filter_map(|column| column.from.as_ref()).collect();
    left.sort_unstable();
    moved
        .iter()
        .filter_map(|column| column.to.as_ref())
        .any(|name| left.binary_search(&name).is_ok())
}

fn has_all_characters(clause: &CharsetClause) -> bool {
    match (clause.charset, &clause.collation) {
        (Some(charset), _) => {
            matches!(charset, Charset::Utf8mb4 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32)
        }
        (None, Some(collation)) => ["utf8mb4_", "utf16_", "utf16le_", "utf32_"].iter().any(|own| {
            collation.get(..own.len()).is_some_and(|head| head.eq_ignore_ascii_case(own))
        }),
        (None, None) => false,
    }
}

/// Engines that keep the existing rows of a table.
const KEEPING_ENGINES: [&str; 12] = [
    "InnoDB",
    "MyISAM",
    "Aria",
    "MEMORY",
    "HEAP",
    "ARCHIVE",
    "CSV",
    "RocksDB",
    "TokuDB",
    "NDB",
    "NDBCLUSTER",
    "XtraDB",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::{ParsedStatement, QuoteMode};

    fn of(clauses: &str) -> RowEffect {
        let sql = format!("ALTER TABLE t {clauses}");
        ParsedStatement::parse(&sql, "shop", QuoteMode::default()).ddl().unwrap().unwrap().rows
    }

    #[test]
    fn clauses_that_keep_the_rows() {
        for clauses in [
            "ADD COLUMN a INT",
            "ADD a INT NOT NULL DEFAULT 4 AFTER b, ADD KEY (a), DROP COLUMN c",
            "ADD (a INT, g INT AS (a + 1) STORED, KEY (a))",
            "DROP a, RENAME COLUMN b TO c",
            "MODIFY a BIGINT UNSIGNED NOT NULL FIRST",
            "CHANGE a A INT, CHANGE b c VARCHAR(9) CHARACTER SET utf8mb4",
            "ALTER a SET DEFAULT 5, ALTER b DROP DEFAULT, ALTER INDEX i INVISIBLE",
            "ADD CONSTRAINT c CHECK (a > 0), DROP CONSTRAINT d, ADD UNIQUE (a), DROP PRIMARY KEY",
            "ADD FOREIGN KEY (a) REFERENCES u (a) ON DELETE CASCADE",
            "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "DEFAULT CHARACTER SET latin1 COLLATE latin1_bin",
            "ENGINE=InnoDB ROW_FORMAT=DYNAMIC, COMMENT='ENGINE=BLACKHOLE', AUTO_INCREMENT 9",
            "ENGINE MyISAM, ORDER BY a, b DESC",
            "FORCE, ALGORITHM=INPLACE, LOCK=NONE",
            "DISABLE KEYS",
            "WAIT 5 ADD COLUMN a INT",
            "ADD PARTITION (PARTITION p VALUES LESS THAN (9))",
            "COALESCE PARTITION 2",
            "REORGANIZE PARTITION p, q INTO (PARTITION r VALUES LESS THAN (9))",
            "REBUILD PARTITION ALL",
            "PARTITION BY HASH (a) PARTITIONS 4",
            "REMOVE PARTITIONING",
            "ADD SYSTEM VERSIONING",
            "STATS_PERSISTENT=1 KEY_BLOCK_SIZE=8 COMPRESSION='zlib'",
            "PAGE_COMPRESSED=1 ENCRYPTED=YES TRANSACTIONAL=1",
            "RENAME TO u",
        ] {
            assert_eq!(of(clauses), RowEffect::None, "{clauses}");
        }
    }

    #[test]
    fn clauses_that_change_rows() {
        for (clauses, by) in [
            ("DROP COLUMN v, ADD COLUMN V INT", "a column that takes the name of another one"),
            (
                "RENAME COLUMN a TO b, RENAME COLUMN b TO a",
                "a column that takes the name of another one",
            ),
            ("DROP a, CHANGE b a INT", "a column that takes the name of another one"),
            ("MODIFY g INT AS (a + 2) STORED", "MODIFY or CHANGE of a generated column"),
            ("ENGINE=CONNECT", "an ENGINE that is not known to keep the rows"),
            ("UNION=(a, b)", "the option UNION"),
            ("COMMENT 'x' CONNECTION='mysql://x/y'", "the option CONNECTION"),
            ("FILE_NAME='x.csv'", "an option that is not known"),
            ("DROP PARTITION IF EXISTS p, q", "DROP PARTITION"),
            ("TRUNCATE PARTITION ALL", "TRUNCATE PARTITION"),
            ("REPAIR PARTITION p", "REPAIR PARTITION"),
            ("EXCHANGE PARTITION p WITH TABLE u", "EXCHANGE PARTITION"),
            ("DISCARD TABLESPACE", "DISCARD TABLESPACE"),
            ("IMPORT PARTITION p TABLESPACE", "IMPORT TABLESPACE"),
            ("CONVERT PARTITION p TO TABLE u", "CONVERT PARTITION or TABLE"),
            ("DROP SYSTEM VERSIONING", "DROP SYSTEM VERSIONING"),
            ("DO SOMETHING NEW", "an ALTER TABLE with a clause that is not known"),
            ("COMMENT 'not ended", "an ALTER TABLE with a clause that is not known"),
        ] {
            assert_eq!(of(clauses), RowEffect::Some(by), "{clauses}");
        }
        assert_eq!(of("ADD a INT, ENGINE BLACKHOLE"), RowEffect::All("ENGINE=BLACKHOLE"));
        for clauses in ["CONVERT TO CHARACTER SET latin1", "CONVERT TO CHARSET DEFAULT"] {
            assert_eq!(
                of(clauses),
                RowEffect::UnlessStrict("CONVERT TO CHARACTER SET"),
                "{clauses}"
            );
        }
        let sql = "ALTER ONLINE IGNORE TABLE t ADD UNIQUE (a)";
        let ddl = ParsedStatement::parse(sql, "shop", QuoteMode::default()).ddl().unwrap().unwrap();
        assert_eq!(ddl.rows, RowEffect::Some("ALTER IGNORE TABLE"));
    }
}
