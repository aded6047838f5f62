//! A place in SQL text, and the small steps of a grammar.

use super::lexer::Lexer;
use super::token::{QuoteMode, Result, SyntaxError, Token};
use crate::schema::{quoted, quoted_name};

/// The current token, and the text after it.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'t> {
    lexer: Lexer<'t>,
    token: Token<'t>,
    at: usize,
    query: QueryWatch,
}

/// Notices the words that begin a query in a CREATE TABLE, while the statement is read.
///
/// The words are reserved: without quotes they are not names, except after a point.
#[derive(Debug, Clone, Copy, Default)]
struct QueryWatch {
    is_on: bool,
    after_number: bool,
    after_point: bool,
    has_query: bool,
}

impl QueryWatch {
    /// Takes a token that was read, and the one after it.
    fn pass(&mut self, token: &Token<'_>, next: &Token<'_>) {
        let is = |token: &Token<'_>, keyword: &str| match token {
            Token::Word(word) => word.eq_ignore_ascii_case(keyword),
            _ => false,
        };
        if !self.after_point {
            let is_of_partition = is(next, "LESS") || is(next, "IN");
            self.has_query |= is(token, "SELECT")
                || is(token, "TABLE")
                || is(token, "VALUES") && !is_of_partition;
        }
        // `1.` is a number, and the word after it is not a name.
        self.after_point = *token == Token::Sign('.') && !self.after_number;
        self.after_number = matches!(token, Token::Number(_));
    }
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Result<Self> {
        Self::with_mode(text, QuoteMode::default())
    }

    pub(crate) fn with_mode(text: &'t str, mode: QuoteMode) -> Result<Self> {
        let mut lexer = Lexer::with_mode(text, mode);
        let (at, token) = lexer.next_token()?;
        Ok(Self { lexer, token, at, query: QueryWatch::default() })
    }

    /// The current token.
    pub(crate) fn peek(&self) -> &Token<'t> {
        &self.token
    }

    /// The line of the current token, from 1.
    pub(crate) fn line(&self) -> usize {
        self.lexer.line(self.at)
    }

    /// The line of a syntax error.
    pub(crate) fn line_of(&self, error: &SyntaxError) -> usize {
        self.lexer.line(error.at)
    }

    /// The database in the first lines of a dump, if they are before the current token.
    pub(crate) fn take_dumped(&mut self) -> Option<&'t str> {
        self.lexer.take_dumped()
    }

    /// Takes the current token.
    pub(crate) fn bump(&mut self) -> Result<Token<'t>> {
        let (at, token) = self.lexer.next_token()?;
        if self.query.is_on {
            self.query.pass(&self.token, &token);
        }
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    /// Notices words that begin a query, from the current token on.
    pub(crate) fn watch_for_query(&mut self) {
        self.query = QueryWatch { is_on: true, ..QueryWatch::default() };
    }

    /// Reads to the end of the text. Returns true if there was no query since [`Self::watch_for_query`].
    pub(crate) fn ends_without_query(&mut self) -> Result<bool> {
        while *self.peek() != Token::End {
            self.bump()?;
        }
        Ok(!self.query.has_query)
    }

    /// An error at the current token.
    pub(crate) fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            message: format!("{} near {}", message.into(), self.token.label()),
            at: self.at,
        }
    }

    /// True if the current token is this keyword.
    pub(crate) fn is(&self, keyword: &str) -> bool {
        matches!(self.token, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// True if the current token is this sign.
    pub(crate) fn is_sign(&self, sign: char) -> bool {
        self.token == Token::Sign(sign)
    }

    /// True if the current token and those after it are these keywords.
    pub(crate) fn are(&self, keywords: &[&str]) -> bool {
        let mut ahead = self.clone();
        keywords.iter().all(|keyword| ahead.is(keyword) && ahead.bump().is_ok())
    }

    /// Steps over a keyword, if it is there.
    pub(crate) fn accept(&mut self, keyword: &str) -> Result<bool> {
        let is_there = self.is(keyword);
        if is_there {
            self.bump()?;
        }
        Ok(is_there)
    }

    /// Steps over keywords, if all of them are there.
    pub(crate) fn accept_all(&mut self, keywords: &[&str]) -> Result<bool> {
        let are_there = self.are(keywords);
        if are_there {
            for _ in keywords {
                self.bump()?;
            }
        }
        Ok(are_there)
    }

    /// Steps over one of some keywords, if it is there.
    pub(crate) fn accept_any(&mut self, keywords: &[&str]) -> Result<bool> {
        let is_there = keywords.iter().any(|keyword| self.is(keyword));
        if is_there {
            self.bump()?;
        }
        Ok(is_there)
    }

    pub(crate) fn accept_sign(&mut self, sign: char) -> Result<bool> {
        let is_there = self.is_sign(sign);
        if is_there {
            self.bump()?;
        }
        Ok(is_there)
    }

    pub(crate) fn expect(&mut self, keyword: &str) -> Result<()> {
        match self.accept(keyword)? {
            true => Ok(()),
            false => Err(self.error(format!("{keyword} is missing"))),
        }
    }

    pub(crate) fn expect_sign(&mut self, sign: char) -> Result<()> {
        match self.accept_sign(sign)? {
            true => Ok(()),
            false => Err(self.error(format!("`{sign}` is missing"))),
        }
    }

    /// A name, in quotes or without.
    pub(crate) fn name(&mut self) -> Result<String> {
        match &self.token {
            Token::Word(_) | Token::Quoted(_) | Token::DoubleQuoted(_) => {}
            _ => return Err(self.error("a name is missing")),
        }
        Ok(match self.bump()? {
            Token::Word(name) => name.to_owned(),
            Token::Quoted(name) | Token::DoubleQuoted(name) => name.into_owned(),
            _ => String::new(),
        })
    }

    /// Reads `name`, `database.name`, or `.name`. Without a database, the name is in the session's database.
    pub(crate) fn qualified_name(&mut self) -> Result<(Option<String>, String)> {
        if self.accept_sign('.')? {
            return Ok((None, self.name()?));
        }
        let first = self.name()?;
        match self.accept_sign('.')? {
            true => Ok((Some(first), self.name()?)),
            false => Ok((None, first)),
        }
    }

    /// A name, or a string with a name.
    pub(crate) fn name_or_text(&mut self) -> Result<String> {
        match &self.token {
            Token::Text(_) => self.text(),
            _ => self.name(),
        }
    }

    /// A string.
    pub(crate) fn text(&mut self) -> Result<String> {
        match &self.token {
            Token::Text(_) | Token::DoubleQuoted(_) | Token::Bytes(_) => {}
            _ => return Err(self.error("a string is missing")),
        }
        match self.bump()? {
            Token::Text(text) | Token::DoubleQuoted(text) => Ok(text.into_owned()),
            Token::Bytes(bytes) => String::from_utf8(bytes)
                .map_err(|_| self.error("a string of bytes that are not UTF-8")),
            _ => Ok(String::new()),
        }
    }

    /// An integer.
    pub(crate) fn number(&mut self) -> Result<u64> {
        let number = match self.token {
            Token::Number(digits) => digits.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.error("a number is missing"))?;
        self.bump()?;
        Ok(number)
    }

    /// `(n)`, if it is there.
    pub(crate) fn number_in_parens(&mut self) -> Result<Option<u64>> {
        if !self.accept_sign('(')? {
            return Ok(None);
        }
        let number = self.number()?;
        self.expect_sign(')')?;
        Ok(Some(number))
    }

    /// Steps over a pair of parentheses and its content.
    pub(crate) fn skip_parens(&mut self) -> Result<()> {
        self.expect_sign('(')?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.bump()? {
                Token::Sign('(') => depth += 1,
                Token::Sign(')') => depth -= 1,
                Token::End => return Err(self.error("`)` is missing")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Steps over parentheses, if they are there.
    pub(crate) fn accept_parens(&mut self) -> Result<bool> {
        let are_there = self.is_sign('(');
        if are_there {
            self.skip_parens()?;
        }
        Ok(are_there)
    }

    /// Steps over the value of an option.
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        match self.peek() {
            Token::Sign(_) | Token::End => Err(self.error("a value is missing")),
            _ => self.bump().map(drop),
        }
    }

    /// Steps over MariaDB's `WAIT 5` or `NOWAIT`, if it is there.
    pub(crate) fn skip_wait(&mut self) -> Result<()> {
        if self.accept("WAIT")? {
            self.bump()?;
        } else {
            self.accept("NOWAIT")?;
        }
        Ok(())
    }

    /// The text that `step` steps over, in a form that is the same in every `sql_mode`: without comments, and with strings in
    /// single quotes.
    pub(crate) fn text_of(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<String> {
        let mut from = self.clone();
        step(self)?;
        let ansi_quotes = self.lexer.ansi_quotes();
        let mut sql = String::new();
        let mut end = from.at;
        while from.at < self.at && from.token != Token::End {
            let start = from.at;
            let next_end = from.lexer.at();
            let piece = match from.bump()? {
                Token::Word(word) | Token::Number(word) => word.to_owned(),
                Token::DoubleQuoted(text) if !ansi_quotes => quoted(&text),
                Token::Quoted(name) | Token::DoubleQuoted(name) => quoted_name(&name),
                Token::Text(text) => quoted(&text),
                Token::Bytes(bytes) if bytes.is_empty() => quoted(""),
                Token::Bytes(bytes) => {
                    bytes.iter().fold("0x".to_owned(), |sql, byte| format!("{sql}{byte:02x}"))
                }
                Token::Sign(sign) => sign.to_string(),
                Token::End => String::new(),
            };
            if !sql.is_empty() && (start > end || would_join(&sql, &piece)) {
                sql.push(' ');
            }
            sql.push_str(&piece);
            end = next_end;
        }
        Ok(sql)
    }

    /// Steps over the rest of the statement and its `;`.
    pub(crate) fn skip_statement(&mut self) -> Result<()> {
        while !matches!(self.bump()?, Token::Sign(';') | Token::End) {}
        Ok(())
    }

    /// Steps to the `;` or the end of the text.
    pub(crate) fn skip_statement_end(&mut self) -> Result<()> {
        while !matches!(self.peek(), Token::Sign(';') | Token::End) {
            self.bump()?;
        }
        Ok(())
    }

    /// The offset of the current token.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Takes the rest of the line, from the current token on.
    pub(crate) fn rest_of_line(&mut self) -> Result<&'t str> {
        let mut lexer = self.lexer;
        lexer.seek(self.at);
        let rest = lexer.rest();
        let line = rest.lines().next().unwrap_or_default();
        self.continue_at(self.at + line.len())?;
        Ok(line)
    }

    /// Continues at the next line that begins with `word`, or at the end.
    pub(crate) fn skip_to_line(&mut self, word: &str) -> Result<()> {
        let mut lexer = self.lexer;
        lexer.seek(self.at);
        let rest = lexer.rest();
        let mut at = self.at;
        for line in rest.split_inclusive('\n') {
            let head = line.trim_start().get(..word.len());
            if head.is_some_and(|head| head.eq_ignore_ascii_case(word)) {
                break;
            }
            at += line.len();
        }
        self.continue_at(at)
    }

    fn continue_at(&mut self, at: usize) -> Result<()> {
        self.lexer.seek(at);
        self.bump().map(drop)
    }
}

/// True if two tokens without a space between them would be read as other tokens.
fn would_join(before: &str, after: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    match after.chars().next() {
        Some('\'') => before.ends_with(['\'', 'x', 'X', 'b', 'B', 'n', 'N']),
        Some('`') => before.ends_with('`'),
        Some('-') => before.ends_with('-'),
        Some(c) => is_word(c) && before.ends_with(is_word),
        None => false,
    }
}
