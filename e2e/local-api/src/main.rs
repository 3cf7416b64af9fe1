//! The local API's program: arguments in, exit code out.

use std::process::ExitCode;

use lifecycle_service::program;
use local_api::{args, commands};

fn main() -> ExitCode {
    program::run(args::parse, |(invocation, flags), environment| commands::run(invocation, &flags, &environment))
}
