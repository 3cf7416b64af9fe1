//! `check`: lists the diagnostics of both configuration files, and explains which decisions each resource can
//! reach.

mod explanation;
mod graph;
mod order;

use std::process::ExitCode;

use lifecycle_check::reach::reach;
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_core::task::Task;
use serde_json::{Value, json};

use super::{checked, print, print_diagnostics};
use crate::args::{CheckArgs, Graph, OutputFormat};
use crate::config::{Checked, Environment};

/// Lists every error, warning and note of both files.
///
/// With `--explain`, also prints the rows of the decision table that each resource can reach; with `--graph`, the
/// order between the resources, or one resource's decision tree.
///
/// # Errors
/// The output cannot be written, or `--graph` names no resource of the task.
pub fn check(arguments: &CheckArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let CheckArgs { flags, strict, explain, graph, output } = arguments;
    let Checked { diagnostics, task } = checked(flags, environment);
    let diagnostics = if *strict { diagnostics.strict() } else { diagnostics };
    let task = task.as_ref().filter(|_| *explain || *graph != Graph::None);
    if let (Some(task), Graph::Resource(name)) = (task, graph) {
        let names: Vec<_> = task.resources.iter().map(|resource| resource.name.as_str()).collect();
        anyhow::ensure!(
            names.contains(&name.as_str()),
            "--graph={name} names no resource of the task; its resources are {}",
            names.join(", ")
        );
    }
    match (output, task) {
        (OutputFormat::Json, task) => {
            print(&format!("{:#}\n", machine_readable(&diagnostics, task, graph)))?;
        }
        (OutputFormat::Text, Some(task)) if *graph != Graph::None => {
            if !diagnostics.is_empty() {
                print_diagnostics(&diagnostics)?;
            }
            print(&page(task, graph))?;
        }
        (OutputFormat::Text, task) => {
            print(&format!("{diagnostics}\n"))?;
            print(&task.map(reach).iter().flatten().map(explanation::text).collect::<String>())?;
        }
    }
    Ok(if diagnostics.has_errors() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn page(task: &Task, graph: &Graph) -> String {
    match graph {
        Graph::Resource(name) => {
            reach(task).iter().filter(|reach| reach.resource.name == *name).map(graph::page).collect()
        }
        Graph::None | Graph::Order => order::page(&lifecycle_check::order::order(task)),
    }
}

/// The JSON output: the diagnostics and, if `--explain` or `--graph` was given and the task has no errors, what
/// each resource can reach. With `--graph`, also what each waits for, and its flowchart.
fn machine_readable(diagnostics: &Diagnostics, task: Option<&Task>, graph: &Graph) -> Value {
    let mut listed = json!({
        "errors": diagnostics.count(Severity::Error),
        "warnings": diagnostics.count(Severity::Warning),
        "notes": diagnostics.count(Severity::Note),
        "omitted": diagnostics.omitted(),
        "diagnostics": diagnostics.all(),
    });
    if let Some(task) = task {
        let resources = reach(task).into_iter().zip(lifecycle_check::order::order(task));
        let resources = resources.map(|(reach, order)| {
            let mut value = explanation::value(&reach);
            if *graph != Graph::None {
                value["graph"] = Value::from(graph::flowchart(&reach));
                if let Some(members) = &reach.members {
                    value["members"]["graph"] = Value::from(graph::waves(members));
                }
                value["waits"] = crate::task_page::value(&order);
            }
            value
        });
        listed["resources"] = resources.collect();
    }
    listed
}
