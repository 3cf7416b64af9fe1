//! The structured conditions of preconditions: a field, an operator and a value.
//!
//! In: one condition and the [`Scope`] of an event. Out: whether the condition is met, and the value that its
//! field had. A missing field reads as null. Fails if the operator does not apply to the types of the two
//! values; such a condition has no result, and does not count as "not met". The caller combines the results of
//! several conditions.
//!
//! Equality compares the types of numbers too, as Go does: a number in an API response decodes as a double, so
//! it does not equal the integer `5` of a task file. The task file's integers do equal `type: int` params and
//! integers of Kubernetes objects. In the Go adapter they equalled nothing, so no condition on an integer could
//! be met.

use serde_json::Value;

use crate::task::{Condition, Operator};
use lifecycle_language::field::{FieldPathError, Found};
use lifecycle_language::scope::Scope;
use lifecycle_language::value;

/// The result of an evaluated condition.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionResult {
    /// Whether the condition is met.
    pub matched: bool,
    /// The field's value; null if the field is missing.
    pub actual: Value,
}

/// Why a condition could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// `greaterThan` or `lessThan` has an operand that is not a number.
    #[error("`{field}` {operator}: cannot compare {side} {value} as a number")]
    NotANumber {
        /// The path of the compared field, as written in the task file.
        field: String,
        /// The condition's operator, as written in the task file.
        operator: &'static str,
        /// Which operand is not a number: `field` or `expected`.
        side: &'static str,
        /// The text of the operand that is not a number.
        value: String,
    },
    /// `contains` searches a text or a mapping for a value that is not text.
    #[error("`{field}` contains: needle {value} is not a string")]
    NeedleNotText {
        /// The path of the searched field, as written in the task file.
        field: String,
        /// The text of the value that the condition searches for.
        value: String,
    },
    /// `contains` is applied to a field that is no text, list or mapping.
    #[error("`{field}` contains: {value} is neither a string, a list nor a map")]
    NotAContainer {
        /// The path of the searched field, as written in the task file.
        field: String,
        /// The text of the field's value.
        value: String,
    },
    /// The field is not a valid path.
    #[error("`{field}`: {fault}")]
    Malformed {
        /// The text in the task file that is not a valid path.
        field: String,
        /// Why the path does not parse.
        fault: FieldPathError,
    },
    /// The expected value of `in` or `notIn` is not a list.
    #[error("`{field}` {operator}: expected value {value} is not a list")]
    NotAList {
        /// The path of the compared field, as written in the task file.
        field: String,
        /// The condition's operator, `in` or `notIn`.
        operator: &'static str,
        /// The text of the expected value, which is not a list.
        value: String,
    },
}

/// Evaluates one condition.
///
/// # Errors
/// The field is no valid path, or the operator does not apply to the types of the field or of the expected
/// value.
pub fn evaluate(condition: &Condition, scope: &Scope) -> Result<ConditionResult, ConditionError> {
    if let Some(fault) = condition.field.fault() {
        return Err(ConditionError::Malformed { field: condition.field.source().to_owned(), fault: fault.clone() });
    }
    let actual = match condition.field.find_in(scope) {
        Found::Missing => Value::Null,
        Found::Value(value) => value,
    };
    let expected = &condition.value;
    let matched = match condition.operator {
        Operator::Equals => actual == *expected,
        Operator::NotEquals => actual != *expected,
        Operator::In => list(condition)?.contains(&actual),
        Operator::NotIn => !list(condition)?.contains(&actual),
        Operator::Contains => contains(condition, &actual)?,
        Operator::GreaterThan => number(condition, "field", &actual)? > number(condition, "expected", expected)?,
        Operator::LessThan => number(condition, "field", &actual)? < number(condition, "expected", expected)?,
        Operator::Exists => exists(&actual),
    };
    Ok(ConditionResult { matched, actual })
}

/// Explains why a condition is not met, with the field's actual value: `a.b equals x (actual: y)`.
///
/// If actual and expected value print alike, the text names their types: `a.b equals 5 (actual: 5 as text;
/// write "5")`.
#[must_use]
pub fn not_met(condition: &Condition, result: &ConditionResult) -> String {
    let actual = value::text(&result.actual);
    let types = expected_printing_like(condition, &result.actual).map(|expected| types(expected, &result.actual));
    format!(
        "{} {} {} (actual: {actual}{})",
        condition.field.source(),
        operator_name(condition.operator),
        value::text(&condition.value),
        types.unwrap_or_default(),
    )
}

/// Returns the expected value that has the text of the actual value, but another type.
fn expected_printing_like<'c>(condition: &'c Condition, actual: &Value) -> Option<&'c Value> {
    let candidates = match (condition.operator, &condition.value) {
        (Operator::Equals, value) => std::slice::from_ref(value),
        (Operator::In, Value::Array(values)) => values.as_slice(),
        (
            Operator::In
            | Operator::NotEquals
            | Operator::NotIn
            | Operator::Contains
            | Operator::GreaterThan
            | Operator::LessThan
            | Operator::Exists,
            _,
        ) => return None,
    };
    candidates.iter().find(|candidate| value::text(candidate) == value::text(actual))
}

/// Names the types of two values that print alike, and says how to write the actual one in a task file.
fn types(expected: &Value, actual: &Value) -> String {
    let written = match actual {
        Value::String(text) => format!("; write {text:?}"),
        Value::Number(number) if number.is_f64() => format!("; write {:?}", number.as_f64().unwrap_or_default()),
        Value::Number(_) | Value::Bool(_) => format!("; write {actual} without quotes"),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    };
    format!(" as {}, expected as {}{written}", kind(actual), kind(expected))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal number",
        Value::Number(_) => "an integer",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Returns the operator's name as task files spell it.
#[must_use]
pub fn operator_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Equals => "equals",
        Operator::NotEquals => "notEquals",
        Operator::In => "in",
        Operator::NotIn => "notIn",
        Operator::Contains => "contains",
        Operator::GreaterThan => "greaterThan",
        Operator::LessThan => "lessThan",
        Operator::Exists => "exists",
    }
}

fn list(condition: &Condition) -> Result<&[Value], ConditionError> {
    condition.value.as_array().map(Vec::as_slice).ok_or_else(|| ConditionError::NotAList {
        field: condition.field.source().to_owned(),
        operator: operator_name(condition.operator),
        value: value::text(&condition.value),
    })
}

fn contains(condition: &Condition, actual: &Value) -> Result<bool, ConditionError> {
    let field = || condition.field.source().to_owned();
    let needle = || {
        let not_text = || ConditionError::NeedleNotText { field: field(), value: value::text(&condition.value) };
        condition.value.as_str().ok_or_else(not_text)
    };
    match actual {
        Value::String(text) => Ok(text.contains(needle()?)),
        Value::Object(map) => Ok(map.contains_key(needle()?)),
        Value::Array(items) => Ok(items.contains(&condition.value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            Err(ConditionError::NotAContainer { field: field(), value: value::text(actual) })
        }
    }
}

fn number(condition: &Condition, side: &'static str, value: &Value) -> Result<f64, ConditionError> {
    value.as_f64().ok_or_else(|| ConditionError::NotANumber {
        field: condition.field.source().to_owned(),
        operator: operator_name(condition.operator),
        side,
        value: value::text(value),
    })
}

/// Zero and false exist; null, empty text and empty collections do not. [`FieldPath`](lifecycle_language::field::FieldPath)
/// reads blank text as null, so that does not exist either.
fn exists(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use lifecycle_language::field::FieldPath;

    fn scope() -> Scope {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        let cluster = json!({
            "phase": "Ready", "replicas": 5.0, "ratio": 5.5, "zero": 0.0, "off": false, "null": null,
            "text": "5", "blank": "  ", "tags": ["a", "b", 5.0], "labels": {"env": "prod"}, "none": [], "empty": {},
        });
        scope.set("cluster", cluster);
        scope.set("count", json!(5));
        scope
    }

    fn condition(field: &str, operator: Operator, value: Value) -> Result<Condition, FieldPathError> {
        Ok(Condition { field: FieldPath::parse(field)?, operator, value })
    }

    #[test]
    fn operators_compare_field_with_expected_value() -> Result<(), FieldPathError> {
        use Operator::{Contains, Equals, Exists, GreaterThan, In, LessThan, NotEquals, NotIn};
        let cases = [
            ("equal text", "cluster.phase", Equals, json!("Ready"), true),
            ("text is compared by case", "cluster.phase", Equals, json!("ready"), false),
            ("an API number is no integer", "cluster.replicas", Equals, json!(5), false),
            ("an API number is a double", "cluster.replicas", Equals, json!(5.0), true),
            ("an integer param is an integer", "count", Equals, json!(5), true),
            ("a fraction matches an API number", "cluster.ratio", Equals, json!(5.5), true),
            ("a missing field is null", "cluster.missing.deep", Equals, json!(null), true),
            ("a missing field is no text", "cluster.missing", Equals, json!("x"), false),
            ("blank text is null, so it never equals blank text", "cluster.blank", Equals, json!("  "), false),
            ("blank text is null", "cluster.blank", Equals, json!(null), true),
            ("mappings are compared deeply", "cluster.labels", Equals, json!({"env": "prod"}), true),
            ("a missing field is not equal", "cluster.missing", NotEquals, json!("x"), true),
            ("equal is not notEquals", "cluster.phase", NotEquals, json!("Ready"), false),
            ("an element of the list", "cluster.phase", In, json!(["Pending", "Ready"]), true),
            ("the type counts in lists too", "cluster.replicas", In, json!([4, 5]), false),
            ("no element", "cluster.phase", NotIn, json!(["Pending"]), true),
            ("a missing field is in no list", "cluster.missing", NotIn, json!(["x"]), true),
            ("a missing field is in a list that has null", "cluster.missing", NotIn, json!([null]), false),
            ("a part of the text", "cluster.phase", Contains, json!("ead"), true),
            ("a key of the mapping", "cluster.labels", Contains, json!("env"), true),
            ("not a value of the mapping", "cluster.labels", Contains, json!("prod"), false),
            ("an element", "cluster.tags", Contains, json!("b"), true),
            ("an element of another type", "cluster.tags", Contains, json!(5), false),
            ("several results are a list", "{.cluster.*}", Contains, json!(5.5), true),
            ("orders ignore the type", "cluster.replicas", GreaterThan, json!(4), true),
            ("equal is not greater", "count", GreaterThan, json!(5.0), false),
            ("less", "count", LessThan, json!(5.5), true),
            ("zero exists", "cluster.zero", Exists, json!(null), true),
            ("false exists", "cluster.off", Exists, json!(null), true),
            ("null does not exist", "cluster.null", Exists, json!(null), false),
            ("blank text does not exist", "cluster.blank", Exists, json!(null), false),
            ("an empty list does not exist", "cluster.none", Exists, json!(null), false),
            ("an empty mapping does not exist", "cluster.empty", Exists, json!(null), false),
            ("a missing field does not exist", "missing", Exists, json!(null), false),
        ];
        let scope = scope();
        for (name, field, operator, value, expected) in cases {
            let result = evaluate(&condition(field, operator, value)?, &scope);
            assert_eq!(result.map(|result| result.matched), Ok(expected), "{name}");
        }
        Ok(())
    }

    #[test]
    fn comparison_of_unsuitable_types_is_an_error() -> Result<(), FieldPathError> {
        use Operator::{Contains, GreaterThan, In, LessThan};
        let cases = [
            (
                condition("cluster.phase", GreaterThan, json!(1))?,
                "`cluster.phase` greaterThan: cannot compare field Ready as a number",
            ),
            (
                condition("cluster.missing", LessThan, json!(1))?,
                "`cluster.missing` lessThan: cannot compare field <nil> as a number",
            ),
            (condition("count", LessThan, json!("9"))?, "`count` lessThan: cannot compare expected 9 as a number"),
            (
                condition("cluster.off", GreaterThan, json!(0))?,
                "`cluster.off` greaterThan: cannot compare field false as a number",
            ),
            (condition("cluster.phase", Contains, json!(1))?, "`cluster.phase` contains: needle 1 is not a string"),
            (condition("cluster.labels", Contains, json!(1))?, "`cluster.labels` contains: needle 1 is not a string"),
            (
                condition("cluster.missing", Contains, json!("x"))?,
                "`cluster.missing` contains: <nil> is neither a string, a list nor a map",
            ),
            (
                condition("cluster.ratio", Contains, json!("5"))?,
                "`cluster.ratio` contains: 5.5 is neither a string, a list nor a map",
            ),
            (condition("cluster.phase", In, json!("Ready"))?, "`cluster.phase` in: expected value Ready is not a list"),
        ];
        let scope = scope();
        for (condition, expected) in cases {
            let result = evaluate(&condition, &scope);
            assert_eq!(result.map_err(|error| error.to_string()), Err(expected.to_owned()));
        }
        Ok(())
    }

    #[test]
    fn unmet_condition_reports_the_actual_value() -> Result<(), Box<dyn std::error::Error>> {
        let scope = scope();
        let cases = [
            ("cluster.phase", Operator::Equals, json!("Done"), "cluster.phase equals Done (actual: Ready)"),
            ("cluster.phase", Operator::In, json!(["A", "B"]), "cluster.phase in [A B] (actual: Ready)"),
            (
                "cluster.text",
                Operator::Equals,
                json!(5),
                "cluster.text equals 5 (actual: 5 as text, expected as an integer; write \"5\")",
            ),
            (
                "cluster.replicas",
                Operator::In,
                json!([4, 5]),
                "cluster.replicas in [4 5] (actual: 5 as a decimal number, expected as an integer; write 5.0)",
            ),
            (
                "count",
                Operator::Equals,
                json!("5"),
                "count equals 5 (actual: 5 as an integer, expected as text; write 5 without quotes)",
            ),
            ("cluster.missing", Operator::Exists, json!(null), "cluster.missing exists <nil> (actual: <nil>)"),
            ("cluster.replicas", Operator::GreaterThan, json!(1e7), "cluster.replicas greaterThan 1e+07 (actual: 5)"),
        ];
        for (field, operator, value, expected) in cases {
            let condition = condition(field, operator, value)?;
            let result = evaluate(&condition, &scope)?;
            assert!(!result.matched, "{expected}");
            assert_eq!(not_met(&condition, &result), expected);
        }
        Ok(())
    }
}
