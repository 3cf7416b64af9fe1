//! The sweeper's program: arguments in, exit code out.

use std::process::ExitCode;

use hyperfleet_sweeper::{args, commands, config::CONFIGURATION};

fn main() -> ExitCode {
    CONFIGURATION.run(args::command(), commands::run)
}
