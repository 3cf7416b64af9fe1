//! The console's program: arguments in, exit code out.

use std::process::ExitCode;

use hyperfleet_console::{args, commands, config::CONFIGURATION};

fn main() -> ExitCode {
    CONFIGURATION.run(args::command(), commands::run)
}
