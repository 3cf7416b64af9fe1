//! The sweeper's program: arguments in, exit code out.

use std::process::ExitCode;

use hyperfleet_sweeper::{args, commands};
use lifecycle_service::program;

fn main() -> ExitCode {
    program::run(args::parse, |(invocation, flags), environment| commands::run(invocation, &flags, &environment))
}
