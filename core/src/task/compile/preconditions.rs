//! Compiles preconditions: API calls, captures and checks.

use lifecycle_config::document::Content;
use serde_json::Value;

use super::check::{Checker, Key, Place};
use crate::task::spec::{CaptureSpec, ConditionSpec, OperatorSpec, PreconditionSpec};
use crate::task::{Capture, CaptureSource, Check, Condition, Operator, Precondition};
use lifecycle_language::field::FieldPath;

pub(super) fn compile(checker: &mut Checker<'_>, specs: &[PreconditionSpec], place: &Place<'_>) -> Vec<Precondition> {
    let all = specs.iter().enumerate();
    all.filter_map(|(index, spec)| precondition(checker, spec, &place.index(index))).collect()
}

fn precondition(checker: &mut Checker<'_>, spec: &PreconditionSpec, place: &Place<'_>) -> Option<Precondition> {
    let known = checker.known;
    checker.name(&place.key("name"), &spec.name);
    if spec.api_call.is_some() {
        checker.variable(&place.key("name"), &spec.name);
    }
    let log = spec.log.as_ref().and_then(|log| checker.log(&place.key("log"), log));
    let api_call = spec.api_call.as_ref().and_then(|call| {
        let place = place.key("api_call");
        let help = "make it a param with an `api_call` source, and read that in `conditions` or `expression`";
        checker.note(&place, "is deprecated in preconditions", help);
        checker.api_call(&place, call, known)
    });
    if spec.api_call.is_none() && !spec.capture.is_empty() {
        checker.warn(&place.key("capture"), "captures nothing: there is no `api_call`", None);
    }
    let captures = spec.capture.iter().enumerate();
    let captures = captures.filter_map(|(i, s)| capture(checker, s, &place.key("capture").index(i))).collect();
    let check = check(checker, spec, place);
    Some(Precondition { name: spec.name.clone(), log, api_call, captures, check: check? })
}

fn check(checker: &mut Checker<'_>, spec: &PreconditionSpec, place: &Place<'_>) -> Option<Check> {
    let known = checker.known;
    let text = spec.expression.as_deref().filter(|text| !text.is_empty());
    let expression = text.map(|text| checker.expression(&place.key("expression"), text, known, Key::Inherited));
    if !spec.conditions.is_empty() {
        if expression.is_some() {
            checker.warn(&place.key("expression"), "is ignored: `conditions` are set", None);
        }
        let conditions = spec.conditions.iter().enumerate();
        let conditions =
            conditions.filter_map(|(i, s)| condition(checker, s, &place.key("conditions").index(i))).collect();
        return Some(Check::Conditions(conditions));
    }
    match expression {
        Some(expression) => expression.map(Check::Expression),
        None if spec.api_call.is_some() => Some(Check::CallSucceeds),
        None if has_empty_conditions(place) => {
            let help = "add a condition or an `expression`, or remove the precondition".to_owned();
            checker.warn(&place.key("conditions"), "is always met: there is no condition", Some(help));
            Some(Check::CallSucceeds)
        }
        None => {
            let keys = ["api_call", "conditions", "expression"].map(|key| place.key(key));
            if !keys.iter().any(|key| checker.is_reported(key)) {
                let help = "add `expression: \"…\"` in quotes, or `conditions: [{field: …, operator: …, value: …}]`";
                checker.error_with_help(place, "must specify api_call, conditions or expression", help);
            }
            None
        }
    }
}

/// Whether `conditions` is an empty list. The Go adapter counts such a precondition as met.
fn has_empty_conditions(place: &Place<'_>) -> bool {
    let node = place.document.node(&place.key("conditions").path);
    node.is_some_and(|node| matches!(&node.content, Content::List(items) if items.is_empty()))
}

fn capture(checker: &mut Checker<'_>, spec: &CaptureSpec, place: &Place<'_>) -> Option<Capture> {
    checker.variable(&place.key("name"), &spec.name);
    let field = spec.field.as_deref().filter(|text| !text.is_empty());
    let expression = spec.expression.as_deref().filter(|text| !text.is_empty());
    let source = match (field, expression) {
        (Some(field), None) => CaptureSource::Field(checker.field(&place.key("field"), field)),
        (None, Some(expression)) => {
            CaptureSource::Expression(checker.response_expression(&place.key("expression"), expression)?)
        }
        (Some(_), Some(_)) => {
            checker.error(place, "'field' and 'expression' are mutually exclusive");
            return None;
        }
        (None, None) => {
            if !checker.is_reported(&place.key("field")) && !checker.is_reported(&place.key("expression")) {
                checker.error(place, "must have either 'field' or 'expression' set");
            }
            return None;
        }
    };
    if expression.is_some() && spec.default.is_some() {
        checker.warn(&place.key("default"), "is never used: defaults belong to `field` captures", None);
    }
    Some(Capture { name: spec.name.clone(), source, default: spec.default.clone() })
}

fn condition(checker: &mut Checker<'_>, spec: &ConditionSpec, place: &Place<'_>) -> Option<Condition> {
    let field = if spec.field.is_empty() {
        checker.warn(
            place,
            "compares null: it has no `field`",
            Some("add `field`, a path into the variables".to_owned()),
        );
        FieldPath::parse("").ok()?
    } else {
        checker.variable_field(&place.key("field"), &spec.field)
    };
    if spec.value.is_some() && spec.values.is_some() {
        checker.error(place, "'value' and 'values' are mutually exclusive");
    }
    if checker.is_reported(&place.key("operator")) {
        return None;
    }
    let (operator, name) = operator(spec.operator);
    let value = spec.value.as_ref().or(spec.values.as_ref());
    let at_value = place.key(if spec.values.is_some() { "values" } else { "value" });
    match (operator, value) {
        (Operator::Exists, Some(_)) => {
            checker.error(&at_value, "value/values should not be set for operator \"exists\"");
        }
        (Operator::In | Operator::NotIn, Some(value)) if !value.is_array() => {
            checker.error(&at_value, format!("value must be a list for operator \"{name}\""));
        }
        (Operator::Exists, None)
        | (
            Operator::Equals
            | Operator::NotEquals
            | Operator::In
            | Operator::NotIn
            | Operator::Contains
            | Operator::GreaterThan
            | Operator::LessThan,
            Some(_),
        ) => {}
        (
            Operator::Equals
            | Operator::NotEquals
            | Operator::In
            | Operator::NotIn
            | Operator::Contains
            | Operator::GreaterThan
            | Operator::LessThan,
            None,
        ) => checker.error(place, format!("value is required for operator \"{name}\"")),
    }
    if let (Operator::GreaterThan | Operator::LessThan, Some(value)) = (operator, value)
        && !value.is_number()
    {
        let message = format!(
            "is no number, which \"{name}\" needs: the precondition fails at every event, as in the Go adapter"
        );
        let help = "write a number without quotes, or compare in an `expression`".to_owned();
        checker.warn(&at_value, message, Some(help));
    }
    Some(Condition { field, operator, value: value.cloned().unwrap_or(Value::Null) })
}

fn operator(spec: OperatorSpec) -> (Operator, &'static str) {
    match spec {
        OperatorSpec::Equals => (Operator::Equals, "equals"),
        OperatorSpec::NotEquals => (Operator::NotEquals, "notEquals"),
        OperatorSpec::In => (Operator::In, "in"),
        OperatorSpec::NotIn => (Operator::NotIn, "notIn"),
        OperatorSpec::Contains => (Operator::Contains, "contains"),
        OperatorSpec::GreaterThan => (Operator::GreaterThan, "greaterThan"),
        OperatorSpec::LessThan => (Operator::LessThan, "lessThan"),
        OperatorSpec::Exists => (Operator::Exists, "exists"),
    }
}
