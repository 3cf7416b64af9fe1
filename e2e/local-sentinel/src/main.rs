//! The program of the local Sentinel: arguments in, exit code out.

use std::process::ExitCode;

use lifecycle_service::program;
use local_sentinel::{args, commands};

fn main() -> ExitCode {
    program::run(args::parse, |(invocation, flags), environment| commands::run(invocation, &flags, &environment))
}
