//! What the subcommands share of the terminal: output that survives a closed pipe, sizes and times that people can read.

use std::io::{ErrorKind, Write};

use crate::error::{Error, Result};

/// Writes a line to standard output. A reader that has closed the pipe (`docent query … | head -1`) is not an error.
///
/// # Errors
/// [`Error::Input`] when the output cannot be written for another reason, such as a full disk.
pub fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::Input { path: "standard output".to_owned(), reason: error.to_string() })
        }
        _ => Ok(()),
    }
}

/// A number of bytes as people read it: `812 B`, `64.2 kB`, `23.5 MB` (powers of 1000).
#[must_use]
pub fn bytes(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let value = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.1} GB", value / 1e9),
    }
}

/// Runs a future to its end on this thread.
///
/// # Errors
/// [`Error::Input`] when the machine gives no event loop.
pub fn block_on<F: Future>(future: F) -> Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Input { path: "event loop".to_owned(), reason: error.to_string() })?;
    Ok(runtime.block_on(future))
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_readable() {
        for (count, expected) in
            [(0, "0 B"), (999, "999 B"), (64_200, "64.2 kB"), (23_480_000, "23.5 MB"), (2_100_000_000, "2.1 GB")]
        {
            assert_eq!(super::bytes(count), expected);
        }
    }
}
