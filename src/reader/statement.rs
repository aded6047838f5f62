//! The parts of a statement that contain no values, and so can be shown.

/// Returns the words and names at the beginning of a statement, up to the first part that may
/// contain a value (a quote, a number, a parenthesis, an operator, a comment); the rest is replaced
/// by `…`. Comments before the first word are skipped.
///
/// ```text
/// CREATE TABLE shop.orders (id INT ...)     ->  CREATE TABLE shop.orders …
/// UPDATE customers SET phone = '555-1234'   ->  UPDATE customers SET phone …
/// ```
///
/// Bytes that are not UTF-8 are text of a client whose character set is not known. The text after
/// the first such byte is not returned either, because it may contain bytes that look like quotes.
pub(super) fn head(sql: &[u8]) -> String {
    let sql = after_comments(sql);
    if std::str::from_utf8(sql).is_err() {
        let ascii = sql.split(|byte| !byte.is_ascii()).next().unwrap_or_default();
        let shown = head(ascii);
        return if shown.ends_with('…') { shown } else { format!("{shown}…") };
    }
    let mut end = 0;
    while let Some(len) = sql.get(end..).and_then(harmless) {
        end += len;
    }
    let (shown, rest) = sql.split_at_checked(end).unwrap_or((sql, &[]));
    let shown = String::from_utf8_lossy(shown.trim_ascii());
    match (shown.is_empty(), rest.trim_ascii().is_empty()) {
        (_, true) => shown.into_owned(),
        (true, false) => "…".into(),
        (false, false) => format!("{shown} …"),
    }
}

/// The length of the next piece of `sql` if it contains no value: a word, a name in backticks, a
/// space, a point or comma.
fn harmless(sql: &[u8]) -> Option<usize> {
    match sql.first()? {
        b' ' | b'\t' | b'\n' | b'\r' | b'.' | b',' | b';' => Some(1),
        b'`' => sql.iter().skip(1).position(|byte| *byte == b'`').map(|inner| inner + 2),
        // `$tag$` begins text, for example the text of a routine in JavaScript.
        byte if is_word_byte(*byte) && !byte.is_ascii_digit() && *byte != b'$' => {
            let len = sql.iter().take_while(|byte| is_word_byte(**byte)).count();
            // x'41', n'text', _latin1'text', date'2026-01-01'
            let is_literal = matches!(sql.get(len), Some(b'\'' | b'"'));
            (!is_literal).then_some(len)
        }
        _ => None,
    }
}

const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn after_comments(mut sql: &[u8]) -> &[u8] {
    loop {
        sql = sql.trim_ascii_start();
        let Some(comment) = sql.strip_prefix(b"/*") else { return sql };
        // `/*!` and `/*M!` contain statements, which are not skipped.
        if comment.starts_with(b"!") || comment.starts_with(b"M!") {
            return sql;
        }
        let Some(end) = comment.windows(2).position(|pair| pair == b"*/") else { return sql };
        sql = comment.get(end + 2..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn no_value_is_shown() {
        for (sql, shown) in [
            ("BEGIN", "BEGIN"),
            ("TRUNCATE TABLE a;", "TRUNCATE TABLE a;"),
            ("CREATE TABLE shop.`o``d rs` (id INT)", "CREATE TABLE shop.`o``d rs` …"),
            ("INSERT INTO t VALUES (1, 'secret')", "INSERT INTO t VALUES …"),
            ("INSERT INTO t SELECT 5", "INSERT INTO t SELECT …"),
            ("INSERT INTO t SELECT X'736563'", "INSERT INTO t SELECT …"),
            ("INSERT INTO t SELECT _latin1'secret'", "INSERT INTO t SELECT …"),
            ("UPDATE `c` SET phone='555'", "UPDATE `c` SET phone …"),
            ("CREATE USER 'x'@'%' IDENTIFIED BY 'secret'", "CREATE USER …"),
            ("SET PASSWORD FOR root = 'secret'", "SET PASSWORD FOR root …"),
            ("/* app: secret */ DELETE FROM t -- secret", "DELETE FROM t …"),
            ("/*!40000 ALTER TABLE t */", "…"),
            ("'secret", "…"),
            ("INSERT INTO `secret", "INSERT INTO …"),
            ("ALTER TABLE prix_été ADD COLUMN a INT", "ALTER TABLE prix_été ADD COLUMN a INT"),
            ("", ""),
        ] {
            assert_eq!(head(sql.as_bytes()), shown, "{sql}");
        }
        assert_eq!(head(b"\xff\xfe \xff'"), "…");
        // 8160 is one character of gbk, the other backtick begins a name
        assert_eq!(head(b"INSERT INTO \x81` SELECT 'secret' AS `b`"), "INSERT INTO…");
        assert_eq!(head(b"UPDATE a SET b = '\xff'"), "UPDATE a SET b …");
    }
}
