//! Prints the order between the resources of a task: a table, and a Mermaid flowchart of it.
//!
//! In: what each resource waits for. Out: a Markdown page that fits on a screen for the tasks that people write, and
//! the same as JSON.

use std::fmt::Write as _;

use lifecycle_check::order::{Because, End, Order, Wait};
use serde_json::{Value, json};

use super::graph::escaped;

/// A table of all resources, and the flowchart of their order.
pub(super) fn page(orders: &[Order<'_>]) -> String {
    let mut page = "On each event the adapter takes the resources in this order.\n\n".to_owned();
    page.push_str("| | resource | is created | is deleted |\n| --- | --- | --- | --- |\n");
    for (index, order) in orders.iter().enumerate() {
        let (name, kind) = (&order.resource.name, &order.resource.kind.kind);
        let _ = writeln!(page, "| {} | `{name}` ({kind}) | {} | {} |", index + 1, created(order), deleted(order));
    }
    let waits = orders.iter().any(|order| !order.creation.is_empty() || !order.deletion.is_empty());
    if waits {
        let about = "An arrow leads from what comes first to what waits for it: on creation, and dotted on deletion.";
        let _ = write!(page, "\n{about}\n\n```mermaid\n{}```\n", flowchart(orders));
    } else if orders.len() > 1 {
        page.push_str("\nNo resource waits for another.\n");
    }
    page.push_str("\n`--graph=NAME` draws what can become of one resource on an event.\n");
    page
}

fn created(order: &Order<'_>) -> String {
    if order.creation.is_empty() { "at once".to_owned() } else { sentence(&order.creation) }
}

fn deleted(order: &Order<'_>) -> String {
    let first = match order.end {
        End::Stays => return "never".to_owned(),
        End::With(owner) => return format!("with `{owner}`"),
        End::Disowned => "never, but disowned",
        End::DeletedOrDisowned => "or disowned",
        End::Deleted if order.deletion.is_empty() => return "at once".to_owned(),
        End::Deleted => "",
    };
    [first.to_owned(), sentence(&order.deletion)]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Lists waits, those for the same reason together.
fn sentence(waits: &[Wait<'_>]) -> String {
    let mut groups: Vec<(Because, Vec<String>)> = Vec::new();
    for wait in waits {
        let name = format!("`{}`", wait.name);
        match groups.iter_mut().find(|(because, _)| *because == wait.because) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((wait.because, vec![name])),
        }
    }
    let told = groups.into_iter().map(|(because, names)| {
        let verb = if names.len() == 1 { "is" } else { "are" };
        let names = names.join(" and ");
        match because {
            Because::Owner => format!("after {names}, its owner"),
            Because::Namespace => format!("after {names}, its namespace"),
            Because::Present(gate) => format!("once {names} {verb} there, as `{gate}` demands"),
            Because::Gone(gate) => format!("once {names} {verb} gone, as `{gate}` demands"),
            Because::Read(gate) => format!("by {names}, which `{gate}` reads"),
            Because::Disowned => format!("once {names} {verb} disowned"),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

fn flowchart(orders: &[Order<'_>]) -> String {
    let mut chart = "flowchart TD\n".to_owned();
    for (index, order) in orders.iter().enumerate() {
        let (name, kind) = (escaped(&order.resource.name), escaped(&order.resource.kind.kind));
        let _ = writeln!(chart, "    resource{}[\"{name}<br/>{kind}\"]", index + 1);
    }
    for (index, order) in orders.iter().enumerate() {
        for (waits, arrow) in [(&order.creation, "-->"), (&order.deletion, "-.->")] {
            for wait in waits {
                let label = label(wait.because);
                let _ = writeln!(chart, "    resource{} {arrow}|\"{label}\"| resource{}", wait.index + 1, index + 1);
            }
        }
    }
    chart
}

fn label(because: Because) -> String {
    match because {
        Because::Owner => "owner".to_owned(),
        Because::Namespace => "namespace".to_owned(),
        Because::Present(gate) => format!("there, {gate}"),
        Because::Gone(gate) => format!("gone, {gate}"),
        Because::Read(gate) => format!("read, {gate}"),
        Because::Disowned => "disowned".to_owned(),
    }
}

/// What a resource waits for, as JSON: `creation` and `deletion`.
pub(super) fn value(order: &Order<'_>) -> Value {
    let waits = |waits: &[Wait<'_>]| -> Vec<Value> {
        waits.iter().map(|wait| json!({ "for": wait.name, "because": label(wait.because) })).collect()
    };
    json!({ "creation": waits(&order.creation), "deletion": waits(&order.deletion) })
}
