//! The options of the mapping from MySQL types to Arrow types: one immutable value that readers,
//! `infer_schema` and Spark share.

use crate::error::Error;

/// The Arrow types that are used for MySQL's types, and the handling of values that Arrow cannot
/// represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeOptions {
    /// The column of the type table.
    pub profile: Profile,
    /// The handling of zero and impossible dates.
    pub zero_dates: ZeroDates,
    /// The form of JSON values.
    pub json: Json,
    /// The form of TIME values.
    pub time: Time,
    /// The form of GEOMETRY values.
    pub geometry: Geometry,
    /// The form of ENUM values.
    pub enumeration: Enumeration,
    /// The handling of text that is invalid in its character set.
    pub invalid_text: InvalidText,
}

impl TypeOptions {
    /// The defaults of a profile.
    pub const fn new(profile: Profile) -> Self {
        Self {
            profile,
            zero_dates: ZeroDates::Null,
            json: Json::Text,
            time: match profile {
                Profile::Native => Time::Duration,
                Profile::Spark => Time::Micros,
            },
            geometry: Geometry::Ewkb,
            enumeration: match profile {
                Profile::Native => Enumeration::Dictionary,
                Profile::Spark => Enumeration::Text,
            },
            invalid_text: InvalidText::Error,
        }
    }

    /// True if Spark must accept the types.
    pub const fn is_spark(&self) -> bool {
        matches!(self.profile, Profile::Spark)
    }
}

impl Default for TypeOptions {
    fn default() -> Self {
        Self::new(Profile::Native)
    }
}

/// Defines an option with a fixed set of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $option:literal { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// The word of this option.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Parses a word; the error lists the words.
            pub fn parse(word: &str) -> Result<Self, Error> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    other => Err(Error::config(format!(
                        "{} must be one of {}, not {other:?}",
                        $option,
                        [$(concat!("'", $word, "'")),+].join(", "),
                    ))),
                }
            }
        }
    };
}

words! {
    /// The column of the type table.
    Profile, "profile" {
        /// Arrow's closest type.
        Native = "native",
        /// Only types that Spark accepts.
        Spark = "spark",
    }
}

words! {
    /// The handling of a zero date (`0000-00-00`), a partial date (`2015-05-00`) or an impossible
    /// date (`2015-02-31`).
    ZeroDates, "zero_dates" {
        /// NULL, which is counted and causes a warning.
        Null = "null",
        /// An error.
        Error = "error",
        /// All values of such columns as text.
        Text = "text",
    }
}

words! {
    /// The form of JSON values.
    Json, "json" {
        /// The text that `CAST(col AS CHAR)` returns.
        Text = "text",
        /// Parquet's Variant, as a struct that Spark reads as its VARIANT.
        Variant = "variant",
        /// The server's binary form.
        Bytes = "bytes",
        /// Text, but if the log contains only the changes of a document, the changes:
        /// `{"$diff":[...]}`.
        Diff = "diff",
    }
}

words! {
    /// The form of TIME values, which range from -838:59:59 to 838:59:59.
    Time, "time" {
        /// A duration in microseconds.
        Duration = "duration",
        /// int64 microseconds.
        Micros = "micros",
        /// A duration in microseconds, which Spark reads as a day-time interval.
        Interval = "interval",
        /// Text as the server prints it.
        Text = "text",
    }
}

words! {
    /// The form of GEOMETRY values.
    Geometry, "geometry" {
        /// EWKB: WKB that contains the SRID; plain WKB if the SRID is 0.
        Ewkb = "ewkb",
        /// WKB; the SRID is dropped.
        Wkb = "wkb",
        /// The stored form of the server: SRID, then WKB.
        Mysql = "mysql",
    }
}

words! {
    /// The form of ENUM values if the members are known.
    Enumeration, "enum" {
        /// A dictionary of the members.
        Dictionary = "dictionary",
        /// Text.
        Text = "text",
        /// The ordinal, from 1; 0 is the empty error value.
        Ordinal = "ordinal",
    }
}

words! {
    /// The handling of text that is invalid in its character set.
    InvalidText, "invalid_text" {
        /// An error with table and column.
        Error = "error",
        /// U+FFFD for invalid characters.
        Replace = "replace",
        /// All text columns as bytes.
        Binary = "binary",
    }
}
