//! Warns of a rule of `bundle.ready` that is about no object of the bundle, whose object is judged by the rules of its kind instead;
//! and of one that never gives `true`.

use lifecycle_core::bundle::ready::Rule;
use lifecycle_core::task::{Bundle, KnownObject};
use lifecycle_language::cel::Types;

use super::linter::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        for (index, rule) in resource.bundle.iter().flat_map(|bundle| &bundle.ready.0).enumerate() {
            let types = rule.expression.types(&|_| Types::open());
            if let Some(others) = types.others().filter(|_| types.excludes_boolean()) {
                let at = path.key("bundle").key("ready").index(index).key("expression");
                let message = format!("gives {others}, and only `true` says that an object is ready: it never is");
                linter.warn(&at, message, "compare the value, such as `object.status.phase == 'Running'`".to_owned());
            }
        }
        let Some(bundle) = resource.bundle.as_ref().filter(|bundle| !bundle.has_others) else { continue };
        for (index, rule) in bundle.ready.0.iter().enumerate().filter(|(_, rule)| !is_about_one(rule, bundle)) {
            let of_kind = bundle.known.iter().filter(|object| object.identity.kind == rule.kind);
            let names: Vec<_> = of_kind.map(|object| format!("`{}`", object.identity.name)).collect();
            let (message, help) = match (&rule.name, names.as_slice()) {
                (Some(name), [_, ..]) => (
                    format!("no {} of the bundle has the name `{name}`", rule.kind),
                    format!("write one of {}, or remove the rule", names.join(", ")),
                ),
                _ => (
                    format!("the bundle has no {}", rule.kind),
                    format!("write the kind of an object, such as {}, or remove the rule", examples(bundle)),
                ),
            };
            linter.warn(&path.key("bundle").key("ready").index(index), message, help);
        }
    }
}

fn is_about_one(rule: &Rule, bundle: &Bundle) -> bool {
    bundle.known.iter().filter(|object| object.identity.kind == rule.kind).any(|object| may_have(object, rule))
}

/// Whether the object has the name of the rule, or may have it at an event.
fn may_have(object: &KnownObject, rule: &Rule) -> bool {
    let written = &object.identity.name;
    rule.name.as_ref().is_none_or(|name| written == name || written.contains("{{"))
}

fn examples(bundle: &Bundle) -> String {
    let mut kinds: Vec<_> = bundle.known.iter().map(|object| format!("`{}`", object.identity.kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.truncate(3);
    kinds.join(", ")
}
