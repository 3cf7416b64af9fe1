//! The program of the local Sentinel: arguments in, exit code out.

use std::process::ExitCode;

use local_sentinel::{args, commands, config::CONFIGURATION};

fn main() -> ExitCode {
    CONFIGURATION.run(args::command(), commands::run)
}
