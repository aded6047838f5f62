//! The layers: `src/` imports downwards only, and uses files, sockets and Python only where this is
//! allowed.

use crate::source_files::{Source, files, groups, words};
use std::path::Path;

/// The folders of `src/`, from the lowest to the highest: a folder may use only those before it.
const LAYERS: [&str; 28] = [
    "limits", "platform", "cancel", "url", "wire", "charset", "position", "schema", "protocol",
    "binlog", "value", "ddl", "history", "change", "columnar", "filter", "index", "net",
    "baseline", "source", "store", "reader", "load", "export", "undo", "past", "verify", "python",
];

/// Words that are allowed in some folders only.
const CONFINED: [(&str, &[&str]); 5] = [
    ("pyo3", &["python"]),
    ("arrow_pyarrow", &["python"]),
    ("std::fs", &["platform", "source", "store", "undo", "python"]),
    ("rusqlite", &["store"]),
    ("std::net", &["net"]),
];

#[test]
fn imports_go_down() {
    let mut wrong = Vec::new();
    for file in files() {
        let Some(own) = layer(&file.module[0]) else {
            assert!(
                ["lib", "error"].contains(&file.module[0].as_str()),
                "src/{} has no layer: add it to this test and to the design",
                file.path.display()
            );
            // All layers use errors, so errors use no layer.
            let imports = if file.module[0] == "error" { file.imports() } else { Vec::new() };
            wrong.extend(imports.iter().map(|import| format!("error uses {import}")));
            continue;
        };
        for import in file.imports() {
            if layer(&import).is_some_and(|layer| layer > own) {
                wrong.push(format!("src/{} uses {import}", file.path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn files_sockets_and_python_stay_in_their_place() {
    let mut wrong = Vec::new();
    for file in files() {
        // `use std::{fs, io}` is the same as `use std::fs`.
        let flat = file.code.replace("std::{", "std::{ ");
        for (word, folders) in CONFINED {
            let tail = word.rsplit("::").next().unwrap();
            let grouped = word.starts_with("std::")
                && groups(&flat, "std::").iter().any(|item| item.split("::").next() == Some(tail));
            if (words(&flat).any(|found| found == word || found.starts_with(&format!("{word}::")))
                || grouped)
                && !folders.contains(&file.module[0].as_str())
            {
                wrong.push(format!("src/{} uses {word}", file.path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_extension_module_does_not_import_the_package() {
    let mut wrong = Vec::new();
    for file in files() {
        for import in python_imports(&file.code) {
            if import.split('.').next() == Some("binarrow") {
                wrong.push(format!("src/{} imports {import}", file.path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_extension_module_reads_no_private_attributes() {
    let mut wrong = Vec::new();
    for file in files().iter().filter(|file| file.module[0] == "python") {
        for name in python_attributes(&file.code) {
            if name.starts_with('_') && !name.starts_with("__") {
                wrong.push(format!("src/{} reads {name}", file.path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The attributes of Python's objects that the code names.
fn python_attributes(code: &str) -> Vec<String> {
    strings_after(code, &["getattr(", "getattr_opt(", "hasattr(", "call_method0(", "call_method1("])
}

/// The modules of Python that the code imports: all strings in calls of functions with such names.
fn python_imports(code: &str) -> Vec<String> {
    strings_after(code, &["import(", "import_bound(", "import_module(", "intern!("])
}

/// The first string in the arguments of each call of these functions.
fn strings_after(code: &str, calls: &[&str]) -> Vec<String> {
    calls
        .iter()
        .flat_map(|call| code.match_indices(*call))
        .filter_map(|(at, call)| {
            let arguments = code[at + call.len()..].split(')').next()?;
            arguments.split('"').nth(1).map(str::to_owned)
        })
        .collect()
}

/// The walk reads each statement of a log once: kind, tables, markers and the effect on a catalog come from that result.
#[test]
fn one_place_reads_the_statements_of_a_log() {
    let callers = |calls: &[&str], is_of: &dyn Fn(&Source) -> bool| {
        let mut callers: Vec<String> = files()
            .iter()
            .filter(|file| file.module[0] != "ddl" && is_of(file))
            .map(|file| (file, file.code.split("#[cfg(test)]").next().unwrap_or_default()))
            .filter(|(file, _)| !file.module.iter().any(|part| part.ends_with("tests")))
            .filter(|(_, code)| calls.iter().any(|call| code.contains(call)))
            .map(|(file, _)| file.path.display().to_string())
            .collect();
        callers.sort();
        callers
    };
    // Stored statements, and those that a caller gives, are read by `LoggedDdl::parse`.
    let parse = ["ParsedStatement::parse("];
    let expected = ["history/logged_ddl.rs", "source/logged_statement.rs"];
    assert_eq!(callers(&parse, &|_| true), expected);
    let is_of_walk = |file: &Source| file.module[0] == "source";
    assert_eq!(callers(&["LoggedStatement::read("], &|_| true), ["source/classify.rs"]);
    assert_eq!(callers(&["classify("], &is_of_walk), CLASSIFY);
    // A statement with a secret is read again, without the secret.
    let reads_again = ["ParsedDdl::from(", ".parse().ddl(", "Cursor::", "Lexer::"];
    let may_read = |file: &Source| {
        ["source", "change", "reader"].contains(&file.module[0].as_str())
            && !file.path.ends_with("source/payload.rs")
    };
    assert_eq!(callers(&reads_again, &may_read), ["source/follower/in_force.rs"]);
}

/// The files that classify events: of a log, of a compressed transaction, of the first events of a dump.
const CLASSIFY: [&str; 4] =
    ["source/classify.rs", "source/live/start.rs", "source/payload.rs", "source/walk/file_walk.rs"];

#[test]
fn the_tests_see_what_they_look_for() {
    let file = |path: &str, code: &str| Source::new(Path::new(path), code);
    let imports = |path: &str, code: &str| file(path, code).imports();
    assert_eq!(imports("wire/a.rs", "use crate::reader::Reader;"), ["reader"]);
    assert_eq!(
        imports("wire/a.rs", "use crate::{error::{A, B}, value, python::{x, y::z}};"),
        ["error", "value", "python"]
    );
    assert_eq!(imports("wire/mod.rs", "fn f() -> super::source::X {}"), ["source"]);
    assert_eq!(imports("wire/a.rs", "use super::super::source::X;"), ["source"]);
    assert_eq!(imports("wire/a.rs", "use super::source;"), Vec::<String>::new());
    assert_eq!(
        imports("wire/a.rs", "// crate::reader\nlet a = \"//\"; // [`crate::reader`]"),
        [""; 0]
    );
    assert_eq!(imports("value/json/mod.rs", "super::super::reader::f()"), ["reader"]);
    assert_eq!(groups("use std::{io::{self, Read}, fs};", "std::"), ["io::{self, Read}", "fs"]);
    assert_eq!(python_imports("py.import(\"binarrow.a\")?; x"), ["binarrow.a"]);
    assert_eq!(python_imports("PyModule::import(\n py,\n \"binarrow\")"), ["binarrow"]);
    assert!(files().iter().any(|file| python_imports(&file.code).contains(&"sys".to_owned())));
    assert_eq!(python_attributes("x.getattr(\"_spec\")?.hasattr(name)"), ["_spec"]);
    assert!(files().len() > 80);
    assert!(files().iter().any(|file| file.imports().contains(&"binlog".to_owned())));
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|name| *name == module)
}
