//! All collation ids of all servers, compared with the lists of the servers
//! (`tests/support/oracles/charset_tables.py` records them, `tests/fidelity/test_charsets.py`
//! compares them with live servers).

use binarrow::charset::{Charset, Collation};
use std::path::Path;

fn recorded(flavor: &str) -> Vec<(u32, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/oracles/collations");
    let list = std::fs::read_to_string(folder.join(format!("{flavor}.tsv"))).unwrap();
    list.lines()
        .map(|line| {
            let mut parts = line.split('\t');
            let mut next = || parts.next().unwrap().to_owned();
            (next().parse().unwrap(), next(), next())
        })
        .collect()
}

#[test]
fn ids_are_the_servers() {
    for (flavor, count) in [("mysql", 286), ("mariadb-10.11", 1242), ("mariadb-11.8", 1288)] {
        let collations = recorded(flavor);
        assert_eq!(collations.len(), count, "{flavor}");
        for (id, charset, name) in collations {
            assert_eq!(Collation(id).charset().name(), charset, "{flavor}: {name}, {id}");
        }
    }
}

/// The lists contain all ids that exist; this checks that other ids are unknown.
#[test]
fn ids_of_no_server_are_unknown() {
    for id in [0, 17, 100, 125, 184, 216, 254, 324, 575, 1024, 1280, 2047, 3328, u32::MAX] {
        assert_eq!(Collation(id).charset(), Charset::Unknown, "{id}");
    }
}
