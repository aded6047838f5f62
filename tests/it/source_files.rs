//! The files of `src/`, and the paths in their code.

use std::path::{Path, PathBuf};

/// A file of `src/`.
#[derive(Clone)]
pub(crate) struct Source {
    /// Below `src/`.
    pub(crate) path: PathBuf,
    /// Its module path.
    pub(crate) module: Vec<String>,
    /// Without comments.
    pub(crate) code: String,
}

impl Source {
    pub(crate) fn new(path: &Path, text: &str) -> Self {
        let mut module: Vec<String> =
            path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        if module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        let code = text.lines().map(without_comment).collect::<Vec<_>>().join("\n");
        Self { path: path.to_owned(), module, code }
    }

    /// The folders of `src/` that it names.
    pub(crate) fn imports(&self) -> Vec<String> {
        let paths = self.paths(&self.code).into_iter();
        let from_root = paths.filter(|(base, _)| base.is_empty());
        let mut folders: Vec<_> = from_root.map(|(_, path)| path[0].clone()).collect();
        folders.dedup();
        folders
    }

    /// The paths in some code to items of the crate: the module that each path starts in, and the path from there.
    pub(crate) fn paths(&self, code: &str) -> Vec<(&[String], Vec<String>)> {
        let mut all = Vec::new();
        for prefix in ["crate::", "super::"] {
            for (at, _) in code.match_indices(prefix) {
                let before = code[..at].chars().next_back();
                if before.is_some_and(|before| is_word(before) || before == ':') {
                    continue;
                }
                let (mut rest, mut parents) = (&code[at..], 0);
                while let Some(above) = rest.strip_prefix("super::") {
                    (rest, parents) = (above, parents + 1);
                }
                let base = match rest.strip_prefix("crate::") {
                    Some(below) => {
                        rest = below;
                        0
                    }
                    None => self.module.len().saturating_sub(parents),
                };
                all.extend(paths(rest).into_iter().map(|path| (&self.module[..base], path)));
            }
        }
        all
    }

    /// Its code without its tests.
    pub(crate) fn code_without_tests(&self) -> &str {
        self.code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
    }
}

pub(crate) fn files() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push(Source::new(path.strip_prefix(&root).unwrap(), &text));
            }
        }
    }
    files
}

/// The line up to `//`, unless that is in a string.
fn without_comment(line: &str) -> &str {
    let comment =
        line.match_indices("//").find(|(at, _)| line[..*at].matches('"').count().is_multiple_of(2));
    comment.map_or(line, |(at, _)| &line[..at])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| is_word(*c)).collect()
}

/// Paths and names in the code.
pub(crate) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_word(c) && c != ':').map(|word| word.trim_matches(':'))
}

/// The items of each group `{prefix}{a, b::{c, d}}`.
pub(crate) fn groups(code: &str, prefix: &str) -> Vec<String> {
    code.match_indices(&format!("{prefix}{{"))
        .flat_map(|(at, _)| items(&code[at + prefix.len()..]))
        .collect()
}

/// The items of the group that `text` begins with.
fn items(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        match c {
            ',' if depth == 1 => items.push(String::new()),
            '{' if depth == 1 => {}
            c => items.last_mut().unwrap().push(c),
        }
    }
    items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// The paths that a text begins with: one, or those of a group.
pub(crate) fn paths(text: &str) -> Vec<Vec<String>> {
    let text = text.trim_start();
    if text.starts_with('{') {
        return items(text).iter().flat_map(|item| paths(item)).collect();
    }
    let word = first_word(text);
    match text[word.len()..].strip_prefix("::") {
        Some(rest) if !word.is_empty() => {
            paths(rest).into_iter().map(|path| [vec![word.clone()], path].concat()).collect()
        }
        _ => vec![vec![word]],
    }
}
