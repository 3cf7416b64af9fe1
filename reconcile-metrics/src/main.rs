//! The exporter's program: arguments in, exit code out.

use std::process::ExitCode;

use lifecycle_service::program;
use reconcile_metrics::{args, commands};

fn main() -> ExitCode {
    program::run(args::parse, |invocation, environment| commands::run(invocation, &environment))
}
