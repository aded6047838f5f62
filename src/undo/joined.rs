//! The statements of consecutive changes: several rows per INSERT, several keys per DELETE.

use super::statement::Form;
use super::table::{IN, Table};

/// Writes statements. The last one may be open: then the next change can be added to it.
#[derive(Debug, Default)]
pub(super) struct Joined {
    open: Option<Open>,
    /// The length of the longest statement so far.
    pub(super) longest: usize,
}

/// An open statement.
#[derive(Debug)]
struct Open {
    form: Form,
    /// True if the server refuses the statement in strict mode.
    is_lenient: bool,
    /// The number of its rows.
    rows: usize,
    /// The place where it starts.
    start: usize,
    /// The place of its first row or key.
    first: usize,
}

impl Joined {
    /// Adds the text of a change.
    pub(super) fn push(
        &mut self,
        table: &Table,
        (form, is_lenient): (Form, bool),
        text: &[u8],
        out: &mut Vec<u8>,
    ) {
        let (head, separator): (&[u8], &[u8]) = match form {
            Form::Row => (&table.insert, b",\n"),
            Form::Key => (table.delete.as_deref().unwrap_or_default(), b", "),
            Form::Statement => {
                self.close(out);
                set_lenient(is_lenient, out);
                let start = out.len();
                out.extend_from_slice(text);
                return self.end(start, is_lenient, out);
            }
        };
        let is_open = self.open.as_ref().is_some_and(|open| {
            open.form == form
                && open.is_lenient == is_lenient
                && open.rows < MAX_ROWS
                && out.len() - open.start + separator.len() + text.len() <= MAX_BYTES
        });
        match self.open.as_mut().filter(|_| is_open) {
            Some(open) => {
                open.rows += 1;
                out.extend_from_slice(separator);
            }
            None => {
                self.close(out);
                set_lenient(is_lenient, out);
                let start = out.len();
                out.extend_from_slice(head);
                let first = out.len();
                self.open = Some(Open { form, is_lenient, rows: 1, start, first });
            }
        }
        out.extend_from_slice(text);
    }

    /// Ends the open statement.
    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        let Some(Open { form, is_lenient, rows, start, first }) = self.open.take() else { return };
        match form {
            Form::Row | Form::Statement => {}
            Form::Key if rows > 1 => out.push(b')'),
            Form::Key => {
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

    const ROW: (Form, bool) = (Form::Row, false);
    const KEY: (Form, bool) = (Form::Key, false);

    fn table() -> Table {
        Table {
            insert: b"INSERT INTO t VALUES\n".to_vec(),
            delete: Some(b"DELETE FROM t WHERE id IN (".to_vec()),
            ..Table::default()
        }
    }

    #[test]
    fn rows_and_keys_are_joined() {
        let (table, mut joined, mut out) = (table(), Joined::default(), Vec::new());
        let changes: [(_, &[u8]); 8] = [
            (ROW, b"(1)"),
            (ROW, b"(2)"),
            ((Form::Row, true), b"(0)"),
            (KEY, b"12"),
            ((Form::Statement, false), b"UPDATE t SET n = 1"),
            (KEY, b"3"),
            (KEY, b"-4"),
            (KEY, b"5"),
        ];
        for (form, text) in changes {
            joined.push(&table, form, text, &mut out);
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
        let (table, mut joined, mut out) = (table(), Joined::default(), Vec::new());
        for _ in 0..=MAX_ROWS {
            joined.push(&table, ROW, b"(1)", &mut out);
        }
        joined.close(&mut out);
        assert_eq!(String::from_utf8(out.split_off(0)).unwrap().matches("INSERT").count(), 2);
        let long = vec![b'x'; MAX_BYTES];
        for row in [&b"(1)"[..], &long, b"(2)"] {
            joined.push(&table, ROW, row, &mut out);
        }
        joined.close(&mut out);
        let text = String::from_utf8(out).unwrap();
        let sizes: Vec<usize> = text.split(";\n").map(str::len).collect();
        assert_eq!(sizes, [24, 21 + MAX_BYTES, 24, 0]);
    }
}
