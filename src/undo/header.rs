//! The begin and the end of the script: what it contains, what the server will do besides, and the
//! settings of the session.

use super::Direction;
use super::literal;
use super::table::Counted;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The facts that the header contains.
pub(super) struct Facts<'s> {
    pub(super) direction: Direction,
    pub(super) is_mariadb: bool,
    pub(super) foreign_key_checks: bool,
    pub(super) transactions: u64,
    /// The longest statement.
    pub(super) longest: usize,
    pub(super) counts: &'s BTreeMap<(Arc<str>, Arc<str>), Counted>,
    pub(super) notes: &'s [String],
}

/// Writes the header.
pub(super) fn write(facts: &Facts<'_>, out: &mut Vec<u8>) {
    let (server, client) = match facts.is_mariadb {
        true => ("MariaDB", "mariadb"),
        false => ("MySQL", "mysql"),
    };
    let effect = match facts.direction {
        Direction::Undo => "reverses changes in the binary log, the last transaction first",
        Direction::Redo => "repeats changes in the binary log, in their order",
    };
    line(out, &format!("This script {effect}. Transactions: {}.", facts.transactions));
    line(out, "binarrow wrote it and did not execute it. Read it before you execute it.");
    let state = match facts.direction {
        Direction::Undo => "after",
        Direction::Redo => "before",
    };
    line(
        out,
        &format!(
            "It is for {server}, and expects the rows as they were {state} the changes: {client} < FILE"
        ),
    );
    line(out, "");
    for ((database, table), counted) in facts.counts {
        let counts = counted.counts;
        let rows = match &counted.key {
            Some(key) => format!("rows are found by the key ({key})"),
            None => "no key is known: rows are found by all columns, with LIMIT 1".to_owned(),
        };
        line(
            out,
            &format!(
                "{database}.{table}: {} inserts, {} updates, {} deletes; {rows}",
                counts.inserts, counts.updates, counts.deletes
            ),
        );
    }
    line(out, "");
    let foreign_keys = match facts.foreign_key_checks {
        false => {
            "Foreign keys: not checked. The statements change only the rows that they name. Rows that an action such as \
             ON DELETE CASCADE changed are included only if the log contains them."
        }
        true => {
            "Foreign keys: checked. The server executes their actions, such as ON DELETE CASCADE, which change rows that no statement \
             here names."
        }
    };
    line(out, foreign_keys);
    line(
        out,
        "Triggers: the server executes the triggers of these tables. The log contains the rows that triggers changed, so they are \
         changed twice if their tables are included: remove the triggers first.",
    );
    line(
        out,
        "Generated columns are left out if their definition is known. If it is not, the server refuses the statement.",
    );
    facts.notes.iter().for_each(|note| line(out, note));
    line(out, &format!("The longest statement has {} bytes (max_allowed_packet).", facts.longest));
    out.push(b'\n');
    let checks = if facts.foreign_key_checks { "1" } else { "0" };
    for (variable, value) in [("foreign_key_checks", checks), ("unique_checks", "1")] {
        push(out, &format!("SET @binarrow_{variable} = @@{variable}, {variable} = {value};\n"));
    }
    push(out, "SET @binarrow_time_zone = @@time_zone, time_zone = '+00:00';\n");
    push(out, "SET @binarrow_sql_mode = @@sql_mode, @binarrow_lenient = '");
    push(out, LENIENT);
    push(out, "';\nSET @binarrow_strict = CONCAT(@binarrow_lenient, ',STRICT_ALL_TABLES');\n");
    push(out, "SET sql_mode = @binarrow_strict;\nSET NAMES utf8mb4;\n");
}

/// Writes the end.
pub(super) fn write_end(out: &mut Vec<u8>) {
    push(out, "\nSET sql_mode = @binarrow_sql_mode;\nSET time_zone = @binarrow_time_zone;\n");
    push(out, "SET foreign_key_checks = @binarrow_foreign_key_checks;\n");
    push(out, "SET unique_checks = @binarrow_unique_checks;\n");
}

fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"--");
    if !text.is_empty() {
        out.push(b' ');
        literal::comment(text, out);
    }
    out.push(b'\n');
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Zero dates and impossible dates are accepted, and 0 in an AUTO_INCREMENT column.
const LENIENT: &str = "ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO";
