//! Options in messages, as data: each surface writes them in its own words.
//!
//! A message contains an option as its keyword, as `⟦name⟧` or `⟦name=value⟧`, and a function as
//! `⟦object.function=arguments⟧`. Python writes `name='value'`, the command line `--name value`,
//! Spark the option in camel case. See `python/binarrow/advice.py`.
//! `python/binarrow/advice.py`.

use std::borrow::Cow;

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text that is the same on all surfaces.
    Text(&'t str),
    /// An option or a function with its name in Python, with a value.
    Option(&'t str, Option<&'t str>),
}

/// Splits a message into its parts. A bracket that belongs to no option, such as one in the name of a file, is text.
pub fn parts(message: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut rest, mut searched) = (message, 0);
    while let Some(at) = rest[searched..].find(OPEN).map(|at| searched + at) {
        let inside = at + OPEN.len_utf8();
        match option(&rest[inside..]) {
            Some((option, after)) => {
                if at > 0 {
                    parts.push(Part::Text(&rest[..at]));
                }
                parts.push(option);
                (rest, searched) = (after, 0);
            }
            None => searched = inside,
        }
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// The option after an opening bracket, and the text after it.
fn option(marked: &str) -> Option<(Part<'_>, &str)> {
    let (option, after) = marked.split_once(CLOSE)?;
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    let is_name = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'.');
    let is_option = !name.is_empty() && name.bytes().all(is_name) && !option.contains(OPEN);
    is_option.then_some((Part::Option(name, value), after))
}

/// The message in Python's words.
pub fn in_python(message: &str) -> Cow<'_, str> {
    if !message.contains(OPEN) {
        return Cow::Borrowed(message);
    }
    parts(message).into_iter().map(Part::in_python).collect::<String>().into()
}

impl<'t> Part<'t> {
    /// The part in Python's words.
    pub fn in_python(self) -> Cow<'t, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Option(name, None) if name.contains('.') => name.into(),
            Self::Option(name, Some(arguments)) if name.contains('.') => {
                format!("{name}({arguments})").into()
            }
            Self::Option(name, None) => format!("{name}=").into(),
            Self::Option(name, Some(value)) if is_literal(value) => {
                format!("{name}={value}").into()
            }
            Self::Option(name, Some(value)) => format!("{name}='{value}'").into(),
        }
    }
}

fn is_literal(value: &str) -> bool {
    value.starts_with('[') || matches!(value, "True" | "False")
}

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_words_of_python() {
        for (message, shown) in [
            ("wait longer (⟦reconnect⟧)", "wait longer (reconnect=)"),
            ("⟦gaps=allow⟧ continues", "gaps='allow' continues"),
            ("⟦skip_events=[161]⟧ or ⟦data=True⟧", "skip_events=[161] or data=True"),
            (
                "⟦history.baseline⟧, ⟦history.baseline=server⟧",
                "history.baseline, history.baseline(server)",
            ),
            ("a path/start=1⟦/x", "a path/start=1⟦/x"),
            (
                "a⟦b.000001 lacks x; ⟦gaps=allow⟧ continues",
                "a⟦b.000001 lacks x; gaps='allow' continues",
            ),
            ("the table ⟦A⟧, ⟦⟧ ⟦x y⟧", "the table ⟦A⟧, ⟦⟧ ⟦x y⟧"),
            ("", ""),
        ] {
            assert_eq!(in_python(message), shown);
        }
    }

    #[test]
    fn parts_of_a_message() {
        assert_eq!(
            parts("set ⟦json=diff⟧, or ⟦schemas⟧"),
            [
                Part::Text("set "),
                Part::Option("json", Some("diff")),
                Part::Text(", or "),
                Part::Option("schemas", None),
            ]
        );
    }
}
