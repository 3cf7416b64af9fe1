//! Warns of gates that fail on an object without labels or annotations.
//!
//! An object that the adapter created has both. An entry that never creates its object, such as one with patches
//! alone, may find one that has neither: the gate then fails, and with it the resource.

use super::gate::{Kind, gates_of, is_created};
use super::linter::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task).filter(|(_, resource)| !is_created(task, resource)) {
        let name = resource.name.as_str();
        if task.is_shared(name) {
            continue;
        }
        for gate in gates_of(linter, &path, resource) {
            // These gates are asked only while the object is there, or fail with another warning.
            let asks_object = match gate.kind {
                Kind::Patch | Kind::Recreate | Kind::Orphan | Kind::Delete => true,
                Kind::When | Kind::Create | Kind::Apply => false,
            };
            let demanded = |key: &&str| gate.expression.demands(&["resources", name, "metadata", key]);
            if let Some(key) = ["labels", "annotations"].iter().find(|key| demanded(key)).filter(|_| asks_object) {
                let message = format!("fails on an object without {key}, and this entry does not create its own");
                let help = match gate.kind {
                    // These two are asked while the object is absent, too.
                    Kind::Orphan | Kind::Delete => {
                        format!("write `resources.?{name}.?metadata.?{key}[?\"example.io/tier\"].orValue(\"\")`")
                    }
                    Kind::Patch | Kind::Recreate | Kind::When | Kind::Create | Kind::Apply => format!(
                        "write `dig(resources.{name}, \"metadata.{key}.example.io/tier\")`, which is null then, or read them as an optional"
                    ),
                };
                linter.warn(&gate.path, message, help);
            }
        }
    }
}
