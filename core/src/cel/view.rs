//! JSON values as CEL values, without converting them.
//!
//! In goes a borrowed JSON value, out comes a CEL value that reads it in place. An object or a list
//! turns into CEL's own kind only when an operator needs that (equality, concatenation, iteration),
//! and then one level of it. Integers are `int` (`uint` above its range), other numbers `double`. A part that an
//! expression made of a type which JSON lacks is of that type.
//! Views live for one evaluation; nothing here can fail but a lookup.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cel::ExecutionError;
use cel::common::traits::{self, Adder, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelTimestamp,
    CelUInt, Type,
};
use cel::common::value::{Builtin, BuiltinRef, CowVal, Val};
use chrono::TimeDelta;
use serde_json::{Map, Value};

use super::internal::Internal;
use super::time::parse_timestamp;
use super::weight::weigh_data;
use crate::value::typed::{self, Kind, Kinds, Typed};

/// What one evaluation knows of its data: the parts that are of a type which JSON lacks, and the keys that were looked
/// for and not found.
///
/// The interpreter's error knows only the key. It hands back the very allocation that the lookup made
/// for it, which tells here which object was asked.
#[derive(Debug, Default)]
pub(super) struct Session {
    kinds: BTreeMap<usize, Kind>,
    misses: Mutex<Vec<(Arc<String>, usize)>>,
}

impl Session {
    /// So many are remembered: an expression that misses more often than that works with defaults.
    const CAPACITY: usize = 4096;
    /// A longer key is not remembered: no author wrote it, and there may be many.
    const LONGEST: usize = 512;

    /// A session over data whose parts at these addresses have a type.
    pub(super) fn new(kinds: BTreeMap<usize, Kind>) -> Self {
        Self { kinds, misses: Mutex::default() }
    }

    fn kind(&self, value: &Value) -> Option<Kind> {
        if self.kinds.is_empty() { None } else { self.kinds.get(&typed::address(value)).copied() }
    }

    fn record(&self, key: &str, fields: &Map<String, Value>) -> ExecutionError {
        let key = Arc::new(key.to_owned());
        let mut misses = self.misses.lock().unwrap_or_else(PoisonError::into_inner);
        if misses.len() < Self::CAPACITY && key.len() <= Self::LONGEST {
            misses.push((Arc::clone(&key), address(fields)));
        }
        ExecutionError::NoSuchKey(key)
    }

    /// A copy of an object, with the types of its parts.
    fn object(&self, fields: &Map<String, Value>) -> Typed {
        let mut kinds = Kinds::new();
        if !self.kinds.is_empty() {
            fields.iter().for_each(|(key, value)| self.add_kinds(value, typed::step(key), &mut kinds));
        }
        Typed { value: Value::Object(fields.clone()), kinds }
    }

    /// A copy of a list, with the types of its parts.
    fn list(&self, items: &[Value]) -> Typed {
        let mut kinds = Kinds::new();
        if !self.kinds.is_empty() {
            items.iter().enumerate().for_each(|(index, item)| self.add_kinds(item, format!("/{index}"), &mut kinds));
        }
        Typed { value: Value::Array(items.to_vec()), kinds }
    }

    fn add_kinds(&self, value: &Value, at: String, kinds: &mut Kinds) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| self.add_kinds(value, at.clone() + &typed::step(key), kinds));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.for_each(|(index, item)| self.add_kinds(item, format!("{at}/{index}"), kinds));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                kinds.extend(self.kind(value).map(|kind| (at, kind)));
            }
        }
    }

    /// The address of the object that was asked for `key`.
    pub(super) fn asked(&self, key: &Arc<String>) -> Option<usize> {
        let misses = self.misses.lock().unwrap_or_else(PoisonError::into_inner);
        misses.iter().find(|(missed, _)| Arc::ptr_eq(missed, key)).map(|(_, asked)| *asked)
    }
}

/// Tells one object from all others while it is borrowed.
pub(super) fn address(fields: &Map<String, Value>) -> usize {
    std::ptr::from_ref(fields).addr()
}

/// The CEL value that shows `value`.
pub(super) fn view<'a>(value: &'a Value, session: &'a Session) -> Box<dyn Val + 'a> {
    if let Some(typed) = session.kind(value).and_then(|kind| typed_view(value, kind)) {
        return typed;
    }
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Box::new(CelInt::from(value)),
            (None, Some(value)) => Box::new(CelUInt::from(value)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(value) => Box::new(CelString::from(value.as_str())),
        Value::Array(items) => Box::new(List { items, views: Views::new(session), list: OnceLock::new() }),
        Value::Object(fields) => {
            Box::new(Object { fields, views: Views::new(session), keys: OnceLock::new(), map: OnceLock::new() })
        }
    }
}

/// The CEL value of a part that JSON has no type for.
fn typed_view<'a>(value: &Value, kind: Kind) -> Option<Box<dyn Val + 'a>> {
    Some(match kind {
        Kind::Timestamp => Box::new(CelTimestamp::from(parse_timestamp(value.as_str()?)?)),
        Kind::Duration => Box::new(CelDuration::from(TimeDelta::nanoseconds(typed::nanoseconds(value)?))),
        Kind::Bytes => Box::new(CelBytes::from(typed::bytes(value))),
        Kind::Unsigned => Box::new(CelUInt::from(value.as_u64()?)),
    })
}

/// The JSON that a value shows, if the value is a view.
pub(super) fn source(value: &dyn Val) -> Option<Typed> {
    let source = value.as_indexer()?.get(&Internal(Question::Source)).ok()?;
    let Internal(source) = source.downcast_ref::<Internal<Arc<Mutex<Typed>>>>()?;
    Some(std::mem::take(&mut *source.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// What the members of a list or map weigh, if it is a view. Something above `room` if it is above.
pub(super) fn weight(value: &dyn Val, room: usize) -> Option<usize> {
    let weight = value.as_indexer()?.get(&Internal(Question::Weight(room))).ok()?;
    weight.downcast_ref::<Internal<usize>>().map(|Internal(weight)| *weight)
}

/// Whether a list or map is a view.
pub(super) fn is_view(value: &dyn Val) -> bool {
    weight(value, 0).is_some()
}

/// The index that asks a view about itself. A view borrows, so it cannot be told by its Rust type.
#[derive(Debug, Clone, Copy)]
enum Question {
    Source,
    Weight(usize),
}

impl Question {
    fn of(index: &dyn Val) -> Option<Self> {
        index.downcast_ref::<Internal<Self>>().map(|Internal(question)| *question)
    }

    fn answer<'v>(
        self,
        source: impl FnOnce() -> Typed,
        members: impl Iterator<Item = &'v Value>,
    ) -> CowVal<'static, 'static> {
        match self {
            Self::Source => CowVal::owned(Internal(Arc::new(Mutex::new(source())))),
            Self::Weight(room) => CowVal::owned(Internal(weigh_data(members, room))),
        }
    }
}

/// The views of the few children that an expression goes through, so that a path costs its length.
#[derive(Debug)]
pub(super) struct Views<'a> {
    kept: [OnceLock<(&'a Value, Box<dyn Val + 'a>)>; 3],
    session: &'a Session,
}

impl<'a> Views<'a> {
    pub(super) fn new(session: &'a Session) -> Self {
        Self { kept: [const { OnceLock::new() }; 3], session }
    }

    /// The view of a child. Scalars are made anew: that costs less than to find them.
    pub(super) fn of<'b>(&'b self, child: &'a Value) -> CowVal<'b, 'a> {
        if child.is_object() || child.is_array() {
            for slot in &self.kept {
                let (kept, view) = slot.get_or_init(|| (child, view(child, self.session)));
                if std::ptr::eq(*kept, child) {
                    return CowVal::Borrowed(view.as_ref());
                }
            }
        }
        CowVal::Owned(view(child, self.session))
    }
}

/// A JSON object as a CEL map.
#[derive(Debug)]
struct Object<'a> {
    fields: &'a Map<String, Value>,
    views: Views<'a>,
    keys: OnceLock<Box<[CelString<'a>]>>,
    map: OnceLock<CelMap<'a>>,
}

/// A JSON array as a CEL list.
#[derive(Debug)]
struct List<'a> {
    items: &'a [Value],
    views: Views<'a>,
    list: OnceLock<CelList<'a>>,
}

impl<'a> Object<'a> {
    fn to_map(&self) -> CelMap<'a> {
        let entry =
            |(key, value): (&'a String, &'a Value)| (CelMapKey::from(key.as_str()), view(value, self.views.session));
        self.fields.iter().map(entry).collect::<std::collections::HashMap<_, _>>().into()
    }

    fn map(&self) -> &CelMap<'a> {
        self.map.get_or_init(|| self.to_map())
    }
}

impl<'a> List<'a> {
    fn to_list(&self) -> CelList<'a> {
        self.items.iter().map(|item| view(item, self.views.session)).collect::<Vec<_>>().into()
    }

    fn list(&self) -> &CelList<'a> {
        self.list.get_or_init(|| self.to_list())
    }
}

impl Val for Object<'_> {
    fn get_type(&self) -> &Type {
        <Self as Val>::cel_type()
    }

    fn cel_type() -> &'static Type {
        <CelMap<'_> as Val>::cel_type()
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

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        self.map().equals(other)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        let views = Views::new(self.views.session);
        Box::new(Self { fields: self.fields, views, keys: OnceLock::new(), map: OnceLock::new() })
    }

    fn as_builtin<'b, 'v>(&'b self) -> BuiltinRef<'b, 'v>
    where
        Self: 'v,
    {
        BuiltinRef::Map(self.map())
    }

    fn into_builtin<'v>(mut self: Box<Self>) -> Option<Builtin<'v>>
    where
        Self: 'v,
    {
        Some(Builtin::Map(self.map.take().unwrap_or_else(|| self.to_map())))
    }
}

impl Container for Object<'_> {
    fn contains(&self, key: &dyn Val) -> Result<bool, ExecutionError> {
        match key.downcast_ref::<CelString<'_>>() {
            Some(key) => Ok(self.fields.contains_key(key.inner())),
            None => self.map().contains(key),
        }
    }
}

impl Indexer for Object<'_> {
    fn get<'b, 'v>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match key.downcast_ref::<CelString<'_>>() {
            Some(key) => match self.fields.get(key.inner()) {
                Some(value) => Ok(self.views.of(value)),
                None => Err(self.views.session.record(key.inner(), self.fields)),
            },
            None => match Question::of(key) {
                Some(question) => Ok(question.answer(|| self.views.session.object(self.fields), self.fields.values())),
                None => self.map().get(key),
            },
        }
    }

    fn steal<'v>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(key).map(CowVal::into_owned)
    }
}

impl Iterable for Object<'_> {
    fn iter<'b, 'v>(&'b self) -> Box<dyn traits::Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        // CEL leaves the order open; this is the object's own, the same on every run.
        let keys = self.keys.get_or_init(|| self.fields.keys().map(|key| CelString::from(key.as_str())).collect());
        Box::new(Keys(keys.iter()))
    }
}

struct Keys<'b, 'a>(std::slice::Iter<'b, CelString<'a>>);

impl<'b, 'v, 'a: 'v> traits::Iterator<'b, 'v> for Keys<'b, 'a> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'v)> {
        self.0.next().map(|key| key as &(dyn Val + 'v))
    }
}

impl Sizer for Object<'_> {
    fn size(&self) -> CelInt {
        CelInt::from(i64::try_from(self.fields.len()).unwrap_or(i64::MAX))
    }
}

impl Zeroer for Object<'_> {
    fn is_zero_value(&self) -> bool {
        self.fields.is_empty()
    }
}

impl Val for List<'_> {
    fn get_type(&self) -> &Type {
        <Self as Val>::cel_type()
    }

    fn cel_type() -> &'static Type {
        <CelList<'_> as Val>::cel_type()
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        self.list().as_adder()
    }

    fn as_container(&self) -> Option<&dyn Container> {
        self.list().as_container()
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

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        self.list().as_iterable()
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        self.list().equals(other)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(Self { items: self.items, views: Views::new(self.views.session), list: OnceLock::new() })
    }

    fn as_builtin<'b, 'v>(&'b self) -> BuiltinRef<'b, 'v>
    where
        Self: 'v,
    {
        BuiltinRef::List(self.list())
    }

    fn into_builtin<'v>(mut self: Box<Self>) -> Option<Builtin<'v>>
    where
        Self: 'v,
    {
        Some(Builtin::List(self.list.take().unwrap_or_else(|| self.to_list())))
    }
}

impl Indexer for List<'_> {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let position = index.downcast_ref::<CelInt>().and_then(|index| usize::try_from(*index.inner()).ok());
        match position.and_then(|position| self.items.get(position)) {
            Some(item) => Ok(self.views.of(item)),
            None => match Question::of(index) {
                Some(question) => Ok(question.answer(|| self.views.session.list(self.items), self.items.iter())),
                // Other kinds of index, and the errors, are CEL's own business.
                None => self.list().get(index),
            },
        }
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(index).map(CowVal::into_owned)
    }
}

impl Sizer for List<'_> {
    fn size(&self) -> CelInt {
        CelInt::from(i64::try_from(self.items.len()).unwrap_or(i64::MAX))
    }
}

impl Zeroer for List<'_> {
    fn is_zero_value(&self) -> bool {
        self.items.is_empty()
    }
}
