//! The type of a column in the binary log, after its metadata is resolved.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html>

use super::sql_text::quoted;
use crate::charset::Collation;
use std::sync::Arc;

/// A resolved column type: enough to find a cell's length and to decode it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// TINYINT
    Tiny,
    /// SMALLINT
    Short,
    /// MEDIUMINT
    Int24,
    /// INT
    Long,
    /// BIGINT
    LongLong,
    /// FLOAT
    Float,
    /// DOUBLE
    Double,
    /// DECIMAL(precision, scale)
    Decimal {
        /// The number of digits, 1 to 65.
        precision: u8,
        /// Digits after the point, 0 to 38.
        scale: u8,
    },
    /// BIT(bits)
    Bit {
        /// 1 to 64.
        bits: u8,
    },
    /// YEAR
    Year,
    /// DATE
    Date,
    /// TIME(fsp), the form since MySQL 5.6.4
    Time2 {
        /// Digits of the fraction of a second, 0 to 6.
        fsp: u8,
    },
    /// DATETIME(fsp), the form since MySQL 5.6.4
    DateTime2 {
        /// Digits of the fraction of a second, 0 to 6.
        fsp: u8,
    },
    /// TIMESTAMP(fsp), the form since MySQL 5.6.4
    Timestamp2 {
        /// Digits of the fraction of a second, 0 to 6.
        fsp: u8,
    },
    /// TIME as MySQL 5.5 and older store it, and MariaDB with `mysql56_temporal_format=OFF`
    TimeOld {
        /// Digits of the fraction of a second; `None` if only the log describes the column, which
        /// does not contain them.
        fsp: Option<u8>,
    },
    /// DATETIME as MySQL 5.5 and older store it, and MariaDB with `mysql56_temporal_format=OFF`
    DateTimeOld {
        /// See `TimeOld`.
        fsp: Option<u8>,
    },
    /// TIMESTAMP as MySQL 5.5 and older store it, and MariaDB with `mysql56_temporal_format=OFF`
    TimestampOld {
        /// See `TimeOld`.
        fsp: Option<u8>,
    },
    /// CHAR, or BINARY if the collation is binary
    Char {
        /// The longest value, in bytes.
        max_bytes: u16,
    },
    /// VARCHAR, or VARBINARY if the collation is binary
    VarChar {
        /// The longest value, in bytes.
        max_bytes: u16,
    },
    /// TEXT, or BLOB if the collation is binary
    Blob {
        /// Bytes of the length field, 1 to 4: TINY, plain, MEDIUM, LONG.
        length_bytes: u8,
    },
    /// ENUM
    Enum {
        /// 1 or 2.
        bytes: u8,
    },
    /// SET
    Set {
        /// 1, 2, 3, 4 or 8.
        bytes: u8,
    },
    /// JSON, MySQL's binary form
    Json {
        /// Bytes of the length field.
        length_bytes: u8,
    },
    /// JSON as a SELECT returns it: text in utf8mb4. Never in the log
    JsonText {
        /// Bytes of the length field.
        length_bytes: u8,
    },
    /// GEOMETRY and its kinds
    Geometry {
        /// Bytes of the length field.
        length_bytes: u8,
    },
    /// VECTOR of MySQL 9
    Vector {
        /// Bytes of the length field.
        length_bytes: u8,
    },
    /// VECTOR of MariaDB, which the log shows as a VARBINARY
    VectorVarBinary {
        /// The longest value, in bytes.
        max_bytes: u16,
    },
    /// UUID of MariaDB, which the log shows as a BINARY(16)
    Uuid,
    /// INET4 of MariaDB, which the log shows as a BINARY(4)
    Inet4,
    /// INET6 of MariaDB, which the log shows as a BINARY(16)
    Inet6,
    /// VARCHAR or VARBINARY with MariaDB's COMPRESSED attribute
    VarCharCompressed {
        /// The longest stored value, in bytes.
        max_bytes: u16,
    },
    /// TEXT or BLOB with MariaDB's COMPRESSED attribute
    BlobCompressed {
        /// Bytes of the length field, 1 to 4.
        length_bytes: u8,
    },
    /// The column of a multi-valued index; never in a row image
    TypedArray,
}

/// The declared kind of a GEOMETRY column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeometryType {
    /// GEOMETRY
    Geometry,
    /// POINT
    Point,
    /// LINESTRING
    LineString,
    /// POLYGON
    Polygon,
    /// MULTIPOINT
    MultiPoint,
    /// MULTILINESTRING
    MultiLineString,
    /// MULTIPOLYGON
    MultiPolygon,
    /// GEOMETRYCOLLECTION
    GeometryCollection,
}

impl GeometryType {
    /// Converts the number that the binary log uses.
    pub fn from_code(code: u64) -> Option<Self> {
        Some(match code {
            0 => Self::Geometry,
            1 => Self::Point,
            2 => Self::LineString,
            3 => Self::Polygon,
            4 => Self::MultiPoint,
            5 => Self::MultiLineString,
            6 => Self::MultiPolygon,
            7 => Self::GeometryCollection,
            _ => return None,
        })
    }

    /// The word in SQL.
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Geometry => "geometry",
            Self::Point => "point",
            Self::LineString => "linestring",
            Self::Polygon => "polygon",
            Self::MultiPoint => "multipoint",
            Self::MultiLineString => "multilinestring",
            Self::MultiPolygon => "multipolygon",
            Self::GeometryCollection => "geometrycollection",
        }
    }
}

impl ColumnType {
    /// True if the cells are compressed, with MariaDB's COMPRESSED attribute.
    pub const fn is_compressed(&self) -> bool {
        matches!(self, Self::VarCharCompressed { .. } | Self::BlobCompressed { .. })
    }

    /// True if the table map's SIGNEDNESS field has a bit for such a column.
    pub const fn is_numeric(&self) -> bool {
        matches!(
            self,
            Self::Tiny
                | Self::Short
                | Self::Int24
                | Self::Long
                | Self::LongLong
                | Self::Float
                | Self::Double
                | Self::Decimal { .. }
                | Self::Year
        )
    }

    /// True if such a column is an integer. The bytes of its values do not contain whether it is
    /// UNSIGNED.
    pub const fn is_integer(&self) -> bool {
        matches!(self, Self::Tiny | Self::Short | Self::Int24 | Self::Long | Self::LongLong)
    }

    /// True if such a column contains text or bytes and therefore has a collation.
    pub const fn is_character(&self) -> bool {
        matches!(
            self,
            Self::Char { .. }
                | Self::VarChar { .. }
                | Self::Blob { .. }
                | Self::VarCharCompressed { .. }
                | Self::BlobCompressed { .. }
        )
    }

    /// The type as SHOW CREATE TABLE writes it, as far as the log contains it. Lengths are in
    /// characters of `collation`.
    pub fn sql(
        &self,
        unsigned: bool,
        collation: Option<Collation>,
        members: Option<&[Arc<str>]>,
        geometry: Option<GeometryType>,
        dimension: Option<u32>,
    ) -> String {
        let sign = if unsigned { " unsigned" } else { "" };
        let binary = collation.is_some_and(|collation| collation.charset().is_binary());
        let char_len = |bytes: u16| {
            let width = collation.map_or(1, |collation| collation.charset().max_char_bytes());
            usize::from(bytes) / width.max(1)
        };
        let fraction = |name: &str, fsp: u8| match fsp {
            0 => name.to_owned(),
            fsp => format!("{name}({fsp})"),
        };
        let list = |name: &str| match members {
            None => name.to_owned(),
            Some(members) => {
                let quoted: Vec<_> = members.iter().map(|member| quoted(member)).collect();
                format!("{name}({})", quoted.join(","))
            }
        };
        match self {
            Self::Tiny => format!("tinyint{sign}"),
            Self::Short => format!("smallint{sign}"),
            Self::Int24 => format!("mediumint{sign}"),
            Self::Long => format!("int{sign}"),
            Self::LongLong => format!("bigint{sign}"),
            Self::Float => format!("float{sign}"),
            Self::Double => format!("double{sign}"),
            Self::Decimal { precision, scale } => format!("decimal({precision},{scale}){sign}"),
            Self::Bit { bits } => format!("bit({bits})"),
            Self::Year => "year".into(),
            Self::Date => "date".into(),
            Self::Time2 { fsp } => fraction("time", *fsp),
            Self::DateTime2 { fsp } => fraction("datetime", *fsp),
            Self::Timestamp2 { fsp } => fraction("timestamp", *fsp),
            Self::TimeOld { fsp } => fraction("time", fsp.unwrap_or(0)),
            Self::DateTimeOld { fsp } => fraction("datetime", fsp.unwrap_or(0)),
            Self::TimestampOld { fsp } => fraction("timestamp", fsp.unwrap_or(0)),
            Self::Char { max_bytes } if binary => format!("binary({max_bytes})"),
            Self::Char { max_bytes } => format!("char({})", char_len(*max_bytes)),
            Self::VarChar { max_bytes } if binary => format!("varbinary({max_bytes})"),
            Self::VarChar { max_bytes } => format!("varchar({})", char_len(*max_bytes)),
            Self::Blob { length_bytes } => {
                format!("{}{}", blob_size(*length_bytes), blob_kind(binary))
            }
            Self::Enum { .. } => list("enum"),
            Self::Set { .. } => list("set"),
            Self::Json { .. } | Self::JsonText { .. } => "json".into(),
            Self::Geometry { .. } => geometry.unwrap_or(GeometryType::Geometry).sql().into(),
            Self::Uuid => "uuid".into(),
            Self::Inet4 => "inet4".into(),
            Self::Inet6 => "inet6".into(),
            Self::Vector { .. } | Self::VectorVarBinary { .. } => match dimension {
                Some(dimension) => format!("vector({dimension})"),
                None => "vector".into(),
            },
            Self::VarCharCompressed { max_bytes } => {
                let (name, len) = if binary {
                    ("varbinary", usize::from(max_bytes.saturating_sub(1)))
                } else {
                    ("varchar", char_len(max_bytes.saturating_sub(1)))
                };
                format!("{name}({len}) compressed")
            }
            Self::BlobCompressed { length_bytes } => {
                format!("{}{} compressed", blob_size(*length_bytes), blob_kind(binary))
            }
            Self::TypedArray => "typed array".into(),
        }
    }
}

const fn blob_size(length_bytes: u8) -> &'static str {
    match length_bytes {
        1 => "tiny",
        2 => "",
        3 => "medium",
        _ => "long",
    }
}

const fn blob_kind(binary: bool) -> &'static str {
    if binary { "blob" } else { "text" }
}
