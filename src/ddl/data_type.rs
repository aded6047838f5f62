//! The data type of a column, in all spellings of both servers.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/data-types.html>, <https://mariadb.com/kb/en/data-types/>

use super::charset_clause::CharsetClause;
use super::cursor::Cursor;
use super::token::Result;
use crate::charset::Charset;
use crate::schema::{ColumnType, GeometryType};

/// A data type as the statement names it. Its meaning can depend on the server and on the character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataType {
    /// A type that is the same on all servers.
    Plain(ColumnType),
    /// TINYINT, SMALLINT and so on, with a display width.
    Integer {
        column_type: ColumnType,
        width: u64,
    },
    /// REAL: FLOAT under `sql_mode=REAL_AS_FLOAT`, otherwise DOUBLE.
    Real,
    /// CHAR and BINARY, VARCHAR and VARBINARY.
    Char {
        /// In characters.
        length: u64,
        varying: bool,
    },
    /// TEXT and BLOB of a size; 0: the smallest that holds `length` characters.
    Text {
        length_bytes: u8,
        length: u64,
    },
    Enum(Vec<String>),
    Set(Vec<String>),
    Json,
    Geometry(GeometryType),
    Vector {
        dimension: u64,
    },
    Uuid,
    Inet4,
    Inet6,
}

impl DataType {
    /// The members of an ENUM or SET; empty for other types.
    pub(crate) fn members(&self) -> &[String] {
        match self {
            Self::Enum(members) | Self::Set(members) => members,
            _ => &[],
        }
    }
}

/// A type, with the other properties that its name implies.
#[derive(Debug)]
pub(crate) struct ParsedType {
    pub(crate) data_type: DataType,
    pub(crate) charset: CharsetClause,
    /// M and D of FLOAT(M,D), DOUBLE(M,D), REAL(M,D): values are rounded to D digits.
    pub(crate) digits: Option<Digits>,
    /// True for SERIAL: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    pub(crate) is_serial: bool,
}

/// M and D of a type such as FLOAT(M,D).
pub(crate) type Digits = (u64, u64);

/// Reads a data type, without the attributes after it.
pub(crate) fn data_type(cursor: &mut Cursor<'_>) -> Result<ParsedType> {
    let unknown = cursor.error("a data type that is not known");
    let word = cursor.name()?.to_ascii_uppercase();
    if let Some((data_type, digits)) = number(cursor, &word)? {
        let is_serial = word == "SERIAL";
        return Ok(ParsedType { data_type, charset: CharsetClause::default(), digits, is_serial });
    }
    let (data_type, charset) = match text(cursor, &word)? {
        Some((data_type, charset)) => (data_type, charset),
        None => (other(cursor, &word)?.ok_or(unknown)?, None),
    };
    let charset = CharsetClause { charset, ..CharsetClause::default() };
    Ok(ParsedType { data_type, charset, digits: None, is_serial: false })
}

/// Reads a type of numbers, after its name; `None` if the name is not one of these. M and D are returned if values are rounded
/// to D digits.
fn number(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<(DataType, Option<Digits>)>> {
    use ColumnType as T;
    use DataType::Plain;
    let integer = |cursor: &mut Cursor<'_>, column_type| {
        Ok(match cursor.number_in_parens()? {
            Some(width) if column_type != T::Year => DataType::Integer { column_type, width },
            _ => Plain(column_type),
        })
    };
    let exact = match word {
        "TINYINT" | "INT1" => integer(cursor, T::Tiny)?,
        "BOOL" | "BOOLEAN" => DataType::Integer { column_type: T::Tiny, width: 1 },
        "SMALLINT" | "INT2" => integer(cursor, T::Short)?,
        "MEDIUMINT" | "INT3" | "MIDDLEINT" => integer(cursor, T::Int24)?,
        "INT" | "INTEGER" | "INT4" => integer(cursor, T::Long)?,
        "BIGINT" | "INT8" => integer(cursor, T::LongLong)?,
        "SERIAL" => Plain(T::LongLong),
        "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => decimal(cursor)?,
        // In MariaDB under `sql_mode=ORACLE`.
        "NUMBER" if !cursor.is_sign('(') => Plain(T::Double),
        "NUMBER" => decimal(cursor)?,
        "BIT" => match cursor.number_in_parens()?.unwrap_or(1) {
            0 => Plain(T::Bit { bits: 1 }),
            bits @ 1..=64 => Plain(T::Bit { bits: bits as u8 }),
            _ => return Err(cursor.error("a BIT of more than 64 bits")),
        },
        "YEAR" => integer(cursor, T::Year)?,
        "FLOAT" | "FLOAT4" => {
            return Ok(Some(match digits(cursor)? {
                Some((25.., None)) => (Plain(T::Double), None),
                size => (Plain(T::Float), with_scale(size)),
            }));
        }
        "REAL" => return Ok(Some((DataType::Real, with_scale(digits(cursor)?)))),
        "DOUBLE" | "FLOAT8" => {
            cursor.accept("PRECISION")?;
            return Ok(Some((Plain(T::Double), with_scale(digits(cursor)?))));
        }
        _ => return Ok(None),
    };
    Ok(Some((exact, None)))
}

/// Reads a type of text or bytes, after its name; `None` if the name is not one of these. Some names imply a character set.
fn text(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<(DataType, Option<Charset>)>> {
    use DataType::Text;
    let text = match word {
        "CHAR" | "CHARACTER" => {
            let varying = cursor.accept("VARYING")?;
            character(cursor, varying)?
        }
        "VARCHAR" | "VARCHARACTER" | "VARCHAR2" => character(cursor, true)?,
        "CLOB" | "LONGTEXT" => Text { length_bytes: 4, length: 0 },
        "TINYTEXT" => Text { length_bytes: 1, length: 0 },
        "TEXT" => sized_text(cursor)?,
        "MEDIUMTEXT" => Text { length_bytes: 3, length: 0 },
        "LONG" => {
            let is_text = match cursor.accept_any(&["CHAR", "CHARACTER"])? {
                true => cursor.expect("VARYING").map(|()| true)?,
                false => cursor.accept_any(&["VARCHAR", "VARCHARACTER"])?,
            };
            let is_binary = !is_text && cursor.accept("VARBINARY")?;
            let charset = is_binary.then_some(Charset::Binary);
            return Ok(Some((Text { length_bytes: 3, length: 0 }, charset)));
        }
        "NCHAR" | "NVARCHAR" | "NATIONAL" => {
            let varying = match word {
                "NVARCHAR" => true,
                "NCHAR" => cursor.accept_any(&["VARYING", "VARCHAR", "VARCHARACTER"])?,
                _ if cursor.accept_any(&["CHAR", "CHARACTER"])? => cursor.accept("VARYING")?,
                _ if cursor.accept_any(&["VARCHAR", "VARCHARACTER"])? => true,
                _ => return Err(cursor.error("CHAR is missing after NATIONAL")),
            };
            return Ok(Some((character(cursor, varying)?, Some(Charset::Utf8mb3))));
        }
        _ => return Ok(bytes(cursor, word)?.map(|bytes| (bytes, Some(Charset::Binary)))),
    };
    Ok(Some((text, None)))
}

/// Reads a type of bytes, after its name; `None` if the name is not one of these.
fn bytes(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<DataType>> {
    use DataType::Text;
    Ok(Some(match word {
        "BINARY" => character(cursor, false)?,
        // RAW: in MariaDB under `sql_mode=ORACLE`.
        "VARBINARY" | "RAW" => character(cursor, true)?,
        "TINYBLOB" => Text { length_bytes: 1, length: 0 },
        "BLOB" => sized_text(cursor)?,
        "MEDIUMBLOB" => Text { length_bytes: 3, length: 0 },
        "LONGBLOB" => Text { length_bytes: 4, length: 0 },
        _ => return Ok(None),
    }))
}

/// Reads any other type, after its name; `None` if the name is not known.
fn other(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<DataType>> {
    use ColumnType as T;
    use DataType::{Geometry, Plain};
    Ok(Some(match word {
        "DATE" => Plain(T::Date),
        "TIME" => Plain(T::Time2 { fsp: fraction(cursor)? }),
        "DATETIME" => Plain(T::DateTime2 { fsp: fraction(cursor)? }),
        "TIMESTAMP" => Plain(T::Timestamp2 { fsp: fraction(cursor)? }),
        "ENUM" => DataType::Enum(members(cursor)?),
        "SET" => DataType::Set(members(cursor)?),
        "JSON" => DataType::Json,
        "GEOMETRY" => Geometry(GeometryType::Geometry),
        "POINT" => Geometry(GeometryType::Point),
        "LINESTRING" => Geometry(GeometryType::LineString),
        "POLYGON" => Geometry(GeometryType::Polygon),
        "MULTIPOINT" => Geometry(GeometryType::MultiPoint),
        "MULTILINESTRING" => Geometry(GeometryType::MultiLineString),
        "MULTIPOLYGON" => Geometry(GeometryType::MultiPolygon),
        "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" => Geometry(GeometryType::GeometryCollection),
        "VECTOR" => {
            DataType::Vector { dimension: cursor.number_in_parens()?.unwrap_or(DEFAULT_DIMENSION) }
        }
        "UUID" => DataType::Uuid,
        "INET4" => DataType::Inet4,
        "INET6" => DataType::Inet6,
        _ => return Ok(None),
    }))
}

/// M and D, if the statement contains both.
fn with_scale(size: Option<(u64, Option<u64>)>) -> Option<(u64, u64)> {
    size.and_then(|(precision, scale)| Some((precision, scale?)))
}

/// Reads `(m)` or `(m,d)`, if it is there.
fn digits(cursor: &mut Cursor<'_>) -> Result<Option<(u64, Option<u64>)>> {
    if !cursor.accept_sign('(')? {
        return Ok(None);
    }
    let first = cursor.number()?;
    let second = cursor.accept_sign(',')?.then(|| cursor.number()).transpose()?;
    cursor.expect_sign(')')?;
    Ok(Some((first, second)))
}

fn decimal(cursor: &mut Cursor<'_>) -> Result<DataType> {
    let (precision, scale) = digits(cursor)?.unwrap_or((0, None));
    let scale = scale.unwrap_or(0);
    let precision = if precision == 0 { scale.max(10) } else { precision };
    if precision > 65 || scale > precision.min(38) {
        return Err(cursor.error("a DECIMAL that no server has"));
    }
    Ok(DataType::Plain(ColumnType::Decimal { precision: precision as u8, scale: scale as u8 }))
}

fn fraction(cursor: &mut Cursor<'_>) -> Result<u8> {
    match cursor.number_in_parens()?.unwrap_or(0) {
        fsp @ 0..=6 => Ok(fsp as u8),
        _ => Err(cursor.error("more than 6 digits of a second")),
    }
}

fn character(cursor: &mut Cursor<'_>, varying: bool) -> Result<DataType> {
    match cursor.number_in_parens()? {
        Some(length) => Ok(DataType::Char { length, varying }),
        None if varying => Err(cursor.error("the length is missing")),
        None => Ok(DataType::Char { length: 1, varying }),
    }
}

fn sized_text(cursor: &mut Cursor<'_>) -> Result<DataType> {
    Ok(match cursor.number_in_parens()? {
        None | Some(0) => DataType::Text { length_bytes: 2, length: 0 },
        Some(length) => DataType::Text { length_bytes: 0, length },
    })
}

fn members(cursor: &mut Cursor<'_>) -> Result<Vec<String>> {
    cursor.expect_sign('(')?;
    let mut members = vec![cursor.text()?];
    while cursor.accept_sign(',')? {
        members.push(cursor.text()?);
    }
    cursor.expect_sign(')')?;
    Ok(members)
}

/// The default of MySQL's VECTOR; in MariaDB the dimension is required.
const DEFAULT_DIMENSION: u64 = 2048;
