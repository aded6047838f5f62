//! A CREATE TABLE statement: what it says of columns and keys, before any server makes something of it.

use super::column::{CharsetClause, ColumnDefinition};
use super::cursor::Cursor;
use super::token::{Result, Token};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a CREATE TABLE statement says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTable {
    /// The database, where the statement names it.
    pub database: Option<Arc<str>>,
    /// The table.
    pub table: Arc<str>,
    pub(in crate::history) columns: Vec<ColumnDefinition>,
    /// The columns' indexes by their names in lower case.
    by_name: BTreeMap<String, usize>,
    /// The constraint PRIMARY KEY.
    pub(in crate::history) primary_key: Option<Key>,
    /// The constraints UNIQUE, in the statement's order.
    pub(in crate::history) unique_keys: Vec<Key>,
    /// The keys that are not unique, in the statement's order.
    pub(in crate::history) other_keys: Vec<Key>,
    /// The table's own default.
    pub(in crate::history) charset: CharsetClause,
    /// Whether that may have been left out, and INVISIBLE too, as MariaDB and MySQL 5 do under `sql_mode=ANSI`.
    pub(in crate::history) is_abridged: bool,
    /// MariaDB's WITH SYSTEM VERSIONING.
    pub(in crate::history) versioned: bool,
    /// Whether the engine has hash keys of its own, and so needs no hidden column for them.
    pub(in crate::history) has_hash_keys: bool,
    /// MariaDB's application-time periods.
    pub(in crate::history) periods: Vec<Period>,
}

/// What stands before the columns.
#[derive(Debug, Clone)]
pub(in crate::history) struct Head {
    pub(in crate::history) database: Option<String>,
    pub(in crate::history) table: String,
    pub(in crate::history) is_temporary: bool,
    /// Whether the name is in double quotes.
    is_ansi: bool,
}

/// `PERIOD FOR name (start, end)`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::history) struct Period {
    pub(in crate::history) name: String,
    pub(in crate::history) start: String,
    pub(in crate::history) end: String,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::history) struct Key {
    /// Its name, where the statement gives one.
    pub(in crate::history) name: Option<String>,
    pub(in crate::history) parts: Vec<KeyColumn>,
    /// MariaDB: the key is held as the hash of its columns, in a column of its own.
    pub(in crate::history) is_hash: bool,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::history) enum KeyColumn {
    Column {
        name: String,
        /// In characters; 0 for the whole column.
        prefix: u64,
    },
    /// Of a functional index.
    Expression,
    /// `period WITHOUT OVERLAPS`
    Period(String),
}

impl CreateTable {
    /// Reads `[OR REPLACE] [TEMPORARY] TABLE [IF NOT EXISTS] name`, after CREATE.
    pub(in crate::history) fn parse_head(cursor: &mut Cursor<'_>) -> Result<Head> {
        cursor.accept_all(&["OR", "REPLACE"])?;
        let is_temporary = cursor.accept("TEMPORARY")?;
        cursor.expect("TABLE")?;
        cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let is_ansi = matches!(cursor.peek(), Token::DoubleQuoted(_));
        let (database, table) = cursor.qualified_name()?;
        Ok(Head { database, table, is_temporary, is_ansi })
    }

    /// Reads the rest, after the name, up to the statement's end.
    pub(in crate::history) fn parse_body(
        cursor: &mut Cursor<'_>,
        Head { database, table, is_ansi, .. }: Head,
    ) -> Result<Self> {
        let mut create = Self {
            database: database.map(Into::into),
            table: table.into(),
            columns: Vec::new(),
            by_name: BTreeMap::new(),
            primary_key: None,
            unique_keys: Vec::new(),
            other_keys: Vec::new(),
            charset: CharsetClause::default(),
            is_abridged: is_ansi,
            versioned: false,
            has_hash_keys: false,
            periods: Vec::new(),
        };
        if cursor.is("LIKE") {
            return Err(cursor.error("LIKE names no columns: give what SHOW CREATE TABLE prints"));
        }
        cursor.expect_sign('(')?;
        if cursor.is("LIKE") || cursor.is("SELECT") {
            return Err(cursor.error("no columns: give what SHOW CREATE TABLE prints"));
        }
        loop {
            create.element(cursor)?;
            if !cursor.accept_sign(',')? {
                break;
            }
        }
        cursor.expect_sign(')')?;
        create.options(cursor)?;
        create.is_abridged &= create.charset == CharsetClause::default();
        if create.columns.is_empty() {
            return Err(cursor.error("a table without columns"));
        }
        Ok(create)
    }

    /// The index of a column, whatever the case of its name.
    pub(in crate::history) fn column_index(&self, name: &str) -> Option<usize> {
        self.by_name.get(&name.to_lowercase()).copied()
    }

    /// Whether a name or a member holds a character in the place of bytes that are not UTF-8.
    pub(in crate::history) fn has_unreadable_names(&self) -> bool {
        let is_unreadable = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
        is_unreadable(&self.table)
            || self.database.as_deref().is_some_and(is_unreadable)
            || self.columns.iter().any(|column| {
                is_unreadable(&column.name)
                    || column.data_type.members().iter().any(|member| is_unreadable(member))
            })
    }

    /// A column, a key or a constraint.
    fn element(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let mut constraint = None;
        if cursor.accept("CONSTRAINT")? {
            cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
            let is_name = !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].iter().any(|w| cursor.is(w));
            if is_name {
                constraint = Some(cursor.name()?);
            }
            if !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].iter().any(|word| cursor.is(word)) {
                return Err(cursor.error("a constraint that is not known"));
            }
        }
        if cursor.accept_all(&["PRIMARY", "KEY"])? {
            self.primary_key = Some(key(cursor)?);
            return Ok(());
        }
        if cursor.accept("UNIQUE")? {
            cursor.accept_any(&["KEY", "INDEX"])?;
            let mut key = key(cursor)?;
            key.name = key.name.or(constraint);
            self.unique_keys.push(key);
            return Ok(());
        }
        if ["FOREIGN", "CHECK"].iter().any(|word| cursor.is(word)) {
            return cursor.skip_element();
        }
        let is_other = ["KEY", "INDEX", "FULLTEXT", "SPATIAL"].iter().any(|word| cursor.is(word));
        // These two are words that a column may be called.
        let is_vector_key = [["VECTOR", "KEY"], ["VECTOR", "INDEX"]].iter().any(|w| cursor.are(w));
        if is_other || is_vector_key {
            if !cursor.accept_any(&["KEY", "INDEX"])? {
                cursor.bump()?;
                cursor.accept_any(&["KEY", "INDEX"])?;
            }
            let key = key(cursor)?;
            self.other_keys.push(key);
            return Ok(());
        }
        if cursor.accept_all(&["PERIOD", "FOR"])? {
            let name = cursor.name()?;
            cursor.expect_sign('(')?;
            let start = cursor.name()?;
            cursor.expect_sign(',')?;
            let end = cursor.name()?;
            cursor.expect_sign(')')?;
            self.periods.push(Period { name, start, end });
            return Ok(());
        }
        let column = ColumnDefinition::parse(cursor)?;
        if self.by_name.insert(column.name.to_lowercase(), self.columns.len()).is_some() {
            return Err(cursor.error(format!("column `{}` stands there twice", column.name)));
        }
        if column.unique {
            let part = KeyColumn::Column { name: column.name.to_string(), prefix: 0 };
            self.unique_keys.push(Key { name: None, parts: vec![part], is_hash: false });
        }
        self.columns.push(column);
        Ok(())
    }

    /// What stands after the columns: only the character set and versioning matter here.
    fn options(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        loop {
            if cursor.accept_all(&["WITH", "SYSTEM", "VERSIONING"])? {
                self.versioned = true;
                continue;
            }
            if self.charset.named(cursor)? {
                continue;
            }
            if cursor.accept("ENGINE")? {
                cursor.accept_sign('=')?;
                let engine = cursor.name_or_text()?;
                self.has_hash_keys =
                    ["MEMORY", "HEAP"].iter().any(|e| e.eq_ignore_ascii_case(&engine));
                continue;
            }
            match cursor.peek() {
                Token::Sign('(') => cursor.skip_parens()?,
                // The next row of what the client prints for \G.
                Token::End | Token::Sign(';' | '*') => return Ok(()),
                _ if cursor.is("CREATE") => return Ok(()),
                _ if ["AS", "SELECT", "IGNORE", "REPLACE"].iter().any(|w| cursor.is(w)) => {
                    let message = "columns come from a SELECT: give what SHOW CREATE TABLE prints";
                    return Err(cursor.error(message));
                }
                Token::Sign(')') => return Err(cursor.error("a `)` too many")),
                _ => drop(cursor.bump()?),
            }
        }
    }
}

/// `[name] [USING HASH] (column [(prefix)] [ASC|DESC], ...) [options]`
fn key(cursor: &mut Cursor<'_>) -> Result<Key> {
    let mut is_hash = false;
    let mut name = None;
    cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
    while !cursor.is_sign('(') {
        if cursor.accept_any(&["USING", "TYPE"])? {
            is_hash |= cursor.is("HASH");
            cursor.name()?;
        } else {
            name = Some(cursor.name()?);
        }
    }
    cursor.expect_sign('(')?;
    let mut parts = Vec::new();
    loop {
        if cursor.accept_parens()? {
            parts.push(KeyColumn::Expression);
        } else {
            let name = cursor.name()?;
            let prefix = cursor.number_in_parens()?.unwrap_or(0);
            parts.push(match cursor.accept_all(&["WITHOUT", "OVERLAPS"])? {
                true => KeyColumn::Period(name),
                false => KeyColumn::Column { name, prefix },
            });
        }
        cursor.accept_any(&["ASC", "DESC"])?;
        if !cursor.accept_sign(',')? {
            break;
        }
    }
    cursor.expect_sign(')')?;
    while !matches!(cursor.peek(), Token::Sign(',' | ')')) {
        if cursor.accept_any(&["USING", "TYPE"])? {
            is_hash |= cursor.is("HASH");
        }
        if matches!(cursor.bump()?, Token::End) {
            return Err(cursor.error("`)` is missing"));
        }
    }
    Ok(Key { name, parts, is_hash })
}

/// Steps over an option's value.
pub(in crate::history) fn skip_value(cursor: &mut Cursor<'_>) -> Result<()> {
    match cursor.peek() {
        Token::Sign(_) | Token::End => Err(cursor.error("a value is missing")),
        _ => cursor.bump().map(drop),
    }
}
