//! The exporter's program: arguments in, exit code out.

use std::io::Write as _;
use std::process::ExitCode;

use reconcile_metrics::{args, commands};

fn main() -> ExitCode {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let invocation = match args::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    commands::run(invocation, &environment).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "Error: {error:#}");
        ExitCode::FAILURE
    })
}
