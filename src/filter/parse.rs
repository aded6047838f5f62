//! Text to an expression.
//!
//! ```text
//! filter     = all { OR all }
//! all        = not { AND not }
//! not        = NOT not | "(" filter ")" | condition
//! condition  = column operator (literal | column) | literal operator column
//!            | column [NOT] IN "(" literal { "," literal } ")"
//!            | column [NOT] BETWEEN literal AND literal
//!            | column [NOT] LIKE string
//!            | column IS [NOT] NULL
//! operator   = "=" | "<>" | "!=" | "<" | "<=" | ">" | ">="
//! column     = [("old" | "new") "."] name
//! ```

use super::expression::{ColumnName, Comparison, Expression, Literal, Side};
use super::like::Pattern;
use crate::ddl::cursor::Cursor;
use crate::ddl::token::{Result, SyntaxError, Token};
use crate::error::Error;
use std::fmt::Write;

type Parsed = Expression<ColumnName, Literal>;

/// Parses a filter.
pub(super) fn parse(text: &str) -> crate::error::Result<Parsed> {
    let parsed = Cursor::new(text).and_then(|cursor| Parser { cursor, depth: 0 }.filter());
    parsed.map_err(|error| Error::config(shown(text, &error)))
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    /// The number of parentheses and NOTs around the current place.
    depth: usize,
}

/// A side of a comparison.
enum Operand {
    Column(ColumnName),
    Literal(Literal),
}

impl Parser<'_> {
    fn filter(mut self) -> Result<Parsed> {
        if *self.cursor.peek() == Token::End {
            return Err(self.cursor.error("the filter is empty"));
        }
        let filter = self.any()?;
        match self.cursor.peek() {
            Token::End => Ok(filter),
            _ => Err(self.cursor.error("AND, OR or the end of the filter is missing")),
        }
    }

    fn any(&mut self) -> Result<Parsed> {
        let mut conditions = vec![self.all()?];
        while self.cursor.accept("OR")? {
            conditions.push(self.all()?);
        }
        Ok(one_or(conditions, Expression::Any))
    }

    fn all(&mut self) -> Result<Parsed> {
        let mut conditions = vec![self.not()?];
        while self.cursor.accept("AND")? {
            conditions.push(self.not()?);
        }
        Ok(one_or(conditions, Expression::All))
    }

    fn not(&mut self) -> Result<Parsed> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self
                .cursor
                .error(format!("more than {MAX_DEPTH} levels of parentheses or NOT")));
        }
        let condition = if self.cursor.accept("NOT")? {
            Expression::Not(Box::new(self.not()?))
        } else if self.cursor.accept_sign('(')? {
            let inside = self.any()?;
            self.cursor.expect_sign(')')?;
            inside
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn condition(&mut self) -> Result<Parsed> {
        let column = match self.operand()? {
            Operand::Column(column) => column,
            Operand::Literal(literal) => {
                let comparison = self.comparison()?;
                return Ok(Expression::Compare(self.column()?, comparison.swapped(), literal));
            }
        };
        if self.cursor.accept("IS")? {
            let is_negated = self.cursor.accept("NOT")?;
            self.cursor.expect("NULL")?;
            return Ok(negated(Expression::IsNull(column), is_negated));
        }
        let is_negated = self.cursor.accept("NOT")?;
        if self.cursor.accept("IN")? {
            return Ok(negated(Expression::In(column, self.list()?), is_negated));
        }
        if self.cursor.accept("BETWEEN")? {
            let low = self.literal()?;
            self.cursor.expect("AND")?;
            let high = self.literal()?;
            let conditions = vec![
                Expression::Compare(column.clone(), Comparison::GreaterOrEqual, low),
                Expression::Compare(column, Comparison::LessOrEqual, high),
            ];
            return Ok(negated(Expression::All(conditions), is_negated));
        }
        if self.cursor.accept("LIKE")? {
            let (Token::Text(pattern) | Token::DoubleQuoted(pattern)) = self.cursor.peek() else {
                return Err(self.cursor.error("a string is missing"));
            };
            let pattern = Pattern::parse(pattern);
            self.cursor.bump()?;
            return Ok(negated(Expression::Like(column, pattern), is_negated));
        }
        if is_negated {
            return Err(self.cursor.error("IN, BETWEEN or LIKE is missing"));
        }
        let comparison = self.comparison()?;
        Ok(match self.operand()? {
            Operand::Column(other) => Expression::CompareColumns(column, comparison, other),
            Operand::Literal(literal) => Expression::Compare(column, comparison, literal),
        })
    }

    fn comparison(&mut self) -> Result<Comparison> {
        let Token::Sign(sign @ ('=' | '<' | '>' | '!')) = *self.cursor.peek() else {
            return Err(self.cursor.error(
                "a comparison is missing: =, <>, <, <=, >, >=, IN, LIKE, BETWEEN or IS NULL",
            ));
        };
        self.cursor.bump()?;
        Ok(match sign {
            '=' => Comparison::Equal,
            '!' => {
                self.cursor.expect_sign('=')?;
                Comparison::NotEqual
            }
            '<' if self.cursor.accept_sign('=')? => Comparison::LessOrEqual,
            '<' if self.cursor.accept_sign('>')? => Comparison::NotEqual,
            '<' => Comparison::Less,
            _ if self.cursor.accept_sign('=')? => Comparison::GreaterOrEqual,
            _ => Comparison::Greater,
        })
    }

    fn list(&mut self) -> Result<Vec<Literal>> {
        self.cursor.expect_sign('(')?;
        let mut literals = vec![self.literal()?];
        while self.cursor.accept_sign(',')? {
            literals.push(self.literal()?);
        }
        self.cursor.expect_sign(')')?;
        Ok(literals)
    }

    fn operand(&mut self) -> Result<Operand> {
        match self.cursor.peek() {
            Token::Word(word)
                if !["TRUE", "FALSE", "NULL"]
                    .iter()
                    .any(|keyword| word.eq_ignore_ascii_case(keyword)) =>
            {
                self.column().map(Operand::Column)
            }
            Token::Quoted(_) => self.column().map(Operand::Column),
            Token::End | Token::Sign(',' | '(' | ')' | '=' | '<' | '>' | '!' | '*') => {
                Err(self.cursor.error("a column, a number or a string is missing"))
            }
            _ => self.literal().map(Operand::Literal),
        }
    }

    fn column(&mut self) -> Result<ColumnName> {
        let side = match self.cursor.peek() {
            Token::Word(word)
                if KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)) =>
            {
                return Err(self.cursor.error("a column is missing"));
            }
            Token::Word(word) if word.eq_ignore_ascii_case("old") => Side::Old,
            Token::Word(word) if word.eq_ignore_ascii_case("new") => Side::New,
            Token::Word(_) | Token::Quoted(_) => Side::Either,
            _ => return Err(self.cursor.error("a column is missing")),
        };
        let name = self.cursor.name()?;
        if !self.cursor.is_sign('.') {
            return Ok(ColumnName { side: Side::Either, name });
        }
        if side == Side::Either {
            return Err(self
                .cursor
                .error("only old. and new. may be before the name of a column,"));
        }
        self.cursor.bump()?;
        match self.cursor.peek() {
            Token::Word(_) | Token::Quoted(_) => Ok(ColumnName { side, name: self.cursor.name()? }),
            _ => Err(self.cursor.error("a column is missing")),
        }
    }

    fn literal(&mut self) -> Result<Literal> {
        let is_negative = self.cursor.accept_sign('-')?;
        if !is_negative {
            self.cursor.accept_sign('+')?;
        }
        let literal = match self.cursor.peek() {
            Token::Number(digits) => {
                Literal::Number(format!("{}{digits}", if is_negative { "-" } else { "" }))
            }
            _ if is_negative => return Err(self.cursor.error("a number is missing")),
            Token::Text(text) | Token::DoubleQuoted(text) => Literal::Text(text.to_string()),
            Token::Bytes(bytes) => Literal::Bytes(bytes.clone()),
            Token::Word(word) if word.eq_ignore_ascii_case("TRUE") => Literal::Boolean(true),
            Token::Word(word) if word.eq_ignore_ascii_case("FALSE") => Literal::Boolean(false),
            Token::Word(word) if word.eq_ignore_ascii_case("NULL") => {
                return Err(self
                    .cursor
                    .error("a comparison with NULL is never true: write IS NULL or IS NOT NULL"));
            }
            _ => return Err(self.cursor.error("a number or a string is missing")),
        };
        self.cursor.bump()?;
        Ok(literal)
    }
}

fn negated(condition: Parsed, is_negated: bool) -> Parsed {
    match is_negated {
        true => Expression::Not(Box::new(condition)),
        false => condition,
    }
}

fn one_or(mut conditions: Vec<Parsed>, several: impl Fn(Vec<Parsed>) -> Parsed) -> Parsed {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => several(conditions),
    }
}

/// The message of an error, with a caret under its place.
fn shown(text: &str, error: &SyntaxError) -> String {
    let at =
        (0..=error.at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (before, after) = text.split_at(at);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before.get(start..).unwrap_or_default().chars().count();
    let line = format!(
        "{}{}",
        before.get(start..).unwrap_or_default(),
        after.lines().next().unwrap_or_default()
    );
    let mut message = format!("where: {}\n", error.message);
    let _ = write!(message, "  {}\n  {:column$}^", line.replace('\t', " "), "");
    message
}

/// More levels are never needed, and could use up the stack.
const MAX_DEPTH: usize = 100;

/// Words that name no column without backquotes.
const KEYWORDS: [&str; 10] =
    ["AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS", "NULL", "TRUE", "FALSE"];

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn filters() {
        for text in [
            "id = 7",
            "7 < id",
            "id!=-7 AND NOT (old.`a b` <> new.status OR x IS NOT NULL)",
            "a IN (1, 2.5, .5, 1e3) and b not in ('x', \"y\") or c NOT LIKE 'a\\_%'",
            "d BETWEEN '2026-01-01' AND '2026-01-02' AND e NOT BETWEEN 1 AND 2",
            "flag = TRUE AND bytes = 0x4142 AND OLD.old IS NULL AND `new`='x'",
            "Größe > 1 # a comment",
        ] {
            parse(text).unwrap();
        }
    }

    #[test]
    fn the_place_of_an_error() {
        assert!(
            error("id = 7 AND").ends_with("\n  id = 7 AND\n            ^"),
            "{}",
            error("id = 7 AND")
        );
        assert!(error("größe ~ 1").ends_with("\n  größe ~ 1\n        ^"), "{}", error("größe ~ 1"));
        assert!(
            error("a = 1\nAND b").ends_with("\n  AND b\n       ^"),
            "{}",
            error("a = 1\nAND b")
        );
        for (text, message) in [
            ("", "the filter is empty"),
            ("a = NULL", "IS NULL"),
            ("a = 1 b", "AND, OR or the end"),
            ("a NOT 1", "IN, BETWEEN or LIKE"),
            ("(a = 1", "`)` is missing"),
            ("shop.a = 1", "only old. and new."),
            ("1 = 1", "a column is missing"),
            ("a = 'x", "without its end"),
            ("a LIKE 1", "a string is missing"),
            ("a <=> 1", "is missing"),
            ("a", "a comparison is missing"),
            ("a = - 'x'", "a number is missing"),
        ] {
            assert!(error(text).contains(message), "{text}: {}", error(text));
        }
        assert!(error(&"(".repeat(100_000)).contains("levels"));
        assert!(error(&"NOT ".repeat(100_000)).contains("levels"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(old|new|a|`|'|\\.|=|<|>|!| |AND|NOT|IN|\\(|\\)|,|[0-9]|-|ä|LIKE|IS|NULL|\\\\)*") {
            let _ = parse(&text);
        }
    }
}
