//! Names and strings as SHOW CREATE TABLE writes them.

/// A name in backticks.
pub(crate) fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string in quotes.
pub(crate) fn quoted(member: &str) -> String {
    let mut text = String::with_capacity(member.len() + 2);
    text.push('\'');
    for c in member.chars() {
        match c {
            '\'' => text.push_str("''"),
            '\\' => text.push_str("\\\\"),
            '\0' => text.push_str("\\0"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c => text.push(c),
        }
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_strings() {
        assert_eq!(quoted_name("a`b"), "`a``b`");
        assert_eq!(quoted("it's\n\\"), "'it''s\\n\\\\'");
    }
}
