//! The program `stack`: arguments in, exit code out.

use std::process::ExitCode;

use lifecycle_service::program;
use local_stack::{args, commands};

fn main() -> ExitCode {
    program::run(args::parse, |(directory, invocation), _environment| commands::run(directory, &invocation))
}
