//! The types of a task's variables and expressions, as far as they are certain before an event.
//!
//! In: a compiled task. Out: the types that a variable can have where it is set once, by its source, its `type` and its
//! default, and those of an expression over the variables. Fails: nothing; what only an event knows can have any type.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{CaptureSource, Param, ParamSource, Task};
use lifecycle_language::cel::{Expression, Types};
use lifecycle_language::value::{Type, Typed};

/// The types of the variables of a task.
#[derive(Debug)]
pub struct VariableTypes(BTreeMap<String, Types>);

impl VariableTypes {
    /// Finds the types of all variables of a task, in the order in which a pass sets them.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        let once = set_once(task);
        let mut types = Self(BTreeMap::new());
        for param in &task.params {
            let of_param = types.of_param(param);
            types.set(&once, &param.name, of_param);
        }
        for precondition in &task.preconditions {
            for capture in &precondition.captures {
                let source = match &capture.source {
                    // A capture's expression reads the keys of the response, too, which hide the variables.
                    CaptureSource::Field(_) => Types::open(),
                    CaptureSource::Expression(expression) => expression.types(&|_| Types::open()).of_variable(),
                };
                types.set(&once, &capture.name, source.or(of_default(capture.default.as_ref())));
            }
        }
        types
    }

    /// The types that an expression over the variables can have.
    #[must_use]
    pub fn of_expression(&self, expression: &Expression) -> Types {
        expression.types(&|path| self.of_path(path))
    }

    /// The types of a variable, or of a path of fields below one.
    #[must_use]
    pub fn of_path(&self, path: &str) -> Types {
        match path {
            "event.id" | "event.kind" | "event.href" | "adapter.name" => Types::of([Type::Text]),
            "event.generation" => Types::of([Type::Number]),
            "event" | "resources" | "adapter" | "config" | "env" => Types::of([Type::Mapping]),
            path if path.starts_with("env.") => Types::of([Type::Text]),
            path => self.0.get(path).cloned().unwrap_or_else(Types::open),
        }
    }

    fn set(&mut self, once: &BTreeSet<&str>, name: &str, types: Types) {
        if once.contains(name) {
            self.0.insert(name.to_owned(), types);
        }
    }

    fn of_param(&self, param: &Param) -> Types {
        let of_source = match &param.source {
            ParamSource::ApiCall(_) => Types::of([Type::Mapping]),
            ParamSource::Expression(expression) => self.of_expression(expression).of_variable(),
            ParamSource::Environment(_) | ParamSource::File { .. } => converted(param, || Types::of([Type::Text])),
            ParamSource::Event(path) => converted(param, || self.of_path(&format!("event.{path}"))),
            ParamSource::Config(_) | ParamSource::Path(_) => converted(param, Types::open),
        };
        of_source.or(of_default(param.default.as_ref()))
    }
}

/// The variables that one param, precondition, capture or payload sets, and no other.
fn set_once(task: &Task) -> BTreeSet<&str> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    let payloads = task.payloads.iter().map(|payload| payload.name.as_str());
    for name in task.set_variables().chain(payloads) {
        *times.entry(name).or_default() += 1;
    }
    times.into_iter().filter(|(_, times)| *times == 1).map(|(name, _)| name).collect()
}

/// The type to which `type` converts a value. One that no version knows fails the event.
fn converted(param: &Param, unconverted: impl Fn() -> Types) -> Types {
    match param.kind.as_deref() {
        None => unconverted(),
        Some("string") => Types::of([Type::Text]),
        Some("int" | "int64" | "float" | "float64") => Types::of([Type::Number]),
        Some(_) => Types::open(),
    }
}

fn of_default(default: Option<&Value>) -> Types {
    let default = default.filter(|default| !default.is_null());
    Types::of(default.map(|default| Typed::from(default.clone()).type_of()))
}
