//! How MySQL's types become Arrow's: one frozen value that readers, `infer_schema` and Spark share.

use crate::error::Error;

/// Which Arrow types are used for MySQL's, and what becomes of values that Arrow cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeOptions {
    /// The column of the type table.
    pub profile: Profile,
    /// What a zero or impossible date becomes.
    pub zero_dates: ZeroDates,
    /// What a JSON value becomes.
    pub json: Json,
    /// What a TIME value becomes.
    pub time: Time,
    /// What a GEOMETRY value becomes.
    pub geometry: Geometry,
    /// What an ENUM value becomes.
    pub enumeration: Enumeration,
    /// What text that is not valid in its character set becomes.
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

    /// Whether Spark must accept the types.
    pub const fn is_spark(&self) -> bool {
        matches!(self.profile, Profile::Spark)
    }
}

impl Default for TypeOptions {
    fn default() -> Self {
        Self::new(Profile::Native)
    }
}

/// An option with a fixed set of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $option:literal { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// By its word; the error lists the words.
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
    /// What a zero date (`0000-00-00`), a partial one (`2015-05-00`) or an impossible one (`2015-02-31`) becomes.
    ZeroDates, "zero_dates" {
        /// NULL, counted and warned of.
        Null = "null",
        /// An error.
        Error = "error",
        /// All values of such columns as text.
        Text = "text",
    }
}

words! {
    /// What a JSON value becomes.
    Json, "json" {
        /// The text that `CAST(col AS CHAR)` gives.
        Text = "text",
        /// Parquet's Variant, as a struct that Spark takes for its VARIANT.
        Variant = "variant",
        /// The server's binary form.
        Bytes = "bytes",
        /// Text too, but of a document that the log holds only the changes of, the changes: `{"$diff":[...]}`.
        Diff = "diff",
    }
}

words! {
    /// What a TIME value becomes; it reaches from -838:59:59 to 838:59:59.
    Time, "time" {
        /// A duration in microseconds.
        Duration = "duration",
        /// int64 microseconds.
        Micros = "micros",
        /// A duration in microseconds, which Spark takes for a day-time interval.
        Interval = "interval",
        /// Text as the server prints it.
        Text = "text",
    }
}

words! {
    /// What a GEOMETRY value becomes.
    Geometry, "geometry" {
        /// EWKB: WKB with the SRID in it, plain WKB where the SRID is 0.
        Ewkb = "ewkb",
        /// WKB; the SRID is dropped.
        Wkb = "wkb",
        /// As the server stores it: SRID, then WKB.
        Mysql = "mysql",
    }
}

words! {
    /// What an ENUM value becomes where its members are known.
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
    /// What text that is not valid in its character set becomes.
    InvalidText, "invalid_text" {
        /// An error with table and column.
        Error = "error",
        /// U+FFFD for what is invalid.
        Replace = "replace",
        /// All text columns as bytes.
        Binary = "binary",
    }
}
