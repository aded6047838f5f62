//! Foreign keys of structures, and the tables that their actions change.

use super::*;

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
