//! The effect of the statement of a Query event on the transaction around it.
//!
//! Servers write each of these statements in one form (`BEGIN`, ``SAVEPOINT `name` ``, `XA COMMIT
//! X'616263',X'',1`); other forms with the same meaning are parsed too, and comments are skipped.

use crate::position::Xid;
use crate::wire::from_hex;

/// The effect of a statement on the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryKind {
    /// Starts a transaction.
    Begin,
    /// Commits the transaction.
    Commit,
    /// Rolls back the transaction.
    Rollback,
    /// Sets a savepoint. The name is without quotes and in lower case, as servers compare it.
    Savepoint(Vec<u8>),
    /// Rolls back the changes after the savepoint.
    RollbackTo(Vec<u8>),
    /// Starts an XA transaction.
    XaStart(Xid),
    /// The statements of an XA transaction end; it is neither prepared nor committed yet.
    XaEnd,
    /// Commits a prepared XA transaction.
    XaCommit(Xid),
    /// Rolls back a prepared XA transaction.
    XaRollback(Xid),
    /// `CREATE TABLE ... START TRANSACTION`: rows follow, and their commit creates the table too
    /// (MySQL's `CREATE TABLE ... SELECT`).
    CreateTableStartTransaction,
    /// Any other statement.
    Other,
}

impl QueryKind {
    /// Parses the text of a statement.
    pub fn of(sql: &[u8]) -> Self {
        match sql {
            b"BEGIN" => Self::Begin,
            b"COMMIT" => Self::Commit,
            _ => parse(sql).unwrap_or(Self::Other),
        }
    }
}

fn parse(sql: &[u8]) -> Option<QueryKind> {
    let mut tokens = Tokens { sql };
    let word = tokens.word()?;
    let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
    if is("CREATE") {
        return starts_transaction(sql, tokens).then_some(QueryKind::CreateTableStartTransaction);
    }
    let kind = if is("BEGIN") {
        tokens.skip_word("WORK");
        QueryKind::Begin
    } else if is("START") {
        tokens.expect("TRANSACTION")?;
        return Some(QueryKind::Begin); // its options follow
    } else if is("COMMIT") {
        tokens.skip_word("WORK");
        QueryKind::Commit
    } else if is("ROLLBACK") {
        tokens.skip_word("WORK");
        if tokens.skip_word("TO") {
            // a savepoint may have the name `savepoint`, even without quotes
            let mut name = tokens;
            if name.skip_word("SAVEPOINT") && !name.is_at_end() {
                tokens = name;
            }
            QueryKind::RollbackTo(tokens.name()?)
        } else {
            QueryKind::Rollback
        }
    } else if is("SAVEPOINT") {
        QueryKind::Savepoint(tokens.name()?)
    } else if is("XA") {
        return parse_xa(tokens);
    } else {
        return None;
    };
    tokens.is_at_end().then_some(kind)
}

/// Parses the words after `XA`; options after the id are ignored.
fn parse_xa(mut tokens: Tokens<'_>) -> Option<QueryKind> {
    let word = tokens.word()?.to_ascii_uppercase();
    match word.as_slice() {
        b"END" => Some(QueryKind::XaEnd),
        b"START" | b"BEGIN" => tokens.xid().map(QueryKind::XaStart),
        b"COMMIT" => tokens.xid().map(QueryKind::XaCommit),
        b"ROLLBACK" => tokens.xid().map(QueryKind::XaRollback),
        _ => None,
    }
}

/// True if a statement that begins with CREATE is a CREATE TABLE whose last words are START
/// TRANSACTION.
fn starts_transaction(sql: &[u8], mut tokens: Tokens<'_>) -> bool {
    // for most statements, the complete text need not be parsed
    const LAST: &[u8] = b"TRANSACTION";
    let end = sql.iter().rposition(|byte| byte.is_ascii_alphabetic()).map_or(0, |last| last + 1);
    let tail = sql.get(end.saturating_sub(LAST.len())..end).unwrap_or_default();
    if !tail.eq_ignore_ascii_case(LAST) || !tokens.skip_word("TABLE") {
        return false;
    }
    let is_word = |token: &Option<Token<'_>>, keyword: &str| match token {
        Some(Token::Word(word)) => word.eq_ignore_ascii_case(keyword.as_bytes()),
        _ => false,
    };
    let (mut before, mut last) = (None, None);
    for token in tokens {
        if token != Token::Symbol(b';') {
            (before, last) = (last, Some(token));
        }
    }
    is_word(&before, "START") && is_word(&last, "TRANSACTION")
}

/// A token of SQL text, as far as the parser needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// A keyword, a name without quotes, a number.
    Word(&'a [u8]),
    /// The text between two quotes, including escapes.
    Quoted { quote: u8, inner: &'a [u8] },
    /// Any other byte.
    Symbol(u8),
}

#[derive(Debug, Clone, Copy)]
struct Tokens<'a> {
    sql: &'a [u8],
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space();
        let (first, rest) = self.sql.split_first()?;
        match first {
            quote @ (b'\'' | b'"' | b'`') => {
                let len = quoted_len(rest, *quote)?;
                let inner = rest.get(..len)?;
                self.sql = rest.get(len + 1..)?;
                Some(Token::Quoted { quote: *quote, inner })
            }
            byte if is_word_byte(*byte) => {
                let len = self.sql.iter().take_while(|byte| is_word_byte(**byte)).count();
                let (word, rest) = self.sql.split_at_checked(len)?;
                self.sql = rest;
                Some(Token::Word(word))
            }
            byte => {
                self.sql = rest;
                Some(Token::Symbol(*byte))
            }
        }
    }
}

impl<'a> Tokens<'a> {
    /// Skips white space and comments.
    fn skip_space(&mut self) {
        loop {
            self.sql = self.sql.trim_ascii_start();
            let after = |end: Option<usize>, len: usize| match end {
                Some(end) => self.sql.get(end + len..).unwrap_or_default(),
                None => &[],
            };
            self.sql = match self.sql {
                [b'/', b'*', inner @ ..] => {
                    after(inner.windows(2).position(|pair| pair == b"*/"), 4)
                }
                [b'#', ..] | [b'-', b'-'] | [b'-', b'-', b' ' | b'\t' | b'\n' | b'\r', ..] => {
                    after(self.sql.iter().position(|byte| *byte == b'\n'), 1)
                }
                _ => return,
            };
        }
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        match self.next()? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Skips `keyword` if it is next.
    fn skip_word(&mut self, keyword: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.word().is_some_and(|word| word.eq_ignore_ascii_case(keyword.as_bytes()));
        if found {
            *self = ahead;
        }
        found
    }

    fn expect(&mut self, keyword: &str) -> Option<()> {
        self.skip_word(keyword).then_some(())
    }

    /// True if only semicolons follow.
    fn is_at_end(mut self) -> bool {
        self.all(|token| token == Token::Symbol(b';')) && self.sql.is_empty()
    }

    /// Parses a name; in lower case if it is UTF-8.
    fn name(&mut self) -> Option<Vec<u8>> {
        let name = match self.next()? {
            Token::Word(word) => word.to_vec(),
            // with ANSI_QUOTES servers write names in double quotes
            Token::Quoted { quote: b'\'', .. } | Token::Symbol(_) => return None,
            Token::Quoted { quote, inner } => undouble(inner, quote),
        };
        Some(match String::from_utf8(name) {
            Ok(name) => name.to_lowercase().into_bytes(),
            Err(error) => error.into_bytes().to_ascii_lowercase(),
        })
    }

    /// `gtrid [, bqual [, format id]]`
    fn xid(&mut self) -> Option<Xid> {
        let gtrid = self.bytes()?;
        let mut bqual = Vec::new();
        let mut format_id = 1;
        if self.skip_comma() {
            bqual = self.bytes()?;
            if self.skip_comma() {
                format_id = std::str::from_utf8(self.word()?).ok()?.parse().ok()?;
            }
        }
        Xid::try_new(format_id, &gtrid, &bqual).ok()
    }

    fn skip_comma(&mut self) -> bool {
        let mut ahead = *self;
        let found = ahead.next() == Some(Token::Symbol(b','));
        if found {
            *self = ahead;
        }
        found
    }

    /// `X'6162'`, `0x6162` or `'ab'`.
    fn bytes(&mut self) -> Option<Vec<u8>> {
        match self.next()? {
            Token::Word([b'x' | b'X']) => match self.next()? {
                Token::Quoted { quote: b'\'', inner } => from_hex(inner),
                _ => None,
            },
            Token::Word([b'0', b'x', digits @ ..]) => from_hex(digits),
            Token::Quoted { quote: quote @ (b'\'' | b'"'), inner } if !inner.contains(&b'\\') => {
                Some(undouble(inner, quote))
            }
            _ => None,
        }
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Finds the end of a quoted text in `rest`, after the opening quote. A doubled quote does not end
/// it, nor does a quote after a backslash, except in names.
fn quoted_len(rest: &[u8], quote: u8) -> Option<usize> {
    let mut bytes = rest.iter().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        if *byte == b'\\' && quote != b'`' {
            bytes.next();
        } else if *byte == quote && bytes.next_if(|(_, next)| **next == quote).is_none() {
            return Some(at);
        }
    }
    None
}

/// Replaces each doubled quote between the quotes by one quote.
fn undouble(inner: &[u8], quote: u8) -> Vec<u8> {
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == quote {
            bytes.next_if_eq(&quote);
        }
        text.push(byte);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn xid(format_id: u32, gtrid: &[u8], bqual: &[u8]) -> Xid {
        Xid::try_new(format_id, gtrid, bqual).unwrap()
    }

    #[test]
    fn kinds() {
        use QueryKind::*;
        let abc = || xid(17, b"abc", b"def");
        for (sql, kind) in [
            ("BEGIN", Begin),
            ("begin ;", Begin),
            (" Begin work", Begin),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT", Begin),
            ("BEGIN NOT ATOMIC SELECT 1; END", Other),
            ("COMMIT", Commit),
            ("commit", Commit),
            ("COMMIT /* xid=12 */", Commit),
            ("/* app */ COMMIT -- done", Commit),
            ("COMMIT\n;\n", Commit),
            ("COMMITTED", Other),
            ("ROLLBACK", Rollback),
            ("ROLLBACK /* xid=12 */;", Rollback),
            ("SAVEPOINT `We``ird`", Savepoint(b"we`ird".to_vec())),
            ("SAVEPOINT \"q x\"", Savepoint(b"q x".to_vec())),
            ("savepoint S1", Savepoint(b"s1".to_vec())),
            ("SAVEPOINT `\u{c4}`", Savepoint("\u{e4}".as_bytes().to_vec())),
            ("ROLLBACK TO `We``ird`", RollbackTo(b"we`ird".to_vec())),
            ("ROLLBACK WORK TO SAVEPOINT s1", RollbackTo(b"s1".to_vec())),
            ("ROLLBACK TO savepoint", RollbackTo(b"savepoint".to_vec())),
            ("ROLLBACK TO \"q x\"", RollbackTo(b"q x".to_vec())),
            ("ROLLBACK TO 'x'", Other),
            ("XA START X'616263',X'646566',17", XaStart(abc())),
            ("XA END X'616263',X'646566',17", XaEnd),
            ("XA COMMIT X'616263',X'646566',17", XaCommit(abc())),
            ("XA ROLLBACK X'616263',X'',1", XaRollback(xid(1, b"abc", b""))),
            ("XA START X'00ff',X'',2147483647", XaStart(xid(i32::MAX as u32, &[0, 255], b""))),
            ("xa  begin 'abc', \"def\" , 17 JOIN", XaStart(abc())),
            ("XA COMMIT 0x616263, 'def',17 ONE PHASE", XaCommit(abc())),
            ("XA COMMIT 'it''s'", XaCommit(xid(1, b"it's", b""))),
            ("XA COMMIT X'61626'", Other),
            ("XA RECOVER", Other),
            (
                "CREATE TABLE `c1` (\n  `a` int NOT NULL\n) START TRANSACTION",
                CreateTableStartTransaction,
            ),
            ("create table t (a int) start  transaction ;", CreateTableStartTransaction),
            ("CREATE TABLE t (a int) COMMENT 'START TRANSACTION'", Other),
            ("CREATE TABLE t (a int) -- START TRANSACTION", Other),
            ("CREATE TABLE t (a int) /* START TRANSACTION", Other),
            ("CREATE TABLE `START` LIKE `TRANSACTION`", Other),
            ("CREATE PROCEDURE p() START TRANSACTION", Other),
            ("DROP TABLE t", Other),
            ("# Dummy event", Other),
            ("", Other),
        ] {
            assert_eq!(QueryKind::of(sql.as_bytes()), kind, "{sql}");
        }
    }

    #[test]
    fn xids_match_what_is_displayed() {
        let id = xid(5, &[1, 2, 255], b"b");
        let sql = format!("XA COMMIT {id}");
        assert_eq!(QueryKind::of(sql.as_bytes()), QueryKind::XaCommit(id));
    }

    proptest! {
        #[test]
        fn any_text_is_safe(sql in "(XA COMMIT|SAVEPOINT|CREATE TABLE|ROLLBACK TO)?[ '\"`/*#;,x\\\\-]{0,8}.*") {
            let _ = QueryKind::of(sql.as_bytes());
        }
    }
}
