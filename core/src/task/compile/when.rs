//! Compiles the `when` of a gate.

use lifecycle_language::cel::Expression;

use super::check::{Checker, Key, Place};
use crate::task::spec::WhenSpec;

/// Compiles the `when` of the gate at `place`.
pub(super) fn when(checker: &mut Checker<'_>, spec: &WhenSpec, place: &Place<'_>, key: Key) -> Option<Expression> {
    expression(checker, spec, &place.key("when"), key)
}

/// Compiles the expression of a gate at `place`.
pub(super) fn expression(
    checker: &mut Checker<'_>,
    spec: &WhenSpec,
    place: &Place<'_>,
    key: Key,
) -> Option<Expression> {
    let known = checker.known;
    let place = place.key("expression");
    if spec.expression.trim().is_empty() {
        // The Go adapter ignores an empty expression, but a blank one would count as true, and could delete.
        if !spec.expression.is_empty() {
            checker.error(&place, "is required");
        }
        return None;
    }
    checker.expression(&place, &spec.expression, known, key)
}
