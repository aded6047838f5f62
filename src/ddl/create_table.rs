//! A CREATE TABLE statement: its columns and keys as they are in the text, without the additions of a server.

use super::charset_clause::CharsetClause;
use super::column::ColumnDefinition;
use super::cursor::Cursor;
use super::key::{Constraint, Element, Key, KeyKind};
use super::token::{Result, Token};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The content of a CREATE TABLE statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTable {
    /// The database, if the statement names it.
    pub database: Option<Arc<str>>,
    /// The table.
    pub table: Arc<str>,
    pub(crate) columns: Vec<ColumnDefinition>,
    /// The indexes of the columns by their names in lower case.
    by_name: BTreeMap<String, usize>,
    /// In the order of the statement, with those of attributes.
    pub(crate) keys: Vec<Key>,
    /// CHECK, and FOREIGN KEY if the rules of a server were applied.
    pub(crate) constraints: Vec<Constraint>,
    /// The default of the table.
    pub(crate) charset: CharsetClause,
    /// True if the character set and INVISIBLE may be missing in the text, which MariaDB and MySQL 5 print under `sql_mode=ANSI`.
    pub(crate) is_abridged: bool,
    /// True if its keys are in the order of the server.
    pub(crate) is_settled: bool,
    /// MariaDB's WITH SYSTEM VERSIONING.
    pub(crate) versioned: bool,
    /// MariaDB's SEQUENCE=1.
    pub(crate) is_sequence: bool,
    pub(crate) engine: Option<String>,
    pub(crate) comment: Option<Arc<str>>,
    /// MariaDB's application-time periods.
    pub(crate) periods: Vec<Period>,
}

/// The part before the columns.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) database: Option<String>,
    pub(crate) table: String,
    pub(crate) is_temporary: bool,
    pub(crate) if_not_exists: bool,
    /// True if the name is in double quotes.
    is_ansi: bool,
}

impl Head {
    /// Reads `[IF NOT EXISTS] name`, after TABLE.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let is_ansi = matches!(cursor.peek(), Token::DoubleQuoted(_));
        let (database, table) = cursor.qualified_name()?;
        Ok(Self { database, table, is_temporary: false, if_not_exists, is_ansi })
    }
}

/// `PERIOD FOR name (start, end)`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) name: String,
    pub(crate) start: String,
    pub(crate) end: String,
}

impl CreateTable {
    /// Reads `[OR REPLACE] [TEMPORARY] TABLE [IF NOT EXISTS] name`, after CREATE.
    pub(crate) fn parse_head(cursor: &mut Cursor<'_>) -> Result<Head> {
        cursor.accept_all(&["OR", "REPLACE"])?;
        let is_temporary = cursor.accept("TEMPORARY")?;
        cursor.expect("TABLE")?;
        Ok(Head { is_temporary, ..Head::parse(cursor)? })
    }

    /// Reads the rest, after the name, up to the statement's end.
    pub(crate) fn parse_body(
        cursor: &mut Cursor<'_>,
        Head { database, table, is_ansi, .. }: Head,
    ) -> Result<Self> {
        let mut create = Self {
            database: database.map(Into::into),
            table: table.into(),
            columns: Vec::new(),
            by_name: BTreeMap::new(),
            keys: Vec::new(),
            constraints: Vec::new(),
            charset: CharsetClause::default(),
            is_abridged: is_ansi,
            is_settled: false,
            versioned: false,
            is_sequence: false,
            engine: None,
            comment: None,
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

    /// The index of a column. The letter case of the name is ignored.
    pub(crate) fn column_index(&self, name: &str) -> Option<usize> {
        self.by_name.get(&name.to_lowercase()).copied()
    }

    /// True for a MERGE table, which has the rows of other tables.
    pub(crate) fn is_merge(&self) -> bool {
        let engine = self.engine.as_deref().unwrap_or_default();
        ["MERGE", "MRG_MYISAM"].iter().any(|own| own.eq_ignore_ascii_case(engine))
    }

    /// True if the engine has its own hash keys, and needs no hidden column for them.
    pub(crate) fn has_hash_keys(&self) -> bool {
        let engine = self.engine.as_deref().unwrap_or_default();
        ["MEMORY", "HEAP"].iter().any(|own| own.eq_ignore_ascii_case(engine))
    }

    /// The unique keys in order, without the primary key.
    pub(crate) fn unique_keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(|key| key.kind == KeyKind::Unique)
    }

    /// Makes the index of the names again.
    ///
    /// # Errors
    /// The name that two columns have.
    pub(crate) fn reindex(&mut self) -> std::result::Result<(), Arc<str>> {
        self.by_name.clear();
        for (index, column) in self.columns.iter().enumerate() {
            if self.by_name.insert(column.name.to_lowercase(), index).is_some() {
                return Err(Arc::clone(&column.name));
            }
        }
        Ok(())
    }

    /// True if a name or a member contains the replacement character for bytes that are not UTF-8.
    pub(crate) fn has_unreadable_names(&self) -> bool {
        let is_unreadable = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
        is_unreadable(&self.table)
            || self.database.as_deref().is_some_and(is_unreadable)
            || self.columns.iter().any(|column| {
                is_unreadable(&column.name)
                    || column.data_type.members().iter().any(|member| is_unreadable(member))
            })
    }

    /// Reads a column, a key or a constraint.
    fn element(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if Element::begins(cursor) {
            match Element::parse(cursor)? {
                Element::Key(key) => {
                    self.constraints.extend(key.foreign_key());
                    self.keys.push(key);
                }
                Element::Check(check) => self.constraints.push(check),
            }
            return Ok(());
        }
        if cursor.accept_all(&["PERIOD", "FOR"])? {
            self.periods.push(Period::parse(cursor)?);
            return Ok(());
        }
        let column = ColumnDefinition::parse(cursor)?;
        if self.by_name.insert(column.name.to_lowercase(), self.columns.len()).is_some() {
            return Err(cursor.error(format!("column `{}` is defined twice", column.name)));
        }
        self.keys.extend(column.keys());
        self.columns.push(column);
        Ok(())
    }

    /// Steps over the rest of PARTITION BY.
    fn partitions(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        while !matches!(cursor.peek(), Token::End | Token::Sign(';' | '*')) && !cursor.is("SELECT")
        {
            if !cursor.accept_parens()? {
                cursor.bump()?;
            }
        }
        Ok(())
    }

    /// Reads the options after the columns.
    fn options(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        loop {
            if cursor.accept_all(&["WITH", "SYSTEM", "VERSIONING"])? {
                self.versioned = true;
                continue;
            }
            if self.charset.named(cursor)? {
                continue;
            }
            if cursor.accept_any(&["ENGINE", "TYPE"])? {
                cursor.accept_sign('=')?;
                self.engine = Some(cursor.name_or_text()?);
                continue;
            }
            if cursor.accept("COMMENT")? {
                cursor.accept_sign('=')?;
                self.comment = Some(cursor.text()?).filter(|text| !text.is_empty()).map(Into::into);
                continue;
            }
            if cursor.accept("SEQUENCE")? {
                cursor.accept_sign('=')?;
                self.is_sequence = cursor.bump()? == Token::Number("1");
                continue;
            }
            if cursor.accept_all(&["PARTITION", "BY"])? {
                self.partitions(cursor)?;
                continue;
            }
            if cursor.accept("CHARSET_UNKNOWN")? {
                self.charset.is_unknown = true;
                continue;
            }
            match cursor.peek() {
                Token::Sign('(') => cursor.skip_parens()?,
                // `*`: the next row of the output of the client for \G.
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

impl Period {
    /// Reads the period after PERIOD FOR.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let name = cursor.name()?;
        cursor.expect_sign('(')?;
        let start = cursor.name()?;
        cursor.expect_sign(',')?;
        let end = cursor.name()?;
        cursor.expect_sign(')')?;
        Ok(Self { name, start, end })
    }
}
