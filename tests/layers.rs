//! The layers of the crate: a module imports only from the modules that stand before it in this table.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of this machine's source files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may import from the crate, beside itself.
const LAYERS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("json", &[]),
    ("lowercase", &[]),
    ("order", &[]),
    ("turn", &["lowercase", "error"]),
    ("chat", &["json", "turn", "error"]),
    ("retrieval", &["lowercase", "json", "order", "turn", "error"]),
    ("index", &["lowercase", "json", "retrieval", "turn", "error"]),
    ("host", &["chat", "error"]),
    ("dialogue", &["lowercase", "json", "order", "chat", "turn", "error"]),
    ("understanding", &["lowercase", "order", "dialogue", "chat", "retrieval", "turn", "error"]),
    ("relevance", &["lowercase", "order", "retrieval", "dialogue", "turn", "error"]),
    ("policy", &["json", "relevance", "dialogue", "understanding", "turn", "error"]),
    (
        "agent",
        &[
            "json",
            "lowercase",
            "order",
            "policy",
            "relevance",
            "understanding",
            "dialogue",
            "host",
            "index",
            "retrieval",
            "chat",
            "turn",
            "error",
        ],
    ),
];

/// Modules that may import anything; nothing imports them.
const OUTER: &[&str] = &["wasm", "cli", "bin", "lib"];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The names that follow `crate::` in a line of code, also inside `crate::{a, b::c}`.
fn imports(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut start = true;
            for (i, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => start = true,
                    c if start && (c.is_alphanumeric() || c == '_') => {
                        names.push(word(&group[i..]));
                        start = false;
                    }
                    _ => {}
                }
            }
        } else {
            names.push(word(rest));
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn modules_import_only_what_their_layer_allows() {
    let table: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    assert!(files.len() > 10, "the sources were not found under {}", source.display());
    let mut faults = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&source).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        if OUTER.contains(&module) {
            continue;
        }
        let Some(allowed) = table.get(module) else {
            faults.push(format!("{}: the module `{module}` is not in the table", relative.display()));
            continue;
        };
        let text = fs::read_to_string(&file).unwrap();
        let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect();
        for name in imports(&code) {
            let is_module = table.contains_key(name.as_str()) || OUTER.contains(&name.as_str());
            if is_module && name != module && !allowed.contains(&name.as_str()) {
                faults.push(format!("{}: `{module}` imports `{name}`", relative.display()));
            }
        }
    }
    assert!(faults.is_empty(), "imports that break the layers:\n{}", faults.join("\n"));
}

#[test]
fn the_table_has_no_cycle() {
    for (at, (module, allowed)) in LAYERS.iter().enumerate() {
        for name in *allowed {
            let position = LAYERS.iter().position(|(other, _)| other == name);
            assert!(position.is_some_and(|p| p < at), "`{module}` imports `{name}`, which does not stand before it");
        }
    }
}

#[test]
fn imports_are_read_from_paths_and_groups() {
    assert_eq!(imports("use crate::turn::Turn;"), ["turn"]);
    assert_eq!(imports("use crate::{chat::{message, sse}, error::Error};"), ["chat", "error"]);
}
