//! Conditions that cannot hold, or that fail when they are asked.

use lifecycle_config::document::Path;

use super::{ACTIONS, Gate, Kind, Linter, Own, PAYLOADS, entry, gates_of, literals, resources};
use crate::cel::{Expression, Key, Presence, Prospect};
use crate::keys;
use crate::task::prospects::prospect;
use crate::task::{Check, DiscoverBy, Resource};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, precondition) in task.preconditions.iter().enumerate() {
        let Check::Expression(expression) = &precondition.check else { continue };
        let path = entry(&["preconditions"], index).key("expression");
        let effect = "no resource is ever created, updated or deleted";
        condition(linter, &path, expression, effect);
    }
    for (path, resource) in resources(task) {
        resource_gates(linter, &path, resource);
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
    let message = match prospect(linter.task, expression, &|_| Presence::Unknown) {
        Prospect::Open | Prospect::AlwaysHolds => return false,
        Prospect::NeverHolds => format!("can never hold, whatever the event brings: {effect}"),
        Prospect::AlwaysFails => format!("always fails, whatever the event brings: {effect}"),
    };
    linter.warn(path, message, "mend the expression, or remove what it guards".to_owned());
    true
}

fn resource_gates(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let own = Gated { own: Own::of(linter.task, resource), resource };
    let name = &resource.name;
    let gates = gates_of(linter, path, resource);
    for gate in &gates {
        let effect = match gate.kind {
            Kind::When | Kind::Apply => format!("`{name}` is never created or updated"),
            Kind::Create => format!("`{name}` is never created"),
            Kind::Patch => format!("this patch of `{name}` is never sent"),
            Kind::Recreate => format!("`{name}` is never recreated"),
            Kind::Orphan => format!("`{name}` is never disowned"),
            Kind::Delete => format!("`{name}` is never deleted"),
        };
        let is_meant = matches!(gate.kind, Kind::Create | Kind::Apply) && literals::is_retired(resource)
            || gate.kind == Kind::Apply && own.is_partial(gate);
        if is_meant {
            continue;
        }
        if condition(linter, &gate.path, gate.expression, &effect) {
            continue;
        }
        match gate.kind {
            Kind::When | Kind::Apply => {
                own.permission(linter, gate);
                own.question_about_nothing(linter, gate);
            }
            Kind::Create => own.creation(linter, gate),
            Kind::Patch | Kind::Recreate => own.act(linter, gate, &effect),
            Kind::Orphan | Kind::Delete => {
                own.act(linter, gate, &effect);
                own.question_about_nothing(linter, gate);
            }
        }
    }
    own.recreation(linter, &gates);
    own.resurrection(linter, &gates);
    own.hidden(linter, &gates);
}

/// A resource whose gates are looked at.
struct Gated<'t> {
    own: Own<'t>,
    resource: &'t Resource,
}

impl Gated<'_> {
    /// Whether the author says in so many words that the entry patches or disowns its object and never applies the manifest.
    fn is_partial(&self, gate: &Gate<'_>) -> bool {
        let gates = &self.resource.gates;
        gate.expression.source() == "false" && (!gates.patches.is_empty() || gates.orphan.is_some())
    }

    /// What the prospect of a gate is called; none if it may hold.
    fn verb(&self, gate: &Gate<'_>, presence: Presence) -> Option<&'static str> {
        match self.own.prospect(gate.expression, presence) {
            Prospect::Open | Prospect::AlwaysHolds => None,
            Prospect::NeverHolds => Some("cannot hold"),
            Prospect::AlwaysFails => Some("always fails"),
        }
    }

    /// The create gate is asked only while there is no object.
    fn creation(&self, linter: &mut Linter<'_>, gate: &Gate<'_>) {
        let name = &self.resource.name;
        let verb = match self.own.prospect(gate.expression, Presence::Absent) {
            Prospect::Open | Prospect::AlwaysHolds => return,
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
        linter.warn(&gate.path, message, help);
    }

    /// `when` and `apply` are asked whether there is an object or not.
    fn permission(&self, linter: &mut Linter<'_>, gate: &Gate<'_>) {
        let name = &self.resource.name;
        if self.own.prospect(gate.expression, Presence::Present) == Prospect::AlwaysFails {
            let message =
                format!("always fails while `{name}` is there: it is never updated, and each event reports a failure");
            linter.warn(&gate.path, message, format!("read what may be missing in `{name}` as an optional"));
        }
        if self.own.prospect(gate.expression, Presence::Absent) != Prospect::NeverHolds {
            return;
        }
        let message = match &self.resource.discovery.by {
            DiscoverBy::Name(_) => {
                format!("cannot hold while `{name}` is absent, where it is asked as well: `{name}` is never created")
            }
            DiscoverBy::Labels(_) => format!(
                "cannot hold while `resources.{name}` is absent, where it is asked as well: `{name}` is not created unless its selector finds \
                 another one's object"
            ),
        };
        linter.warn(&gate.path, message, format!("let it hold then: `!resources.?{name}.hasValue() || …`"));
    }

    /// The other gates act on an object that is there.
    fn act(&self, linter: &mut Linter<'_>, gate: &Gate<'_>, effect: &str) {
        let name = &self.resource.name;
        let Some(verb) = self.verb(gate, Presence::Present) else { return };
        let message = format!("{verb} while `{name}` is there: {effect}");
        let help = format!("do not demand that `resources.{name}` is absent: what is absent needs no gate");
        linter.warn(&gate.path, message, help);
    }

    /// Some gates are asked also while there is nothing: if they fail then, nothing is created.
    fn question_about_nothing(&self, linter: &mut Linter<'_>, gate: &Gate<'_>) {
        if self.own.prospect(gate.expression, Presence::Absent) != Prospect::AlwaysFails {
            return;
        }
        let name = &self.resource.name;
        let message = format!(
            "always fails while `resources.{name}` is absent, where it is asked as well: `{name}` is not created then"
        );
        let help = format!("read it as an optional: `resources.?{name}.?…orValue(…)`");
        linter.warn(&gate.path, message, help);
    }

    /// What may not be created is not recreated, and what is recreated whenever it is there never comes to rest.
    fn recreation(&self, linter: &mut Linter<'_>, gates: &[Gate<'_>]) {
        let gate = |kind: Kind| gates.iter().find(|gate| gate.kind == kind);
        let Some(recreate) = gate(Kind::Recreate) else { return };
        let name = &self.resource.name;
        let restraint = [Kind::When, Kind::Create].into_iter().find_map(gate);
        let create = gate(Kind::Create).filter(|_| self.resource.retention.is_none());
        if let Some(verb) = create.and_then(|create| self.verb(create, Presence::Present)) {
            let message = format!("is of no use: `create` is asked, too, and {verb} while `{name}` is there");
            linter.warn(&recreate.path, message, format!("let `create` hold while `{name}` is there"));
        } else if restraint.is_none()
            && !literals::is_value(recreate.expression)
            && self.own.prospect(recreate.expression, Presence::Present) == Prospect::AlwaysHolds
        {
            let message = format!("always holds while `{name}` is there: each event makes a new object");
            let help = format!("ask for what a new `{name}` is needed for, or limit how often with `when`");
            linter.warn(&recreate.path, message, help);
        }
    }

    /// A gate that lets go of an object only because it is there has nothing to say about the event after. One that looks
    /// into the object may mean that: what has failed goes, and is made anew.
    fn resurrection(&self, linter: &mut Linter<'_>, gates: &[Gate<'_>]) {
        let letting_go = || gates.iter().filter(|gate| matches!(gate.kind, Kind::Orphan | Kind::Delete));
        let is_held_back = !linter.task.preconditions.is_empty()
            || gates.iter().any(|gate| matches!(gate.kind, Kind::When | Kind::Create | Kind::Apply));
        let places =
            |gate: &Gate<'_>| self.own.formula(gate.expression, Presence::Present).places_in(&self.resource.name);
        // The marks that the adapter sets are on every object of its own: to ask for them is to ask whether it is there.
        let looks_into = |gate: &Gate<'_>| places(gate).is_none_or(|places| !places.iter().all(|it| is_mark(it)));
        let demands_it = |gate: &Gate<'_>| {
            self.verb(gate, Presence::Present).is_none()
                && !looks_into(gate)
                && self.own.prospect(gate.expression, Presence::Absent) == Prospect::NeverHolds
        };
        if is_held_back || !letting_go().all(demands_it) {
            return;
        }
        let name = &self.resource.name;
        for gate in letting_go() {
            let effect = if gate.kind == Kind::Delete {
                "what was deleted is created again by the next event"
            } else {
                "an event that would disown it creates it if it is not there"
            };
            let message = format!("cannot hold while `{name}` is absent: {effect}");
            let help = match places(gate).is_some_and(|places| places.is_empty()) {
                true => format!("do not demand that `resources.{name}` is there: absent, it is done, and not created"),
                false => format!(
                    "let it hold then, too: put `!resources.?{name}.hasValue() || …` around what it asks of the object, or do \
                     not ask for labels that every object of this adapter has"
                ),
            };
            linter.warn(&gate.path, message, help);
        }
    }

    /// Gates that are never asked, because `when` comes first.
    fn hidden(&self, linter: &mut Linter<'_>, gates: &[Gate<'_>]) {
        let Some(when) = gates.iter().find(|gate| gate.kind == Kind::When) else { return };
        let never = self.own.prospect(when.expression, Presence::Present) == Prospect::NeverHolds
            && prospect(linter.task, when.expression, &|_| Presence::Unknown) != Prospect::NeverHolds;
        let name = &self.resource.name;
        for gate in gates.iter().filter(|gate| never && matches!(gate.kind, Kind::Patch | Kind::Recreate)) {
            let message = format!("is never asked: `when` comes first, and cannot hold while `{name}` is there");
            let help = "use `lifecycle.apply` instead of `when`: it is asked after patches and recreation".to_owned();
            linter.warn(&gate.path, message, help);
        }
    }
}

/// Whether a place in an object is a label or an annotation that the adapter sets on every object.
fn is_mark(place: &[Key]) -> bool {
    let is = |key: &Key, name: &str| *key == Key::Exact(name.to_owned());
    match place {
        [metadata, map, Key::Exact(key) | Key::Dotted(key)] => {
            is(metadata, "metadata")
                && (is(map, "labels") && [keys::ADAPTER, keys::RESOURCE_ID, keys::RESOURCE].contains(&key.as_str())
                    || is(map, "annotations") && key == keys::GENERATION)
        }
        _ => false,
    }
}
