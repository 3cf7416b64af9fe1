//! Functions on lists of conditions: `conditionStatus`, `conditionAge`, `stableFor`.
//!
//! The functions take any list, also the result of `filter()`. A condition's time is `last_transition_time`, as the lifecycle API
//! writes it, or else `lastTransitionTime`, as Kubernetes does. A missing or malformed field makes the status `Unknown` or
//! the age -1, not an error.

use cel::common::types::{CelBool, CelInt, CelString, DYN_TYPE, INT_TYPE, Kind, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};
use chrono::{DateTime, FixedOffset};

use super::arguments::{Arguments, Resolved, take, text, text_field};
use super::declare::with_now;
use super::time::parse_timestamp;

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    environment.add_overload("conditionStatus", "condition_status_list_string", vec![DYN_TYPE, STRING_TYPE], status)?;
    environment.add_overload(
        "conditionAge",
        "condition_age_list_string",
        vec![DYN_TYPE, STRING_TYPE, STRING_TYPE],
        age,
    )?;
    environment.add_macro(with_now("conditionAge", 2))?;
    let stable_for = vec![DYN_TYPE, STRING_TYPE, INT_TYPE, STRING_TYPE];
    environment.add_overload("stableFor", "stable_for_list_string_int", stable_for, stable)?;
    environment.add_macro(with_now("stableFor", 3))
}

/// The fields of a condition that these functions read.
struct Condition {
    status: Option<String>,
    changed: Option<DateTime<FixedOffset>>,
}

/// The first condition of that type.
fn find(function: &str, list: &dyn Val, kind: &str) -> Result<Option<Condition>, ExecutionError> {
    let not_a_list = || ExecutionError::function_error(function, "conditions must be a list");
    if list.get_type().kind() != Kind::List {
        return Err(not_a_list());
    }
    let mut conditions = list.as_iterable().ok_or_else(not_a_list)?.iter();
    while let Some(condition) = conditions.next() {
        if text_field(condition, "type").as_deref() == Some(kind) {
            let changed = text_field(condition, "last_transition_time")
                .or_else(|| text_field(condition, "lastTransitionTime"))
                .and_then(|time| parse_timestamp(&time));
            return Ok(Some(Condition { status: text_field(condition, "status"), changed }));
        }
    }
    Ok(None)
}

/// Whole seconds since the condition changed; negative if its clock is ahead.
fn age_in_seconds(condition: &Condition, now: &CowVal<'_, '_>) -> Option<i64> {
    Some(parse_timestamp(text(now))?.signed_duration_since(condition.changed?).num_seconds())
}

fn status<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [list, kind] = take("conditionStatus", arguments)?;
    let status = find("conditionStatus", list.as_ref(), text(&kind))?.and_then(|condition| condition.status);
    Ok(CowVal::owned(CelString::from(status.unwrap_or_else(|| "Unknown".to_owned()))))
}

fn age<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [list, kind, now] = take("conditionAge", arguments)?;
    let condition = find("conditionAge", list.as_ref(), text(&kind))?;
    let age = condition.and_then(|condition| age_in_seconds(&condition, &now));
    Ok(CowVal::owned(CelInt::from(age.unwrap_or(-1))))
}

fn stable<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [list, kind, seconds, now] = take("stableFor", arguments)?;
    let threshold = seconds.downcast_ref::<CelInt>().map_or(i64::MAX, |seconds| *seconds.inner());
    let stable = find("stableFor", list.as_ref(), text(&kind))?.is_some_and(|condition| {
        condition.status.as_deref() == Some("True")
            && age_in_seconds(&condition, &now).is_some_and(|age| age >= threshold)
    });
    Ok(CowVal::owned(CelBool::from(stable)))
}
