//! The exporter's program: arguments in, exit code out.

use std::process::ExitCode;

use reconcile_metrics::{args, commands, config::CONFIGURATION};

fn main() -> ExitCode {
    CONFIGURATION.run(args::command(), commands::run)
}
