//! `check`: lists the diagnostics of both configuration files, and explains which decisions each resource can
//! reach.

mod explanation;
mod graph;

use std::process::ExitCode;

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_core::task::reach::{Reach, reach};
use lifecycle_service::version;
use serde_json::{Value, json};

use super::{paths, print, print_diagnostics};
use crate::args::{CheckArgs, OutputFormat};
use crate::config::{self, Checked, Environment};

/// Lists every error, warning and note of both files. With `--explain`, also prints the rows of the decision
/// table that each resource can reach; with `--graph`, the decision tree of each resource.
///
/// # Errors
/// The output cannot be written.
pub fn check(arguments: &CheckArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let CheckArgs { flags, strict, explain, graph, output } = arguments;
    let Checked { diagnostics, task } = match paths(flags, environment) {
        Ok(paths) => config::check(&paths, environment, flags, version::THIS.number),
        Err(diagnostics) => Checked { diagnostics, task: None },
    };
    let diagnostics = if *strict { diagnostics.strict() } else { diagnostics };
    let resources = task.as_ref().filter(|_| *explain || *graph).map(reach);
    match (output, &resources) {
        (OutputFormat::Json, resources) => {
            print(&format!("{:#}\n", machine_readable(&diagnostics, resources.as_deref(), *graph)))?;
        }
        (OutputFormat::Text, Some(resources)) if *graph => {
            if !diagnostics.is_empty() {
                print_diagnostics(&diagnostics)?;
            }
            print(&graph::page(resources))?;
        }
        (OutputFormat::Text, resources) => {
            print(&format!("{diagnostics}\n"))?;
            print(&resources.iter().flatten().map(explanation::text).collect::<String>())?;
        }
    }
    Ok(if diagnostics.has_errors() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The JSON output: the diagnostics and, if `--explain` or `--graph` was given and the task has no errors, what
/// each resource can reach.
fn machine_readable(diagnostics: &Diagnostics, resources: Option<&[Reach<'_>]>, graph: bool) -> Value {
    let mut listed = json!({
        "errors": diagnostics.count(Severity::Error),
        "warnings": diagnostics.count(Severity::Warning),
        "notes": diagnostics.count(Severity::Note),
        "omitted": diagnostics.omitted(),
        "diagnostics": diagnostics.all(),
    });
    if let Some(resources) = resources {
        let resources = resources.iter().map(|reach| {
            let mut value = explanation::value(reach);
            if graph {
                value["graph"] = Value::from(graph::flowchart(reach));
            }
            value
        });
        listed["resources"] = resources.collect();
    }
    listed
}
