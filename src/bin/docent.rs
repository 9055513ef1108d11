//! The command line: `docent index`, `docent query` and the other subcommands of [`docent::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    docent::cli::main()
}
