//! Conditions that cannot hold.

use super::{ACTIONS, Linter, PAYLOADS, entry};
use crate::cel::{Expression, Presence, Prospect};
use crate::document::Path;
use crate::task::{Check, DiscoverBy, Recreate, Resource};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, precondition) in task.preconditions.iter().enumerate() {
        let Check::Expression(expression) = &precondition.check else { continue };
        let path = entry(&["preconditions"], index).key("expression");
        let effect = "no resource is ever created, updated or deleted";
        condition(linter, &path, expression, effect);
    }
    for (index, resource) in task.resources.iter().enumerate() {
        resource_gates(linter, resource, &entry(&["resources"], index).key("lifecycle"));
    }
    for (index, payload) in task.payloads.iter().enumerate() {
        let Some(when) = &payload.when else { continue };
        let senders = task.actions.iter().filter(|action| action.body_payloads.contains(&payload.name));
        let senders: Vec<_> = senders.map(|action| format!("`{}`", action.name)).collect();
        let effect = match senders.as_slice() {
            [] => format!("the payload `{}` is never built", payload.name),
            senders => format!("the payload `{}` is never built, and {} never runs", payload.name, senders.join(", ")),
        };
        condition(linter, &at_when(&entry(&PAYLOADS, index)), when, &effect);
    }
    for (index, action) in task.actions.iter().enumerate() {
        let Some(when) = &action.when else { continue };
        let effect = format!("the action `{}` never runs", action.name);
        condition(linter, &at_when(&entry(&ACTIONS, index)), when, &effect);
    }
}

fn at_when(path: &Path) -> Path {
    path.key("when").key("expression")
}

/// A condition that is false or fails whatever it reads.
fn condition(linter: &mut Linter<'_>, path: &Path, expression: &Expression, effect: &str) -> bool {
    let message = match expression.prospect(&|_| Presence::Unknown) {
        Prospect::Open => return false,
        Prospect::NeverHolds => format!("can never hold, whatever the event brings: {effect}"),
        Prospect::AlwaysFails => format!("always fails, whatever the event brings: {effect}"),
    };
    linter.warn(path, message, "mend the expression, or remove what it guards".to_owned());
    true
}

fn resource_gates(linter: &mut Linter<'_>, resource: &Resource, path: &Path) {
    let own = Own::of(linter, resource);
    if let Some(create) = &resource.gates.create {
        let path = at_when(&path.key("create"));
        let effect = format!("`{}` is never created", resource.name);
        if !condition(linter, &path, create, &effect) {
            own.creation(linter, &path, create);
        }
    }
    if let Some(Recreate::When(recreate)) = &resource.gates.recreate {
        let path = at_when(&path.key("recreate"));
        let effect = format!("`{}` is never recreated", resource.name);
        if !condition(linter, &path, recreate, &effect) {
            own.destruction(linter, &path, recreate, &effect);
        }
    }
    if let Some(delete) = &resource.gates.delete {
        let path = at_when(&path.key("delete"));
        let effect = format!("`{}` is never deleted", resource.name);
        if !condition(linter, &path, &delete.when, &effect) {
            own.destruction(linter, &path, &delete.when, &effect);
            own.deletion_of_nothing(linter, &path, &delete.when);
        }
    }
}

/// What is certain of a resource's own entry when its gates are asked.
struct Own<'r> {
    resource: &'r Resource,
    /// Whether a nested discovery has the same name, so that nothing is certain.
    is_shared: bool,
}

impl<'r> Own<'r> {
    fn of(linter: &Linter<'_>, resource: &'r Resource) -> Self {
        let mut nested = linter.task.resources.iter().flat_map(|resource| &resource.nested);
        Self { resource, is_shared: nested.any(|nested| nested.name == resource.name) }
    }

    fn prospect(&self, expression: &Expression, presence: Presence) -> Prospect {
        let is_certain = |name: &str| name == self.resource.name && !self.is_shared;
        expression.prospect(&|name| if is_certain(name) { presence } else { Presence::Unknown })
    }

    /// The create gate is asked only while there is no object.
    fn creation(&self, linter: &mut Linter<'_>, path: &Path, create: &Expression) {
        let name = &self.resource.name;
        let verb = match self.prospect(create, Presence::Absent) {
            Prospect::Open => return,
            Prospect::NeverHolds => "does not hold",
            Prospect::AlwaysFails => "fails",
        };
        let message = match &self.resource.discovery.by {
            DiscoverBy::Name(_) => {
                format!(
                    "can never hold: it is asked while `{name}` is absent, and {verb} then; `{name}` is never created"
                )
            }
            // What a selector finds is visible even if it is another one's.
            DiscoverBy::Labels(_) => format!(
                "{verb} while `resources.{name}` is absent: `{name}` is not created unless its selector finds another one's object"
            ),
        };
        let help = format!("ask for what `{name}` waits for, not for `{name}` itself");
        linter.warn(path, message, help);
    }

    /// The other gates act on an object that is there.
    fn destruction(&self, linter: &mut Linter<'_>, path: &Path, gate: &Expression, effect: &str) {
        let name = &self.resource.name;
        let verb = match self.prospect(gate, Presence::Present) {
            Prospect::Open => return,
            Prospect::NeverHolds => "cannot hold",
            Prospect::AlwaysFails => "always fails",
        };
        let message = format!("{verb} while `{name}` is there: {effect}");
        let help = format!("do not demand that `resources.{name}` is absent: what is absent needs no gate");
        linter.warn(path, message, help);
    }

    /// The delete gate is asked first, also while there is nothing to delete: if it fails then, nothing is created.
    fn deletion_of_nothing(&self, linter: &mut Linter<'_>, path: &Path, delete: &Expression) {
        if self.prospect(delete, Presence::Absent) != Prospect::AlwaysFails {
            return;
        }
        let name = &self.resource.name;
        let message = format!(
            "always fails while `resources.{name}` is absent, where it is asked as well: `{name}` is not created then"
        );
        let help = format!("read it as an optional: `resources.?{name}.?…orValue(…)`");
        linter.warn(path, message, help);
    }
}
