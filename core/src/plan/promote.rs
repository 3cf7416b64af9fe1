//! Nested discoveries: objects inside of a resource's object become visible as `resources.<name>`.

use super::decision::{Decision, FailReason, Failure, SkipReason};
use super::observed::query;
use super::warning::{Warning, WarningReason};
use crate::id::GroupVersionKind;
use crate::nested;
use crate::outcome::OutcomeResult;
use crate::scope::Scope;
use crate::task::Resource;

/// Whether the object was applied, or needed no apply: the cases in which nested objects are looked for.
pub(super) fn is_due(decision: &Decision, result: &OutcomeResult) -> bool {
    match result {
        OutcomeResult::Created | OutcomeResult::Updated | OutcomeResult::Patched | OutcomeResult::Recreated => true,
        OutcomeResult::Skipped => {
            matches!(
                decision,
                Decision::Skip(
                    SkipReason::SameGeneration(_)
                        | SkipReason::StaleEvent { .. }
                        | SkipReason::WhenFalse
                        | SkipReason::ApplyGateFalse
                )
            )
        }
        OutcomeResult::Deleted
        | OutcomeResult::Deleting
        | OutcomeResult::Released
        | OutcomeResult::Waiting
        | OutcomeResult::Failed(_) => false,
    }
}

/// Makes what is found inside of the resource's object visible.
///
/// # Errors
/// The name of one is taken already.
pub(super) fn promote(resource: &Resource, scope: &mut Scope, warnings: &mut Vec<Warning>) -> Result<(), Failure> {
    if resource.nested.is_empty() {
        return Ok(());
    }
    let visible = scope.get("resources").and_then(|resources| resources.get(&resource.name));
    let Some(parent) = visible.cloned() else { return Ok(()) };
    let left_out = |message: String| Warning::new(WarningReason::NestedLeftOut, message);
    for entry in &resource.nested {
        let kind = GroupVersionKind::new("", "");
        let wanted = match query(&entry.discovery, kind, scope) {
            Ok(wanted) => wanted,
            Err(error) => {
                warnings.push(left_out(format!("nested discovery {} was left out: {error}", entry.name)));
                continue;
            }
        };
        if entry.name == resource.name {
            warnings.push(left_out(format!("nested discovery {} was left out: it has its parent's name", entry.name)));
            continue;
        }
        let Some(object) = nested::find(&parent, &wanted) else {
            warnings.push(left_out(format!(
                "nested discovery {} found nothing ({})",
                entry.name,
                nested::describe(&wanted)
            )));
            continue;
        };
        let taken = scope.get("resources").is_some_and(|resources| resources.get(&entry.name).is_some());
        if taken {
            let message = format!("nested discovery key collision: resources.{} is there already", entry.name);
            return Err(Failure::new(FailReason::NestedNameTaken, message));
        }
        scope.set_member("resources", &entry.name, Some(object));
    }
    Ok(())
}
