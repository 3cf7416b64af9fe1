//! Converts CEL values to JSON.
//!
//! In: the result of an expression. Out: JSON for payloads, params and templates. Timestamps, durations and bytes
//! become text as in protobuf's JSON mapping; the answer lists their places, so that the next expression reads
//! them with their CEL types. Fails: for infinite numbers, types and functions, which JSON cannot represent.
//!
//! The interpreter returns a result only as a copy, and copying an object costs more than evaluating most
//! expressions. So every tree is [wrapped](wrap) in a call of an internal function, which converts the value
//! before the interpreter copies it.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use cel::common::ast::{Expr, IdedExpr};
use cel::common::types::{CelList, CelMap, CelMapKey, CelOptional, DYN_TYPE, Kind};
use cel::common::value::{CowVal, Val};
use cel::objects::Opaque;
use cel::{DeclarationError, Env, ExecutionError, Value as CelValue};
use serde_json::{Map, Number, Value};

use super::arguments::{entries, take};
use super::node::{call, node};
use super::time::{duration_text, grouped, timestamp_text};
use super::view;
use crate::value::typed::{self, Kinds, Typed, step};

const ANSWER: &str = "@answer";

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    environment.add_overload(ANSWER, "any_to_answer", vec![DYN_TYPE], package)
}

/// Wraps a tree in the call that converts its result; [`unpack`] takes the answer out.
pub(super) fn wrap(tree: IdedExpr) -> IdedExpr {
    node(call(ANSWER, vec![tree]))
}

/// The tree that was [wrapped](wrap).
pub(super) fn unwrap(wrapped: &IdedExpr) -> &IdedExpr {
    let Expr::Call(call) = &wrapped.expr else { return wrapped };
    call.args.first().filter(|_| call.func_name == ANSWER).unwrap_or(wrapped)
}

/// An answer inside a value of the interpreter.
#[derive(Debug)]
struct Package(Mutex<Option<Typed>>);

impl PartialEq for Package {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Package {}

impl Opaque for Package {
    fn runtime_type_name(&self) -> &str {
        "internal"
    }
}

fn package<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let [value] = take(ANSWER, arguments)?;
    let kind = value.get_type().kind();
    if !matches!(kind, Kind::List | Kind::Map | Kind::Opaque) {
        return Ok(value);
    }
    let answer = answer(value.as_ref())?;
    CelValue::Opaque(Arc::new(Package(Mutex::new(answer)))).try_into().map(CowVal::Owned)
}

/// The answer of a wrapped tree's evaluation; none for an optional without a value.
pub(super) fn unpack(value: &CelValue) -> Result<Option<Typed>, ExecutionError> {
    if let CelValue::Opaque(opaque) = value
        && let Some(Package(answer)) = opaque.downcast_ref()
    {
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        return Ok(answer.take());
    }
    let mut kinds = Kinds::new();
    let value = scalar(value, "", &mut kinds)?;
    Ok(Some(Typed { value, kinds }))
}

/// The answer for a result; an optional is unwrapped.
fn answer(value: &dyn Val) -> Result<Option<Typed>, ExecutionError> {
    match value.downcast_ref::<CelOptional<'_>>() {
        Some(optional) => optional.option().map_or(Ok(None), answer),
        None => {
            let mut kinds = Kinds::new();
            let value = part(value, "", &mut kinds)?;
            Ok(Some(Typed { value, kinds }))
        }
    }
}

/// Converts a value to JSON.
pub(super) fn json(value: &dyn Val) -> Result<Value, ExecutionError> {
    part(value, "", &mut Kinds::new())
}

/// Converts a value at a JSON pointer within an answer; an optional without a value becomes null there.
fn part(value: &dyn Val, at: &str, kinds: &mut Kinds) -> Result<Value, ExecutionError> {
    if !matches!(value.get_type().kind(), Kind::List | Kind::Map | Kind::Opaque) {
        return scalar(&CelValue::try_from(value)?, at, kinds);
    }
    if let Some(source) = view::source(value) {
        kinds.extend(source.kinds.into_iter().map(|(pointer, kind)| (format!("{at}{pointer}"), kind)));
        return Ok(source.value);
    }
    if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        let entries = entries(map).into_iter().map(|(key, value)| {
            let key = key_text(key);
            let value = part(value, &format!("{at}{}", step(&key)), kinds)?;
            Ok((key, value))
        });
        return Ok(Value::Object(entries.collect::<Result<Map<_, _>, ExecutionError>>()?));
    }
    if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        let items = list.inner().iter().enumerate();
        let items = items.map(|(index, item)| part(item.as_ref(), &format!("{at}/{index}"), kinds));
        return Ok(Value::Array(items.collect::<Result<_, _>>()?));
    }
    match value.downcast_ref::<CelOptional<'_>>() {
        Some(optional) => optional.option().map_or(Ok(Value::Null), |value| part(value, at, kinds)),
        None => Err(not_json(value.get_type().name())),
    }
}

fn scalar(value: &CelValue, at: &str, kinds: &mut Kinds) -> Result<Value, ExecutionError> {
    let mut note = |kind| kinds.extend([(at.to_owned(), kind)]);
    Ok(match value {
        CelValue::Null => Value::Null,
        CelValue::Bool(value) => Value::Bool(*value),
        CelValue::Int(value) => Value::from(*value),
        CelValue::UInt(value) => {
            note(typed::Kind::Unsigned);
            Value::from(*value)
        }
        CelValue::Float(value) => {
            Value::Number(Number::from_f64(*value).ok_or_else(|| not_json("a number that is not finite"))?)
        }
        CelValue::String(value) => Value::String(value.to_string()),
        CelValue::Bytes(value) => {
            note(typed::Kind::Bytes);
            Value::String(base64::engine::general_purpose::STANDARD.encode(value.as_slice()))
        }
        CelValue::Timestamp(value) => {
            note(typed::Kind::Timestamp);
            Value::String(timestamp_text(value, grouped))
        }
        CelValue::Duration(value) => {
            note(typed::Kind::Duration);
            Value::String(duration_text(value, grouped))
        }
        CelValue::List(_) | CelValue::Map(_) | CelValue::Opaque(_) | CelValue::Struct(_) | CelValue::Function(..) => {
            return Err(not_json(&value.type_of().to_string()));
        }
    })
}

fn key_text(key: &CelMapKey<'_>) -> String {
    match key {
        CelMapKey::Bool(key) => key.inner().to_string(),
        CelMapKey::Int(key) => key.inner().to_string(),
        CelMapKey::String(key) => key.inner().to_owned(),
        CelMapKey::UInt(key) => key.inner().to_string(),
    }
}

fn not_json(what: &str) -> ExecutionError {
    ExecutionError::UnexpectedType { got: what.to_owned(), want: "a JSON value".to_owned() }
}
