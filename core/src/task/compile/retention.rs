//! Compiles `retention`: how many former versions of a resource to keep, and for how long.

use jiff::SignedDuration;
use lifecycle_config::duration::{Units, parse_nanoseconds};

use super::check::{Checker, Place};
use crate::task::Retention;
use crate::task::spec::{DiscoverySpec, RetentionSpec};

/// Compiles the retention at `place` of a resource that `discovery` finds.
pub(super) fn compile(
    checker: &mut Checker<'_>,
    spec: &RetentionSpec,
    discovery: Option<&DiscoverySpec>,
    place: &Place<'_>,
) -> Option<Retention> {
    if discovery.and_then(|discovery| discovery.by_name.as_deref()).is_some_and(|name| !name.is_empty()) {
        checker.error_with_help(
            place,
            "versions have different names, but `discovery.by_name` finds one name only",
            "find them by labels that all versions carry: `discovery: {by_selectors: {label_selector: {…}}}`",
        );
    }
    let limits = [place.key("historyLimit"), place.key("ttl")];
    if spec.history_limit.is_none() && spec.ttl.is_none() {
        if !limits.iter().any(|limit| checker.is_reported(limit)) {
            let help = "add `historyLimit: 3`, `ttl: 24h`, or both";
            checker.error_with_help(place, "must have a limit, or versions would pile up for ever", help);
        }
        return None;
    }
    let [_, at_ttl] = limits;
    let ttl = spec.ttl.as_deref().map(|text| ttl(checker, text, &at_ttl));
    Some(Retention {
        history_limit: spec.history_limit.and_then(|limit| usize::try_from(limit).ok()),
        ttl: match ttl {
            None => None,
            Some(ttl) => Some(ttl?),
        },
    })
}

fn ttl(checker: &mut Checker<'_>, text: &str, place: &Place<'_>) -> Option<SignedDuration> {
    // The decoder has reported text that is no duration, by the schema's format.
    let nanoseconds = parse_nanoseconds(text, Units::Go).ok()?;
    if nanoseconds <= 0 {
        let help = "write how old a version may become, such as `24h`; `historyLimit: 0` keeps none";
        checker.error_with_help(place, format!("must be longer than zero, but is {text}"), help);
        return None;
    }
    Some(SignedDuration::from_nanos(nanoseconds))
}
