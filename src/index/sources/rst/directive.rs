//! Directives: what Sphinx and docutils show of each, and the objects that they describe.
//!
//! Input: a directive's name, argument and lines. Output: its blocks. **Invariant:** the content of a directive that is not
//! known here is read as text, and never dropped.

use super::Reader;
use super::lines::{dedented, is_field, join_lines};
use super::table::{csv, list_table};
use crate::index::sources::page::Block;

/// Directives whose content is code; their argument is the language.
const CODE: &[&str] =
    &["code-block", "code", "sourcecode", "parsed-literal", "prompt", "ipython", "doctest", "testcode", "math"];
/// Directives that show nothing of their own.
const SILENT: &[&str] = &[
    "toctree",
    "contents",
    "raw",
    "index",
    "meta",
    "highlight",
    "currentmodule",
    "module",
    "include",
    "literalinclude",
    "automodule",
    "autoclass",
    "autofunction",
    "autosummary",
    "image",
    "sectnum",
    "default-role",
    "testsetup",
    "testcleanup",
    "py:currentmodule",
    "py:module",
    "graphviz",
    "tabularcolumns",
    "role",
];

impl Reader {
    pub(super) fn directive(&mut self, name: &str, argument: &str, body: &[&str], depth: usize, sections: bool) {
        let body = dedented(body, usize::MAX);
        let options = body.iter().take_while(|line| is_field(line)).count();
        let (options, content) = body.split_at(options);
        let option = |wanted: &str| {
            options
                .iter()
                .find_map(|line| line.strip_prefix(&format!(":{wanted}:")))
                .map(|value| value.trim().to_owned())
        };
        match name {
            "module" | "py:module" | "currentmodule" | "py:currentmodule" => argument.clone_into(&mut self.module),
            name if CODE.contains(&name) => {
                if let Some(caption) = option("caption") {
                    self.push_text(self.inline(&caption));
                }
                self.code(if name == "math" { "math" } else { argument }, content);
            }
            name if SILENT.contains(&name) => {}
            "csv-table" => {
                let mut rows: Vec<Vec<String>> =
                    content.iter().filter(|line| !line.trim().is_empty()).map(|line| csv(line)).collect();
                let header = option("header")
                    .map(|header| csv(&header))
                    .or_else(|| (option("header-rows").is_some() && !rows.is_empty()).then(|| rows.remove(0)));
                self.caption(argument);
                self.table(header, rows);
            }
            "list-table" => {
                let mut rows = list_table(content);
                let header =
                    (option("header-rows").is_some_and(|n| n != "0") && !rows.is_empty()).then(|| rows.remove(0));
                self.caption(argument);
                self.table(header, rows);
            }
            "versionadded" | "versionchanged" | "deprecated" => {
                let (version, text) = argument.split_once(' ').unwrap_or((argument, ""));
                let words = match name {
                    "versionadded" => "New in version",
                    "versionchanged" => "Changed in version",
                    _ => "Deprecated since version",
                };
                let mut lines = vec![text];
                lines.extend(content.iter().copied());
                let joined = join_lines(&lines);
                let mark = if joined.is_empty() { "." } else { ": " };
                self.push_text(self.inline(&format!("{words} {version}{mark}{joined}")));
            }
            name if is_object(name) => {
                let signature = argument.trim_end_matches('\\').trim();
                let is_python = name.starts_with("py:") || !name.contains(':');
                let anchor = is_python.then(|| self.object_name(signature)).filter(|anchor| !anchor.is_empty());
                let level = self.level;
                let text = signature.to_owned();
                self.blocks.push(Block::Heading { level: (level + 1).min(6), text, anchor: anchor.clone() });
                let around = std::mem::replace(&mut self.object, anchor.unwrap_or_default());
                self.body(content, depth + 1, false);
                self.object = around;
                self.level = level;
            }
            // Admonitions, figures, tabs, `only`, and whatever extensions bring: their content is text.
            _ => {
                let shows_argument = !matches!(
                    name,
                    "figure"
                        | "only"
                        | "container"
                        | "rst-class"
                        | "class"
                        | "cssclass"
                        | "ifconfig"
                        | "tab-set"
                        | "grid"
                        | "table"
                        | "toggle"
                        | "seealso-inline"
                );
                let is_sentence = matches!(
                    name,
                    "note"
                        | "tip"
                        | "warning"
                        | "important"
                        | "caution"
                        | "danger"
                        | "attention"
                        | "hint"
                        | "error"
                        | "seealso"
                        | "todo"
                );
                if shows_argument && is_sentence {
                    let joins = content.iter().take_while(|line| !line.trim().is_empty()).count();
                    let mut lines = vec![argument];
                    if !argument.is_empty() {
                        lines.extend(&content[..joins]);
                        self.body(&lines, depth + 1, false);
                        self.body(&content[joins..], depth + 1, false);
                        return;
                    }
                } else if shows_argument {
                    self.push_text(self.inline(argument));
                } else if name == "table" {
                    self.caption(argument);
                }
                self.body(content, depth + 1, sections && name == "only");
            }
        }
    }

    /// The full name of a Python object, which Sphinx takes as its anchor.
    pub(super) fn object_name(&self, signature: &str) -> String {
        let mut words = signature.split(' ');
        let first = words.next().unwrap_or_default();
        let named = if matches!(first, "class" | "async" | "staticmethod" | "classmethod") {
            words.next().unwrap_or_default()
        } else {
            first
        };
        let bare = named.split(['(', ':', '=']).next().unwrap_or_default();
        let around = if self.object.is_empty() { &self.module } else { &self.object };
        if around.is_empty() || bare.is_empty() || bare.starts_with(around.as_str()) {
            bare.to_owned()
        } else {
            format!("{around}.{bare}")
        }
    }

    pub(super) fn caption(&mut self, argument: &str) {
        self.push_text(self.inline(argument));
    }
}

/// Whether a directive describes an item of an interface.
pub(super) fn is_object(name: &str) -> bool {
    let name = name.rsplit(':').next().unwrap_or(name);
    matches!(
        name,
        "function"
            | "class"
            | "method"
            | "attribute"
            | "exception"
            | "data"
            | "decorator"
            | "property"
            | "classmethod"
            | "staticmethod"
            | "option"
            | "envvar"
            | "confval"
            | "setting"
            | "type"
            | "macro"
            | "struct"
            | "enum"
            | "member"
            | "describe"
            | "object"
            | "variable"
            | "cmdoption"
            | "directive"
    ) && name != "type:"
}
