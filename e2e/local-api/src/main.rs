//! The local API's program: arguments in, exit code out.

use std::process::ExitCode;

use local_api::{args, commands, config::CONFIGURATION};

fn main() -> ExitCode {
    CONFIGURATION.run(args::command(), commands::run)
}
