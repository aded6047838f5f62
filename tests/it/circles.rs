//! The files of a folder of `src/` import each other in one direction.

use crate::source_files::{Source, files, paths};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[test]
fn files_of_a_folder_do_not_import_each_other_in_a_circle() {
    assert_eq!(circles(&files()), BTreeMap::new());
}

/// The modules in circles, by their parent. A module and its parent may use each other.
fn circles(files: &[Source]) -> BTreeMap<String, Vec<String>> {
    let modules = Modules::new(files);
    let mut imports: BTreeMap<Vec<String>, Imports> = BTreeMap::new();
    for file in files {
        for (base, path) in file.paths(file.code_without_tests()) {
            let to = modules.resolve(&[base, &path].concat());
            let shared = to.iter().zip(&file.module).take_while(|(a, b)| a == b).count();
            if let (Some(own), Some(other)) = (file.module.get(shared), to.get(shared))
                && shared > 0
            {
                let parent = imports.entry(file.module[..shared].to_vec()).or_default();
                parent.entry(own.clone()).or_default().insert(other.clone());
            }
        }
    }
    let found = imports.iter().map(|(parent, imports)| (parent.join("/"), circular(imports)));
    found.filter(|(_, circular)| !circular.is_empty()).collect()
}

/// For each module of a parent, the other modules of that parent that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The modules that import themselves through other modules.
fn circular(imports: &Imports) -> Vec<String> {
    let reaches_itself = |module: &&String| {
        let mut reached = BTreeSet::new();
        let mut next = vec![*module];
        while let Some(from) = next.pop() {
            let new = imports.get(from).into_iter().flatten();
            next.extend(new.filter(|to| reached.insert(*to)));
        }
        reached.contains(*module)
    };
    imports.keys().filter(reaches_itself).cloned().collect()
}

/// The modules of the crate, and the names that each one imports from its children.
struct Modules {
    all: BTreeSet<Vec<String>>,
    names: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
}

impl Modules {
    fn new(files: &[Source]) -> Self {
        let all: BTreeSet<_> = files.iter().map(|file| file.module.clone()).collect();
        let mut names: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for file in files {
            for (at, _) in file.code.match_indices("use ") {
                for path in paths(&file.code[at + 4..]) {
                    let absolute: Vec<_> = file.module.iter().chain(&path).cloned().collect();
                    if path.len() > 1 && all.contains(&absolute[..=file.module.len()]) {
                        let own = names.entry(file.module.clone()).or_default();
                        own.insert(path[path.len() - 1].clone(), absolute);
                    }
                }
            }
        }
        Self { all, names }
    }

    /// The module that defines the item of a path from the root.
    fn resolve(&self, path: &[String]) -> Vec<String> {
        let mut module = Vec::new();
        let mut rest = path.to_vec();
        while !rest.is_empty() {
            let first = rest.remove(0);
            let below = [&module[..], std::slice::from_ref(&first)].concat();
            if self.all.contains(&below) {
                module = below;
            } else if let Some(real) = self.names.get(&module).and_then(|names| names.get(&first)) {
                rest.splice(..0, real[module.len()..].iter().cloned());
            } else {
                break;
            }
        }
        module
    }
}

#[test]
fn circles_are_found() {
    let file = |path: &str, code: &str| Source::new(Path::new(path), code);
    let parent = file("a/mod.rs", "mod b;\nmod c;\nmod d;\npub use b::B;\nuse c::{deep::C, E};");
    let circles = |b: &str, c: &str| {
        let others =
            [file("a/b.rs", b), file("a/c/mod.rs", c), file("a/c/deep.rs", ""), file("a/d.rs", "")];
        circles(&[&[file("a/mod.rs", &parent.code)][..], &others].concat())
    };
    let both = BTreeMap::from([("a".to_owned(), vec!["b".to_owned(), "c".to_owned()])]);
    assert_eq!(circles("use super::c::E;", "use super::b::B;"), both);
    assert_eq!(circles("use super::{C, d::X};", "use crate::a::{d, B};"), both);
    assert_eq!(circles("use super::c::deep::C;", "fn f() { super::B::new() }"), both);
    let none = BTreeMap::new();
    assert_eq!(circles("use super::{c::E, d::X, Own};", "use super::Own;"), none, "one direction");
    assert_eq!(circles("", "mod deep; use deep::C; // super::b"), none, "parent and child");
    let tests = "use super::c::E;\n#[cfg(test)]\nmod tests {\n    use super::super::b::B;\n}";
    assert_eq!(circles(tests, ""), none, "tests");
}
