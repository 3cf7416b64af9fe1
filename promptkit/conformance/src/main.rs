//! The program: arguments in, table out, exit code 0 if no row failed.

use std::process::ExitCode;

use promptarena_deploy_conformance::args;

fn main() -> ExitCode {
    lifecycle_service::program::run(args::parse, |arguments, _| args::run(&arguments))
}
