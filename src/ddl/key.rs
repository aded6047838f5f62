//! Keys and constraints of a CREATE TABLE or ALTER TABLE statement.

use super::cursor::Cursor;
use super::token::{Result, Token};
use crate::schema::quoted_name;

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Primary,
    Unique,
    Index,
    Fulltext,
    Spatial,
    /// MariaDB's VECTOR.
    Vector,
    /// FOREIGN KEY: a constraint, for which servers create a key if there is none.
    Foreign,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) kind: KeyKind,
    /// Its name, if the statement contains one.
    pub(crate) name: Option<String>,
    /// Its name after CONSTRAINT.
    pub(crate) constraint: Option<String>,
    pub(crate) parts: Vec<KeyColumn>,
    /// MariaDB: the key is stored as the hash of its columns, in a hidden column.
    pub(crate) is_hash: bool,
    /// Not INVISIBLE, and not IGNORED.
    pub(crate) visible: bool,
    /// True if it was created for a foreign key: it is dropped as soon as another key can replace it.
    pub(crate) is_implicit: bool,
    /// True if it is an attribute of its column.
    pub(crate) is_inline: bool,
    pub(crate) if_not_exists: bool,
    /// The reference of a foreign key.
    pub(crate) references: String,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyColumn {
    Column {
        name: String,
        /// In characters; 0 for the complete column.
        prefix: u64,
        descending: bool,
    },
    /// The expression of a functional index.
    Expression(String),
    /// `period WITHOUT OVERLAPS`
    Period(String),
}

/// A CHECK, a FOREIGN KEY or a REFERENCES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constraint {
    pub(crate) name: Option<String>,
    /// The name of the key of a foreign key. MariaDB uses it as the name of the constraint if there is no other.
    pub(crate) index_name: Option<String>,
    /// The columns of a foreign key; empty for a CHECK.
    pub(crate) columns: Vec<String>,
    /// The text without the name, and without the columns of a foreign key.
    pub(crate) text: String,
}

impl Constraint {
    /// A constraint without columns.
    pub(crate) fn new(name: Option<String>, text: String) -> Self {
        Self { name, index_name: None, columns: Vec::new(), text }
    }
}

/// An element of a table that is not a column.
#[derive(Debug)]
pub(crate) enum Element {
    Key(Key),
    Check(Constraint),
}

/// True if two names of columns or keys are the same, in any letter case.
pub(crate) fn is_same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
        || !(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase()
}

/// The words that begin a constraint.
const CONSTRAINTS: [&str; 4] = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"];

impl Key {
    pub(crate) fn new(kind: KeyKind) -> Self {
        Self {
            kind,
            name: None,
            constraint: None,
            parts: Vec::new(),
            is_hash: false,
            visible: true,
            is_implicit: false,
            is_inline: false,
            if_not_exists: false,
            references: String::new(),
        }
    }

    /// The key of one complete column.
    pub(crate) fn inline(kind: KeyKind, column: &str) -> Self {
        let part = KeyColumn::Column { name: column.to_owned(), prefix: 0, descending: false };
        Self { parts: vec![part], is_inline: true, ..Self::new(kind) }
    }

    /// True if it has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name.as_deref().is_some_and(|own| is_same_name(own, name))
    }

    pub(crate) fn has_expression(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, KeyColumn::Expression(_)))
    }

    /// The constraint of a foreign key; `None` for other keys.
    pub(crate) fn foreign_key(&self) -> Option<Constraint> {
        let columns = self.parts.iter().filter_map(|part| match part {
            KeyColumn::Column { name, .. } => Some(name.clone()),
            _ => None,
        });
        (self.kind == KeyKind::Foreign).then(|| Constraint {
            name: self.constraint.clone(),
            index_name: self.name.clone(),
            columns: columns.collect(),
            text: self.references.clone(),
        })
    }

    /// Reads `[name] [USING HASH] (column [(prefix)] [ASC|DESC], ...) [options]`, up to the `,` or `)` after it.
    pub(crate) fn parse(kind: KeyKind, cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut key = Self::new(kind);
        key.if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        while !cursor.is_sign('(') {
            if cursor.accept_any(&["USING", "TYPE"])? {
                key.is_hash |= cursor.is("HASH");
                cursor.name()?;
            } else {
                key.name = Some(cursor.name()?);
            }
        }
        key.columns(cursor)?;
        key.options(cursor)?;
        Ok(key)
    }

    /// Reads `(column [(prefix)] [ASC|DESC], ...)`.
    pub(crate) fn columns(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        cursor.expect_sign('(')?;
        loop {
            if cursor.is_sign('(') {
                self.parts.push(KeyColumn::Expression(cursor.text_of(Cursor::skip_parens)?));
                cursor.accept_any(&["ASC", "DESC"])?;
            } else {
                let name = cursor.name()?;
                let prefix = cursor.number_in_parens()?.unwrap_or(0);
                if cursor.accept_all(&["WITHOUT", "OVERLAPS"])? {
                    self.parts.push(KeyColumn::Period(name));
                } else {
                    let descending = cursor.accept("DESC")?;
                    cursor.accept("ASC")?;
                    self.parts.push(KeyColumn::Column { name, prefix, descending });
                }
            }
            if !cursor.accept_sign(',')? {
                break;
            }
        }
        cursor.expect_sign(')')
    }

    /// Reads the options after the columns.
    pub(crate) fn options(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        while !matches!(cursor.peek(), Token::Sign(',' | ')' | ';') | Token::End) {
            if cursor.accept_any(&["USING", "TYPE"])? {
                self.is_hash |= cursor.is("HASH");
                cursor.name()?;
            } else if cursor.accept("NOT")? {
                cursor.accept("IGNORED")?;
                self.visible = true;
            } else if cursor.accept_any(&["INVISIBLE", "IGNORED"])? {
                self.visible = false;
            } else if cursor.accept("VISIBLE")? {
                self.visible = true;
            } else if cursor.accept("IMPLICIT")? {
                self.is_implicit = true;
            } else if ["ALGORITHM", "LOCK"].iter().any(|word| cursor.is(word)) {
                return Ok(());
            } else if !cursor.accept_parens()? {
                cursor.bump()?;
            }
        }
        Ok(())
    }
}

impl KeyColumn {
    pub(crate) fn to_sql(&self) -> String {
        match self {
            Self::Column { name, prefix, descending } => {
                let prefix = if *prefix > 0 { format!("({prefix})") } else { String::new() };
                let order = if *descending { " DESC" } else { "" };
                format!("{}{prefix}{order}", quoted_name(name))
            }
            Self::Expression(expression) => expression.clone(),
            Self::Period(name) => format!("{} WITHOUT OVERLAPS", quoted_name(name)),
        }
    }
}

impl Element {
    /// True if an element begins here; otherwise it is a column.
    pub(crate) fn begins(cursor: &Cursor<'_>) -> bool {
        let words = ["CONSTRAINT", "KEY", "INDEX", "FULLTEXT", "SPATIAL"];
        words.iter().chain(&CONSTRAINTS).any(|word| cursor.is(word))
            // A column may have the name VECTOR.
            || cursor.are(&["VECTOR", "KEY"])
            || cursor.are(&["VECTOR", "INDEX"])
    }

    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut constraint = None;
        let is_known = |cursor: &Cursor<'_>| CONSTRAINTS.iter().any(|word| cursor.is(word));
        let mut if_not_exists = false;
        if cursor.accept("CONSTRAINT")? {
            if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
            if !is_known(cursor) {
                constraint = Some(cursor.name()?);
            }
            if !is_known(cursor) {
                return Err(cursor.error("a constraint that is not known"));
            }
        }
        if cursor.is("CHECK") {
            let text = cursor.text_of(|cursor| {
                cursor.bump()?;
                cursor.skip_parens()?;
                if cursor.accept("NOT")? {
                    return cursor.expect("ENFORCED");
                }
                cursor.accept("ENFORCED").map(drop)
            })?;
            return Ok(Self::Check(Constraint::new(constraint, text)));
        }
        let kind = if cursor.accept_all(&["PRIMARY", "KEY"])? {
            KeyKind::Primary
        } else if cursor.accept("UNIQUE")? {
            KeyKind::Unique
        } else if cursor.accept_all(&["FOREIGN", "KEY"])? {
            let mut key = Key::new(KeyKind::Foreign);
            key.if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])? || if_not_exists;
            if !cursor.is_sign('(') {
                key.name = Some(cursor.name()?);
            }
            key.constraint = constraint;
            key.columns(cursor)?;
            key.references = cursor.text_of(skip_references)?;
            return Ok(Self::Key(key));
        } else if cursor.accept("FULLTEXT")? {
            KeyKind::Fulltext
        } else if cursor.accept("SPATIAL")? {
            KeyKind::Spatial
        } else if cursor.accept("VECTOR")? {
            KeyKind::Vector
        } else {
            KeyKind::Index
        };
        cursor.accept_any(&["KEY", "INDEX"])?;
        let mut key = Key::parse(kind, cursor)?;
        key.if_not_exists |= if_not_exists;
        if kind == KeyKind::Primary {
            key.name = None;
        }
        key.constraint = constraint;
        Ok(Self::Key(key))
    }
}

/// Steps over `REFERENCES table (columns)` and its actions.
pub(crate) fn skip_references(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.expect("REFERENCES")?;
    cursor.qualified_name()?;
    cursor.accept_parens()?;
    if cursor.accept("MATCH")? {
        cursor.name()?;
    }
    while cursor.are(&["ON", "DELETE"]) || cursor.are(&["ON", "UPDATE"]) {
        cursor.bump()?;
        cursor.bump()?;
        if cursor.accept("SET")? {
            if !cursor.accept_any(&["NULL", "DEFAULT"])? {
                return Err(cursor.error("NULL is missing after SET"));
            }
        } else if cursor.accept("NO")? {
            cursor.expect("ACTION")?;
        } else {
            cursor.name()?;
        }
    }
    Ok(())
}
