//! What the resources of a task wait for, in words.
//!
//! In: the orders that `lifecycle_check` finds. Out: sentences and labels for `check --graph` and for the page `/task`, so that both
//! say the same. Fails: nothing.

use lifecycle_check::order::{Because, End, Order, Wait, order};
use lifecycle_core::task::Task;
use serde_json::{Value, json};

/// When a resource is created.
#[must_use]
pub fn created(order: &Order<'_>) -> String {
    if order.creation.is_empty() { "at once".to_owned() } else { sentence(&order.creation) }
}

/// When the objects of a resource are deleted.
#[must_use]
pub fn deleted(order: &Order<'_>) -> String {
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

/// Why a resource waits for another, in a word or two.
#[must_use]
pub fn label(because: Because) -> String {
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
#[must_use]
pub fn value(order: &Order<'_>) -> Value {
    let waits = |waits: &[Wait<'_>]| -> Vec<Value> {
        waits.iter().map(|wait| json!({ "for": wait.name, "because": label(wait.because) })).collect()
    };
    json!({ "creation": waits(&order.creation), "deletion": waits(&order.deletion) })
}

/// The order between the resources of a task as the page `/task` shows it: an arrow leads from what comes first to what waits for
/// it.
#[must_use]
pub fn page(adapter: &str, task: &Task) -> Value {
    let orders = order(task);
    let resource = |order: &Order<'_>| {
        json!({
            "name": order.resource.name,
            "kind": order.resource.kind.kind,
            "is_created": created(order),
            "is_deleted": deleted(order),
        })
    };
    let arrows = |order: &Order<'_>| -> Vec<Value> {
        let arrow = |wait: &Wait<'_>, on: &str| json!({ "from": wait.name, "to": order.resource.name, "on": on, "label": label(wait.because) });
        let creation = order.creation.iter().map(|wait| arrow(wait, "creation"));
        creation.chain(order.deletion.iter().map(|wait| arrow(wait, "deletion"))).collect()
    };
    json!({
        "adapter": adapter,
        "resources": orders.iter().map(resource).collect::<Vec<_>>(),
        "arrows": orders.iter().flat_map(arrows).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use lifecycle_core::task::compile::{Surroundings, compile};

    use super::*;

    #[test]
    fn page_has_an_arrow_from_what_comes_first_to_what_waits() {
        let resource = |name: &str, lifecycle: Value| {
            json!({
                "name": name,
                "manifest": {
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "team" },
                },
                "discovery": { "namespace": "team", "by_name": name },
                "lifecycle": lifecycle,
            })
        };
        let when = |expression: &str| json!({ "when": { "expression": expression } });
        let first = json!({ "delete": when("!resources.?second.hasValue()") });
        let second = json!({ "create": when("resources.?first.hasValue()"), "delete": when("true") });
        let task = json!({ "resources": [resource("first", first), resource("second", second)] });
        let surroundings = Surroundings { read: &|_| Err(String::new()), environment: &|_| None };
        let compiled = compile("task.yaml", &task.to_string(), &surroundings);
        let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
        let expected = json!({
            "adapter": "foundation",
            "resources": [
                {
                    "name": "first", "kind": "ConfigMap", "is_created": "at once",
                    "is_deleted": "once `second` is gone, as `delete` demands",
                },
                {
                    "name": "second", "kind": "ConfigMap", "is_created": "once `first` is there, as `create` demands",
                    "is_deleted": "at once",
                },
            ],
            "arrows": [
                { "from": "second", "to": "first", "on": "deletion", "label": "gone, delete" },
                { "from": "first", "to": "second", "on": "creation", "label": "there, create" },
            ],
        });
        assert_eq!(page("foundation", &task), expected);
    }
}
