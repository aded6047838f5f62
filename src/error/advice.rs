//! Options in messages, as data: each surface writes them in its own words.
//!
//! A message names an option by its keyword, as `⟦name⟧` or `⟦name=value⟧`, and a function as `⟦object.function=arguments⟧`.
//! Python writes `name='value'`, the command line `--name value`, Spark the option in camel case. See
//! `python/binarrow/advice.py`.

use std::borrow::Cow;

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text that is the same on all surfaces.
    Text(&'t str),
    /// An option or a function by its name in Python, with a value.
    Option(&'t str, Option<&'t str>),
}

/// Splits a message into its parts.
pub fn parts(message: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = message;
    while let Some((text, marked)) = rest.split_once(OPEN) {
        let Some((option, after)) = marked.split_once(CLOSE) else { break };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        parts.push(Part::Option(name, value));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
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
