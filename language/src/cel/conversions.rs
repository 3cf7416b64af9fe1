//! `string()` and `bool()` as in Go: doubles print as `%g`, and booleans parse as `strconv.ParseBool`.

use cel::common::types::{CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelString, CelTimestamp, CelUInt};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::arguments::{Arguments, Resolved, no_overload, take};
use super::declare::replace;
use super::time::{duration_text, timestamp_text, trimmed};

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    replace(environment, "string", "@string", string)?;
    replace(environment, "bool", "@bool", boolean)
}

fn string<'b, 'v>(mut arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let text = match arguments.first().map(CowVal::as_ref) {
        Some(value) if value.downcast_ref::<CelString<'v>>().is_some() => return Ok(arguments.remove(0)),
        Some(value) => text(value)?,
        None => None,
    };
    text.map(|text| CowVal::owned(CelString::from(text))).ok_or_else(|| no_overload("string", &arguments))
}

/// Converts a value to a boolean: the CEL function `bool(x)`.
fn boolean<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take("bool", arguments)?;
    if value.downcast_ref::<CelBool>().is_some() {
        return Ok(value);
    }
    let Some(text) = value.downcast_ref::<CelString<'_>>() else { return Err(no_overload("bool", &[value])) };
    let flag = lifecycle_config::go::parse_boolean(text.inner());
    let flag = flag.ok_or_else(|| ExecutionError::function_error("bool", "not a boolean such as true or false"))?;
    Ok(CowVal::owned(CelBool::from(flag)))
}

fn text(value: &dyn Val) -> Result<Option<String>, ExecutionError> {
    Ok(if let Some(value) = value.downcast_ref::<CelBool>() {
        Some(value.inner().to_string())
    } else if let Some(value) = value.downcast_ref::<CelInt>() {
        Some(value.inner().to_string())
    } else if let Some(value) = value.downcast_ref::<CelUInt>() {
        Some(value.inner().to_string())
    } else if let Some(value) = value.downcast_ref::<CelDouble>() {
        Some(double_text(*value.inner()))
    } else if let Some(value) = value.downcast_ref::<CelBytes<'_>>() {
        let text = std::str::from_utf8(value.inner());
        Some(text.map_err(|error| ExecutionError::function_error("string", error))?.to_owned())
    } else if let Some(value) = value.downcast_ref::<CelTimestamp>() {
        Some(timestamp_text(value.inner(), trimmed))
    } else {
        value.downcast_ref::<CelDuration>().map(|value| duration_text(value.inner(), trimmed))
    })
}

/// Prints as Go's `%g`: the shortest digits that parse to the same number, with an exponent below -4 or above 5.
fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_in_go() {
        let cases = [
            (0.0, "0"),
            (5.0, "5"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (123_456.0, "123456"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (12_345_678.0, "1.2345678e+07"),
            (123_456.789, "123456.789"),
            (1_234_567.25, "1.23456725e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(double_text(value), expected, "{value}");
        }
    }
}
