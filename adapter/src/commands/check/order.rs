//! Prints the order between the resources of a task: a table, and a Mermaid flowchart of it.
//!
//! In: what each resource waits for. Out: a Markdown page that fits on a screen for the tasks that people write.

use std::fmt::Write as _;

use lifecycle_check::order::Order;

use super::graph::escaped;
use crate::task_page::{created, deleted, label};

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
