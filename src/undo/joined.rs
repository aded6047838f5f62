//! The statements of consecutive changes: several rows per INSERT, several keys per DELETE.

use super::table::{IN, Table};
use crate::error::Result;

/// Writes statements. The last one may be open: then the next change can be added to it.
pub(super) struct Joined<'t> {
    table: &'t Table,
    open: Option<Open>,
    /// The length of the longest statement so far.
    pub(super) longest: usize,
}

/// An open statement.
struct Open {
    kind: Kind,
    /// True if the server refuses the statement in strict mode.
    is_lenient: bool,
    /// The number of its rows.
    rows: usize,
    /// The place where it starts.
    start: usize,
    /// The place of its first row or key.
    first: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Insert,
    Delete,
}

impl<'t> Joined<'t> {
    pub(super) const fn new(table: &'t Table) -> Self {
        Self { table, open: None, longest: 0 }
    }

    /// Writes the INSERT of a row. `write` appends its values.
    pub(super) fn insert(
        &mut self,
        is_lenient: bool,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let Some(open) = self.room(Kind::Insert, is_lenient, out) else {
            self.begin(Kind::Insert, is_lenient, &self.table.insert, out);
            return write(out);
        };
        let end = out.len();
        out.extend_from_slice(b",\n");
        write(out)?;
        if out.len() - open.start <= MAX_BYTES {
            open.rows += 1;
            return Ok(());
        }
        // The statement is too long with this row, so the row begins a new one.
        let row = out.split_off(end + 2);
        out.truncate(end);
        self.begin(Kind::Insert, is_lenient, &self.table.insert, out);
        out.extend_from_slice(&row);
        Ok(())
    }

    /// Writes the DELETE of a row. `write` appends its key. `head` is the text of the statement before the first key.
    pub(super) fn delete(
        &mut self,
        head: &[u8],
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        match self.room(Kind::Delete, false, out) {
            Some(open) => {
                open.rows += 1;
                out.extend_from_slice(b", ");
            }
            None => self.begin(Kind::Delete, false, head, out),
        }
        write(out)
    }

    /// Writes a complete statement. `write` appends it.
    pub(super) fn statement(
        &mut self,
        is_lenient: bool,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.close(out);
        set_lenient(is_lenient, out);
        let start = out.len();
        write(out)?;
        self.end(start, is_lenient, out);
        Ok(())
    }

    /// Ends the open statement.
    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        let Some(Open { kind, is_lenient, rows, start, first }) = self.open.take() else { return };
        match kind {
            Kind::Insert => {}
            Kind::Delete if rows > 1 => out.push(b')'),
            Kind::Delete => {
                let before = first - IN.len();
                let key = before + EQUALS.len();
                out.copy_within(first.., key);
                out.truncate(out.len() - (first - key));
                if let Some(operator) = out.get_mut(before..key) {
                    operator.copy_from_slice(EQUALS);
                }
            }
        }
        self.end(start, is_lenient, out);
    }

    /// The open statement, if one more row of this kind can be added.
    fn room(&mut self, kind: Kind, is_lenient: bool, out: &[u8]) -> Option<&mut Open> {
        self.open.as_mut().filter(|open| {
            open.kind == kind
                && open.is_lenient == is_lenient
                && open.rows < MAX_ROWS
                && out.len() - open.start < MAX_BYTES
        })
    }

    fn begin(&mut self, kind: Kind, is_lenient: bool, head: &[u8], out: &mut Vec<u8>) {
        self.close(out);
        set_lenient(is_lenient, out);
        let start = out.len();
        out.extend_from_slice(head);
        self.open = Some(Open { kind, is_lenient, rows: 1, start, first: out.len() });
    }

    fn end(&mut self, start: usize, is_lenient: bool, out: &mut Vec<u8>) {
        self.longest = self.longest.max(out.len() - start);
        out.extend_from_slice(b";\n");
        if is_lenient {
            out.extend_from_slice(b"SET sql_mode = @binarrow_strict;\n");
        }
    }
}

fn set_lenient(is_lenient: bool, out: &mut Vec<u8>) {
    if is_lenient {
        out.extend_from_slice(b"SET sql_mode = @binarrow_lenient;\n");
    }
}

/// The operator before the key of a DELETE of one row.
const EQUALS: &[u8] = b" = ";

/// The maximum number of rows of a statement. MariaDB reads longer lists of keys as a subquery.
const MAX_ROWS: usize = 500;

/// The maximum number of bytes of a statement of several rows.
const MAX_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table { insert: b"INSERT INTO t VALUES\n".to_vec(), ..Table::default() }
    }

    fn push(text: &[u8]) -> impl FnOnce(&mut Vec<u8>) -> Result<()> {
        move |out| {
            out.extend_from_slice(text);
            Ok(())
        }
    }

    #[test]
    fn rows_and_keys_are_joined() {
        let (table, mut out) = (table(), Vec::new());
        let mut joined = Joined::new(&table);
        let head = b"DELETE FROM t WHERE id IN (";
        for row in ["(1)", "(2)"] {
            joined.insert(false, &mut out, push(row.as_bytes())).unwrap();
        }
        joined.insert(true, &mut out, push(b"(0)")).unwrap();
        joined.delete(head, &mut out, push(b"12")).unwrap();
        joined.statement(false, &mut out, push(b"UPDATE t SET n = 1")).unwrap();
        for key in ["3", "-4", "5"] {
            joined.delete(head, &mut out, push(key.as_bytes())).unwrap();
        }
        joined.close(&mut out);
        joined.close(&mut out);
        let expected = "INSERT INTO t VALUES\n(1),\n(2);\nSET sql_mode = @binarrow_lenient;\nINSERT INTO t VALUES\n(0);\n\
                        SET sql_mode = @binarrow_strict;\nDELETE FROM t WHERE id = 12;\nUPDATE t SET n = 1;\n\
                        DELETE FROM t WHERE id IN (3, -4, 5);\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(joined.longest, "DELETE FROM t WHERE id IN (3, -4, 5)".len());
    }

    #[test]
    fn statements_have_limits() {
        let (table, mut out) = (table(), Vec::new());
        let mut joined = Joined::new(&table);
        for _ in 0..=MAX_ROWS {
            joined.insert(false, &mut out, push(b"(1)")).unwrap();
        }
        joined.close(&mut out);
        assert_eq!(String::from_utf8(out.split_off(0)).unwrap().matches("INSERT").count(), 2);
        let long = vec![b'x'; MAX_BYTES];
        for row in [&b"(1)"[..], &long, b"(2)"] {
            joined.insert(false, &mut out, push(row)).unwrap();
        }
        joined.close(&mut out);
        let text = String::from_utf8(out).unwrap();
        let sizes: Vec<usize> = text.split(";\n").map(str::len).collect();
        assert_eq!(sizes, [24, 21 + MAX_BYTES, 24, 0]);
    }
}
