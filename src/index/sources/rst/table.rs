//! Tables, drawn or listed.
//!
//! Input: the lines of a table of any kind that reStructuredText has. Output: one block with a line a row.

use super::Reader;
use super::lines::indent_of;
use crate::index::sources::page::Block;

impl Reader {
    pub(super) fn table(&mut self, header: Option<Vec<String>>, rows: Vec<Vec<String>>) {
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(|cell| self.inline(cell).replace('|', "\\|")).collect();
            format!("| {} |", cells.join(" | "))
        };
        let rows: Vec<String> = rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty())).map(line).collect();
        let header =
            header.map_or(String::new(), |cells| format!("{}\n|{}", line(&cells), " --- |".repeat(cells.len())));
        if !rows.is_empty() {
            self.blocks.push(Block::Table { header, rows });
        }
    }

    /// A table drawn with `+---+`: cells are cut at the columns of its first line, spanning cells included in their first.
    pub(super) fn grid_table(&mut self, lines: &[&str]) -> usize {
        let indent = indent_of(lines[0]);
        let length =
            lines.iter().take_while(|line| line.get(indent..).is_some_and(|l| l.starts_with(['+', '|']))).count();
        let table: Vec<Vec<char>> = lines[..length].iter().map(|line| line[indent..].chars().collect()).collect();
        let borders: Vec<usize> = table[0].iter().enumerate().filter(|(_, c)| **c == '+').map(|(i, _)| i).collect();
        let (mut header, mut rows): (Option<Vec<String>>, Vec<Vec<String>>) = (None, Vec::new());
        let mut cells: Vec<String> = vec![String::new(); borders.len().saturating_sub(1)];
        for line in &table[1..] {
            if line.first() == Some(&'+') {
                let row = std::mem::replace(&mut cells, vec![String::new(); borders.len().saturating_sub(1)]);
                rows.push(row.iter().map(|cell| cell.trim().to_owned()).collect());
                if line.contains(&'=') && header.is_none() {
                    header = rows.pop();
                }
                continue;
            }
            for (cell, border) in cells.iter_mut().zip(borders.windows(2)) {
                let part: String = line.iter().skip(border[0] + 1).take(border[1] - border[0] - 1).collect();
                cell.push_str(part.trim_matches(['|', ' ']));
                cell.push(' ');
            }
        }
        self.table(header, rows);
        length.max(1)
    }

    /// A table whose columns are ruled with `===`.
    pub(super) fn simple_table(&mut self, lines: &[&str]) -> usize {
        let ruler: Vec<char> = lines[0].chars().collect();
        let mut columns: Vec<(usize, usize)> = Vec::new();
        for (i, c) in ruler.iter().enumerate() {
            match (c, columns.last_mut()) {
                ('=', Some(last)) if last.1 == i => last.1 = i + 1,
                ('=', _) => columns.push((i, i + 1)),
                _ => {}
            }
        }
        let is_ruler = |line: &str| line.trim_start().starts_with("==") && line.chars().all(|c| c == '=' || c == ' ');
        let rulers: Vec<usize> =
            lines.iter().enumerate().filter(|(_, line)| is_ruler(line)).map(|(i, _)| i).take(3).collect();
        let (head_end, end) = match rulers.as_slice() {
            [_, head, end] if lines[1..*end].iter().all(|line| !line.is_empty() || *end - *head > 1) => {
                (Some(*head), *end)
            }
            [_, end, ..] => (None, *end),
            _ => return 1,
        };
        let cut = |line: &str| -> Vec<String> {
            let chars: Vec<char> = line.chars().collect();
            columns
                .iter()
                .enumerate()
                .map(|(n, (from, to))| {
                    let to = if n + 1 == columns.len() { chars.len() } else { (*to).max(*from) };
                    chars
                        .get(*from..to.min(chars.len()))
                        .unwrap_or_default()
                        .iter()
                        .collect::<String>()
                        .trim()
                        .to_owned()
                })
                .collect()
        };
        let read = |range: &[&str]| {
            let mut rows: Vec<Vec<String>> = Vec::new();
            for line in range.iter().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--")) {
                let cells = cut(line);
                // A row whose first cell is empty continues the row before it.
                match rows.last_mut() {
                    Some(last) if cells.first().is_some_and(String::is_empty) => {
                        for (cell, more) in last.iter_mut().zip(&cells).filter(|(_, more)| !more.is_empty()) {
                            cell.push(' ');
                            cell.push_str(more);
                        }
                    }
                    _ => rows.push(cells),
                }
            }
            rows
        };
        let header = head_end.and_then(|head| read(&lines[1..head]).into_iter().next());
        let rows = read(&lines[head_end.map_or(1, |head| head + 1)..end]);
        self.table(header, rows);
        end + 1
    }
}

pub(super) fn csv(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => {
                if let Some(cell) = cells.last_mut() {
                    cell.push(c);
                }
            }
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The rows of a `list-table`: a list of lists.
pub(super) fn list_table(lines: &[&str]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let trimmed = line.trim();
        if let Some(rest) = line.strip_prefix("* - ").or_else(|| line.strip_prefix("- - ")) {
            rows.push(vec![rest.trim().to_owned()]);
        } else if let (Some(cell), Some(row)) =
            (trimmed.strip_prefix("- ").or_else(|| (trimmed == "-").then_some("")), rows.last_mut())
        {
            row.push(cell.trim().to_owned());
        } else if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()).filter(|_| !trimmed.is_empty()) {
            cell.push(' ');
            cell.push_str(trimmed);
        }
    }
    rows
}
