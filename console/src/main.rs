//! The console's program: arguments in, exit code out.

use std::process::ExitCode;

use hyperfleet_console::{args, commands};
use lifecycle_service::program;

fn main() -> ExitCode {
    program::run(args::parse, |invocation, environment| commands::run(invocation, &environment))
}
