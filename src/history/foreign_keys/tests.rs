//! Foreign keys of structures, and the tables that their actions change.

use super::*;
use crate::ddl::{DdlSession, SqlServer};

fn keys(sql: &str) -> ForeignKeys {
    let mut schemas = Schemas::default();
    schemas.add_text(format!("USE shop; {sql}")).unwrap();
    ForeignKeys::of_schemas(&schemas)
}

fn name(text: &str) -> TableName {
    let (database, table) = text.split_once('.').unwrap();
    TableName { database: database.into(), table: table.into() }
}

fn shown(keys: &ForeignKeys, parent: &str, read: &[&str]) -> String {
    let is_read = |table: &TableName| read.contains(&&*table.to_string());
    match keys.actions_of(&name(parent), &is_read) {
        None => "unknown".into(),
        Some(Actions { delete, update }) => {
            let delete = delete.map(|one| format!("{} {}", one.child, one.action));
            let update = update.iter().map(|(columns, one)| {
                format!("{} {} of {}", one.child, one.action, columns.join(","))
            });
            delete.into_iter().chain(update).collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn keys_that_are_reached() {
    let keys = keys(
        "CREATE TABLE p (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES g (c) ON DELETE CASCADE);
         CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE SET NULL);
         CREATE TABLE g (c INT, FOREIGN KEY (c) REFERENCES c (id) ON DELETE SET NULL);
         CREATE TABLE r (p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE RESTRICT)",
    );
    for (parent, is_delete, expected) in [
        ("shop.p", true, vec!["c", "g"]),
        ("shop.p", false, vec!["c"]),
        ("shop.g", true, vec!["p", "c", "g"]),
        ("shop.r", true, vec![]),
    ] {
        let reached = keys.reached_from(&name(parent), is_delete);
        let children: Vec<_> = reached.iter().map(|key| key.child.table.as_str()).collect();
        assert_eq!(children, expected, "{parent}");
    }
}

#[test]
fn actions() {
    let keys = keys(
        "CREATE TABLE p (id INT PRIMARY KEY, u INT, UNIQUE (u));
         CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT x FOREIGN KEY (p) REFERENCES `p` (`id`) ON DELETE CASCADE);
         CREATE TABLE n (p INT, FOREIGN KEY (p) REFERENCES p (u) ON UPDATE CASCADE ON DELETE SET NULL);
         CREATE TABLE r (p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE RESTRICT ON UPDATE NO ACTION);
         CREATE TABLE g (c INT, FOREIGN KEY (c) REFERENCES shop.c (id) ON DELETE SET DEFAULT ON UPDATE CASCADE);
         CREATE TABLE o (o INT, FOREIGN KEY (o) REFERENCES crm.o (id) MATCH FULL ON DELETE CASCADE);
         CREATE TABLE s (id INT PRIMARY KEY, s INT, FOREIGN KEY (s) REFERENCES s (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    );
    for (parent, read, expected) in [
        ("shop.p", vec!["shop.c"], "shop.c ON DELETE CASCADE"),
        ("shop.P", vec!["shop.n"], "shop.n ON DELETE SET NULL; shop.n ON UPDATE CASCADE of u"),
        ("shop.p", vec!["shop.r"], ""),
        ("shop.p", vec!["shop.p"], ""),
        // Through c, which is not read; an update of p's key changes no key of c that g refers to.
        ("shop.p", vec!["shop.g"], "shop.g ON DELETE SET DEFAULT"),
        ("shop.c", vec!["shop.g"], "shop.g ON DELETE SET DEFAULT; shop.g ON UPDATE CASCADE of id"),
        ("shop.g", vec!["shop.g"], "unknown"),
        ("crm.o", vec!["shop.o"], "shop.o ON DELETE CASCADE"),
        ("shop.s", vec!["shop.s"], "shop.s ON DELETE CASCADE; shop.s ON UPDATE CASCADE of id"),
        ("shop.s", vec![], ""),
    ] {
        assert_eq!(shown(&keys, parent, &read), expected, "{parent} {read:?}");
    }
    assert!(keys.describes("shop", "c") && !keys.describes("shop", "x"));
}

#[test]
fn a_circle_ends() {
    let keys = keys(
        "CREATE TABLE a (id INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE);
         CREATE TABLE b (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE)",
    );
    assert_eq!(shown(&keys, "shop.a", &["shop.x"]), "");
    assert_eq!(shown(&keys, "shop.a", &["shop.a"]), "shop.a ON DELETE CASCADE");
}

#[test]
fn tables_that_unknown_foreign_keys_may_change() {
    let script = "CREATE DATABASE shop; USE shop; CREATE TABLE p (id INT PRIMARY KEY);
         CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE);
         CREATE TABLE u (id INT PRIMARY KEY, p INT);
         CREATE TABLE y (u INT, o INT, FOREIGN KEY (u) REFERENCES u (id) ON UPDATE CASCADE);
         CREATE TABLE z (o INT, FOREIGN KEY (o) REFERENCES crm.o (id) ON DELETE SET NULL)";
    let mut catalog = Catalog::from_script(script, None, &DdlSession::new(SERVER)).unwrap();
    let shown = |catalog: &Catalog, read: &[&str]| {
        let is_read = |table: &TableName| read.contains(&&*table.to_string());
        let keys = ForeignKeys::of_catalog(catalog);
        keys.changed_by_open(&is_read).into_iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let all = ["shop.p", "shop.c", "shop.u", "shop.y", "shop.z"];
    // A table that the catalog lacks may have any foreign keys.
    assert_eq!(shown(&catalog, &all), ["shop.z"]);
    assert_eq!(shown(&catalog, &["shop.c", "shop.y"]), [""; 0]);
    catalog.set_unknown("shop", "u", "a statement".into());
    assert_eq!(shown(&catalog, &all), ["shop.u", "shop.y", "shop.z"]);
    assert_eq!(shown(&catalog, &["shop.y"]), ["shop.y"]);
    assert_eq!(shown(&catalog, &["shop.p", "shop.c"]), [""; 0]);
}

const SERVER: SqlServer = SqlServer { is_mariadb: false, version: (5, 7, 44) };
