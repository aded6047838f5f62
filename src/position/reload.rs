//! Positions at which tables are loaded, again or for the first time, while the log continues.

use super::load_progress::{RowsRead, TableLoad};
use super::position::Position;
use crate::error::Error;
use std::sync::Arc;

impl Position {
    /// The position at which a stream also loads tables: their existing rows are returned between the changes.
    ///
    /// # Errors
    /// It is a GTID set alone, so it is not known which changes are before the rows.
    pub fn with_load(&self, tables: Vec<TableLoad>) -> Result<Self, Error> {
        if self.file.is_empty() {
            return Err(Error::config(
                "the position is a GTID set alone: range_end(position, stop=position) returns the same position with its file \
                 and offset, from which tables can be loaded",
            ));
        }
        let mut position = self.clone();
        let is_partial = self.load.as_ref().is_none_or(|load| load.is_partial);
        let load = Arc::make_mut(position.load.get_or_insert_default());
        load.is_partial = is_partial;
        for table in tables {
            // The changes that were delivered after the place are in its rows, or come again before them.
            for ahead in &mut position.ahead {
                ahead
                    .tables
                    .retain(|(database, name)| *database != table.database || *name != table.table);
            }
            let table = TableLoad { read: RowsRead::Nothing, ..table };
            let known = load
                .tables
                .iter_mut()
                .find(|known| known.database == table.database && known.table == table.table);
            match known {
                Some(known) => *known = table,
                None => load.tables.push(table),
            }
        }
        position.ahead.retain(|ahead| !ahead.tables.is_empty());
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use crate::position::{Ahead, Position, RowsRead, TableLoad};
    use std::sync::Arc;

    fn table(name: &str) -> TableLoad {
        TableLoad::new("shop", name)
    }

    #[test]
    fn tables_are_loaded_from_their_first_row() {
        let mut position = Position::in_file("b.000001", 900);
        position.ahead = vec![Ahead {
            tables: vec![("shop".into(), "a".into()), ("shop".into(), "b".into())],
            offset: Some(1_000),
            gtid_set: None,
            changes: 0,
            next_gtid: None,
        }];
        let filtered = TableLoad { condition: Some("id > 7".into()), ..table("a") };
        let again = position.with_load(vec![filtered]).unwrap();
        assert_eq!(again.ahead[0].tables, [("shop".to_owned(), "b".to_owned())]);
        let load = again.load.as_ref().unwrap();
        assert!(load.is_partial);
        assert_eq!(load.missing(), ["shop.a"]);
        assert_eq!(Position::from_json(&again.to_json().unwrap()).unwrap(), again);
        // A load that runs loads it too.
        let mut running = again;
        let load = Arc::make_mut(running.load.as_mut().unwrap());
        (load.tables[0].read, load.is_partial) = (RowsRead::All, false);
        let both = running.with_load(vec![table("b"), table("a")]).unwrap();
        let load = both.load.unwrap();
        assert!(!load.is_partial && both.ahead.is_empty());
        assert_eq!(load.missing(), ["shop.a", "shop.b"]);
        assert_eq!(load.tables[0].condition, None);
        let alone = Position { file: String::new(), ..Position::default() };
        alone.with_load(vec![table("a")]).unwrap_err();
    }
}
