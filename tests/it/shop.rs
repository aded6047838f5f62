//! The shop example, decoded completely.

use crate::fixtures::shop;
use crate::rows::{Row, options, read};
use std::collections::{BTreeMap, BTreeSet};

/// The columns that identify a row.
const KEYS: [(&str, &[&str]); 4] = [
    ("shop.customers", &["id"]),
    ("shop.products", &["sku"]),
    ("shop.orders", &["id"]),
    ("shop.order_items", &["order_id", "line"]),
];

#[test]
fn the_books_agree() {
    let shop = shop();
    let expected = shop.expected().unwrap();
    for threads in [1, 4] {
        let outcome =
            read(shop.paths(), binarrow::reader::ReadOptions { threads, ..options() }).ok();
        assert_eq!(outcome.warnings, Vec::<String>::new());
        assert_eq!(outcome.stats.rows, outcome.rows.len() as u64);
        assert_eq!(outcome.stats.dropped_rows_events, 0);
        let tables = outcome.by_table();
        assert_eq!(tables.keys().map(AsRef::as_ref).collect::<BTreeSet<_>>().len(), 4);
        for (table, key) in KEYS {
            let rows = &tables[table];
            let count =
                |change: &str| rows.iter().filter(|row| row.change == change).count() as u64;
            let book = |name: &str| expected["tables"][table][name].as_u64().unwrap();
            // An update of the key is a delete and an insert; the recorded counts have it as an
            // update.
            let split = book("key_update");
            assert_eq!(count("insert"), book("insert") + split, "{table}");
            assert_eq!(count("delete"), book("delete") + split, "{table}");
            assert_eq!(count("update_preimage"), book("update") - split, "{table}");
            assert_eq!(count("update_postimage"), book("update") - split, "{table}");
            assert_eq!(replay(rows, key) as u64, book("rows"), "{table}");

            let stats = outcome
                .stats
                .tables
                .iter()
                .find(|((database, name), _)| format!("{database}.{name}") == table);
            let stats = stats.unwrap().1;
            assert_eq!(
                (stats.inserts, stats.updates, stats.deletes),
                (book("insert"), book("update"), book("delete"))
            );
        }
    }
}

/// The number of rows that are left at the end; each change must match the existing rows.
fn replay(rows: &[Row], key: &[&str]) -> usize {
    let mut table: BTreeMap<Vec<&str>, &Row> = BTreeMap::new();
    for row in rows {
        let key: Vec<&str> = key.iter().map(|column| row.cell(column).unwrap()).collect();
        match row.change.as_str() {
            "insert" => assert!(table.insert(key, row).is_none()),
            "update_postimage" => assert!(table.insert(key, row).is_none()),
            _ => {
                let before = table.remove(&key).unwrap();
                for column in before.columns.iter() {
                    assert_eq!(before.cell(column), row.cell(column), "{column}");
                }
            }
        }
    }
    table.len()
}

#[test]
fn the_new_column_is_there_from_its_alter_on() {
    let outcome = read(shop().paths(), options()).ok();
    let orders = &outcome.by_table()["shop.orders"];
    let changed =
        orders.iter().position(|row| row.columns.contains(&"channel".to_owned())).unwrap();
    assert!(changed > 0);
    assert!(orders[changed..].iter().all(|row| row.columns.contains(&"channel".to_owned())));
    assert!(orders[..changed].iter().all(|row| !row.columns.contains(&"channel".to_owned())));
}
