//! Parts of the scope as CEL values, without converting them.
//!
//! In goes a borrowed JSON value, out comes a CEL value that reads it in place: a view. It becomes a list or map of CEL's
//! own, one level deep, only for operators that need one: equality, concatenation, iteration. Integers are `int` (`uint`
//! above its range), other numbers `double`. Timestamps, durations and bytes that an earlier expression made keep their
//! type. Only a lookup can fail.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use cel::ExecutionError;
use cel::common::traits::{Adder, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelTimestamp,
    CelUInt, Type,
};
use cel::common::value::{Builtin, BuiltinRef, CowVal, Val};
use chrono::TimeDelta;
use serde_json::Value;

use super::cost::size_of_members;
use super::internal::Internal;
use super::time::parse_timestamp;
use crate::scope::Scope;
use crate::value::typed::{self, Kind, Kinds, Typed, address};

/// The types of parts of the scope that JSON lacks, by the addresses of these parts.
pub(super) type KindsByAddress = BTreeMap<usize, Kind>;

/// The function that an error names when a key is missing; no author can write the name.
const MISSING: &str = "@missing";

/// The error of an object without this key. It holds the object's address: most of these errors are of optional selections
/// and nobody reads them, so [`missing_path`] searches for the object later.
fn missing(key: &str, object: &Value) -> ExecutionError {
    ExecutionError::function_error(MISSING, format_args!("{}/{key}", address(object)))
}

/// The path to the key that is missing, from the variable on; none for any other error.
pub(super) fn missing_path(error: &ExecutionError, scope: &Scope) -> Option<Vec<String>> {
    let ExecutionError::FunctionError { function, message } = error else { return None };
    let (object, key) = message.split_once('/').filter(|_| function == MISSING)?;
    let mut path = scope.variables().find_map(|(name, value)| path_within(value, name, object.parse().ok()?));
    path.iter_mut().for_each(|path| path.reverse());
    Some(path.into_iter().flatten().chain([key.to_owned()]).collect())
}

/// The steps from the scope to the value at an address, the last one first.
fn path_within(value: &Value, step: &str, wanted: usize) -> Option<Vec<String>> {
    let mut path = match value {
        value if address(value) == wanted => Vec::new(),
        Value::Object(fields) => fields.iter().find_map(|(key, value)| path_within(value, key, wanted))?,
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| path_within(item, &index.to_string(), wanted))?
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    path.push(step.to_owned());
    Some(path)
}

/// The CEL value that shows a part of the scope.
pub(super) fn view<'a>(value: &'a Value, kinds: &'a KindsByAddress) -> Box<dyn Val + 'a> {
    if value.is_array() || value.is_object() {
        return Box::new(View::new(value, kinds));
    }
    let kind = if kinds.is_empty() { None } else { kinds.get(&address(value)) };
    kind.and_then(|kind| of_kind(value, *kind)).unwrap_or_else(|| untyped(value))
}

fn untyped(scalar: &Value) -> Box<dyn Val + '_> {
    match scalar {
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Box::new(CelInt::from(value)),
            (None, Some(value)) => Box::new(CelUInt::from(value)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(value) => Box::new(CelString::from(value.as_str())),
        Value::Null | Value::Array(_) | Value::Object(_) => Box::new(CelNull),
    }
}

/// The CEL value of a part that JSON has no type for.
fn of_kind<'a>(value: &Value, kind: Kind) -> Option<Box<dyn Val + 'a>> {
    Some(match kind {
        Kind::Timestamp => Box::new(CelTimestamp::from(parse_timestamp(value.as_str()?)?)),
        Kind::Duration => Box::new(CelDuration::from(TimeDelta::nanoseconds(typed::nanoseconds(value)?))),
        Kind::Bytes => Box::new(CelBytes::from(typed::bytes(value))),
        Kind::Unsigned => Box::new(CelUInt::from(value.as_u64()?)),
    })
}

/// A copy of the JSON that a value shows, if the value is a view.
pub(super) fn source(value: &dyn Val) -> Option<Typed> {
    ask::<Arc<Typed>>(value, Question::Copy).map(Arc::unwrap_or_clone)
}

/// The size, in bytes, of the JSON that a value shows; none if the value is not a view. Counting stops once the size
/// exceeds `room`.
pub(super) fn size(value: &dyn Val, room: usize) -> Option<usize> {
    ask(value, Question::Size(room))
}

pub(super) fn is_view(value: &dyn Val) -> bool {
    size(value, 0).is_some()
}

/// An index that asks a view about itself: a value that borrows cannot be downcast to its Rust type.
#[derive(Debug, Clone, Copy)]
enum Question {
    Copy,
    Size(usize),
}

fn ask<T: Clone + std::fmt::Debug + Send + Sync + 'static>(value: &dyn Val, question: Question) -> Option<T> {
    let answer = value.as_indexer()?.get(&Internal(question)).ok()?;
    answer.downcast_ref::<Internal<T>>().map(|Internal(answer)| answer.clone())
}

/// The views of the first few children, which later paths through them share.
#[derive(Debug)]
pub(super) struct Views<'a> {
    kept: [OnceLock<(&'a Value, Box<dyn Val + 'a>)>; 3],
    kinds: &'a KindsByAddress,
}

impl<'a> Views<'a> {
    pub(super) fn new(kinds: &'a KindsByAddress) -> Self {
        Self { kept: [const { OnceLock::new() }; 3], kinds }
    }

    /// The view of a child. A scalar gets a new one each time, which costs less than a search.
    pub(super) fn of<'b>(&'b self, child: &'a Value) -> CowVal<'b, 'a> {
        if child.is_object() || child.is_array() {
            for slot in &self.kept {
                let (kept, view) = slot.get_or_init(|| (child, view(child, self.kinds)));
                if std::ptr::eq(*kept, child) {
                    return CowVal::Borrowed(view.as_ref());
                }
            }
        }
        CowVal::Owned(view(child, self.kinds))
    }
}

/// A JSON object as a CEL map, or a JSON array as a CEL list.
#[derive(Debug)]
struct View<'a> {
    value: &'a Value,
    children: Views<'a>,
    made: OnceLock<Made<'a>>,
}

/// One level of a view, converted to CEL's own list or map.
#[derive(Debug)]
enum Made<'a> {
    List(CelList<'a>),
    Map(CelMap<'a>),
}

impl<'a> View<'a> {
    fn new(value: &'a Value, kinds: &'a KindsByAddress) -> Self {
        Self { value, children: Views::new(kinds), made: OnceLock::new() }
    }

    fn len(&self) -> usize {
        self.value.as_array().map_or_else(|| self.value.as_object().map_or(0, serde_json::Map::len), Vec::len)
    }

    fn make(&self) -> Made<'a> {
        let kinds = self.children.kinds;
        let Some(fields) = self.value.as_object() else {
            let items = self.value.as_array().into_iter().flatten();
            return Made::List(items.map(|item| view(item, kinds)).collect::<Vec<_>>().into());
        };
        let entries = fields.iter().map(|(key, value)| (CelMapKey::from(key.as_str()), view(value, kinds)));
        Made::Map(entries.collect::<HashMap<_, _>>().into())
    }

    fn made<'b>(&'b self) -> &'b (dyn Val + 'a) {
        match self.made.get_or_init(|| self.make()) {
            Made::List(list) => list,
            Made::Map(map) => map,
        }
    }

    fn answer(&self, question: Question) -> CowVal<'static, 'static> {
        match question {
            Question::Copy => {
                let mut copy = Typed::from(self.value.clone());
                if !self.children.kinds.is_empty() {
                    add_kinds(self.value, String::new(), self.children.kinds, &mut copy.kinds);
                }
                CowVal::owned(Internal(Arc::new(copy)))
            }
            Question::Size(room) => CowVal::owned(Internal(size_of_members(self.value, room))),
        }
    }
}

/// Notes the types of the parts of a value at a JSON pointer.
fn add_kinds(value: &Value, at: String, kinds: &KindsByAddress, found: &mut Kinds) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| add_kinds(value, at.clone() + &typed::step(key), kinds, found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| add_kinds(item, format!("{at}/{index}"), kinds, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.extend(kinds.get(&address(value)).map(|kind| (at, *kind)));
        }
    }
}

impl Val for View<'_> {
    fn get_type(&self) -> &Type {
        if self.value.is_array() { <CelList<'_> as Val>::cel_type() } else { <CelMap<'_> as Val>::cel_type() }
    }

    fn cel_type() -> &'static Type {
        <CelMap<'_> as Val>::cel_type()
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        self.made().as_adder()
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn into_indexer<'v>(self: Box<Self>) -> Option<Box<dyn Indexer + 'v>>
    where
        Self: 'v,
    {
        Some(self)
    }

    /// Lists only: a loop over a mapping iterates over a sorted list of its keys, see `cost::functions`.
    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        if self.value.is_array() { self.made().as_iterable() } else { None }
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        self.made().equals(other)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(View::new(self.value, self.children.kinds))
    }

    fn as_builtin<'b, 'v>(&'b self) -> BuiltinRef<'b, 'v>
    where
        Self: 'v,
    {
        self.made().as_builtin()
    }

    fn into_builtin<'v>(mut self: Box<Self>) -> Option<Builtin<'v>>
    where
        Self: 'v,
    {
        Some(match self.made.take().unwrap_or_else(|| self.make()) {
            Made::List(list) => Builtin::List(list),
            Made::Map(map) => Builtin::Map(map),
        })
    }
}

impl Container for View<'_> {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        match (self.value, value.downcast_ref::<CelString<'_>>()) {
            (Value::Object(fields), Some(key)) => Ok(fields.contains_key(key.inner())),
            _ => self.made().as_container().map_or(Ok(false), |made| made.contains(value)),
        }
    }
}

impl Indexer for View<'_> {
    fn get<'b, 'v>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        if let (Value::Object(fields), Some(key)) = (self.value, key.downcast_ref::<CelString<'_>>()) {
            let value = fields.get(key.inner()).ok_or_else(|| missing(key.inner(), self.value))?;
            return Ok(self.children.of(value));
        }
        if let (Value::Array(items), Some(index)) = (self.value, key.downcast_ref::<CelInt>())
            && let Some(item) = usize::try_from(*index.inner()).ok().and_then(|index| items.get(index))
        {
            return Ok(self.children.of(item));
        }
        if let Some(Internal(question)) = key.downcast_ref::<Internal<Question>>() {
            return Ok(self.answer(*question));
        }
        // CEL's own list or map handles other kinds of keys, and makes the errors.
        let overload = || ExecutionError::no_such_overload("_[_]", Vec::new());
        self.made().as_indexer().ok_or_else(overload)?.get(key)
    }

    fn steal<'v>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(key).map(CowVal::into_owned)
    }
}

impl Sizer for View<'_> {
    fn size(&self) -> CelInt {
        CelInt::from(i64::try_from(self.len()).unwrap_or(i64::MAX))
    }
}

impl Zeroer for View<'_> {
    fn is_zero_value(&self) -> bool {
        self.len() == 0
    }
}
