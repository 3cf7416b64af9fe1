//! The names that a task declares, so that its expressions and templates may read them.

use std::collections::{BTreeMap, BTreeSet};

use crate::task::spec::{ParamSpec, SourceSpec, TaskSpec};

/// The variables that every event has.
const BUILT_IN: [&str; 4] = ["adapter", "config", "env", "event"];

/// The path of the event's generation, which is a number.
const GENERATION: &str = "event.generation";

/// The types of params that are numbers.
const NUMBERS: [&str; 4] = ["int", "int64", "float", "float64"];

/// The names that a template or an expression may read.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    variables: BTreeSet<String>,
    resources: BTreeSet<String>,
    /// The names of the task's resources, without those of nested discoveries.
    entries: BTreeSet<String>,
    /// Those of `entries` that are bundles.
    bundles: BTreeSet<String>,
    payloads: BTreeSet<String>,
    /// The variables that a param, precondition or capture sets.
    set_before_payloads: BTreeSet<String>,
    /// The params that are numbers: set once, with a type of numbers.
    numbers: BTreeSet<String>,
    /// Names that the task declares but that have no value yet, each with the reason.
    later: BTreeMap<String, &'static str>,
}

/// Why a payload's name has no value before phase 4.
const PAYLOAD_IS_LATER: &str = "it is a payload, and payloads are built after the last resource";
/// Why `resources` has no entry before phase 3.
const RESOURCES_ARE_LATER: &str = "live objects are read after the last precondition";

impl Known {
    /// Collects all names that the task declares, as the Go adapter does, and the names of preconditions,
    /// which are variables as well.
    pub(super) fn of(spec: &TaskSpec) -> Self {
        let mut known = Self::built_in();
        known.variables.extend(spec.params.iter().map(|param| param.name.clone()));
        for precondition in &spec.preconditions {
            known.variables.insert(precondition.name.clone());
            known.variables.extend(precondition.capture.iter().map(|capture| capture.name.clone()));
        }
        known.set_before_payloads = known.variables.clone();
        let set = |name: &str| {
            let captures = spec.preconditions.iter().flat_map(|precondition| &precondition.capture);
            let params = spec.params.iter().map(|param| &param.name);
            params.chain(captures.map(|capture| &capture.name)).filter(|known| *known == name).count()
        };
        let is_number = |param: &&ParamSpec| {
            let SourceSpec::Path(path) = &param.source else { return false };
            let is_typed = param.kind.as_deref().map_or(path == GENERATION, |kind| NUMBERS.contains(&kind));
            is_typed && set(&param.name) == 1
        };
        known.numbers = spec.params.iter().filter(is_number).map(|param| param.name.clone()).collect();
        for payload in spec.post.iter().flat_map(|post| &post.payloads) {
            known.variables.insert(payload.name.clone());
            known.payloads.insert(payload.name.clone());
        }
        for resource in &spec.resources {
            let names = || resource.name.iter().chain(&resource.alias).cloned();
            known.resources.extend(names());
            known.entries.extend(names());
            known.bundles.extend(names().filter(|_| resource.bundle.is_some()));
            known.resources.extend(resource.nested_discoveries.iter().map(|nested| nested.name.clone()));
        }
        known
    }

    /// Returns the names that resources may read: all but payloads, which are built later.
    pub(super) fn of_resources(&self) -> Self {
        let mut known = self.clone();
        let set_before = |name: &str| self.set_before_payloads.contains(name);
        for payload in self.payloads.iter().filter(|name| !set_before(name)) {
            known.variables.remove(payload);
            known.later.insert(payload.clone(), PAYLOAD_IS_LATER);
        }
        known
    }

    /// Returns the names that preconditions may read: no payloads, and not `resources`, which are read later.
    pub(super) fn of_preconditions(&self) -> Self {
        let mut known = self.of_resources();
        known.later.insert("resources".to_owned(), RESOURCES_ARE_LATER);
        known
    }

    /// Returns why a declared name has no value yet, if so.
    pub(super) fn why_later(&self, name: &str) -> Option<&'static str> {
        self.later.get(name).copied()
    }

    /// Returns the names that the first param may read.
    pub(super) fn built_in() -> Self {
        Self { variables: BUILT_IN.iter().map(|name| (*name).to_owned()).collect(), ..Self::default() }
    }

    /// Adds a variable, which later expressions and templates may read.
    pub(super) fn declare(&mut self, name: &str) {
        self.variables.insert(name.to_owned());
    }

    /// Whether an expression may read this top-level name.
    pub(super) fn has_variable(&self, name: &str) -> bool {
        (name == "resources" && !self.later.contains_key(name)) || self.variables.contains(name)
    }

    /// Whether a dotted path is certainly a number.
    pub(super) fn is_number(&self, path: &str) -> bool {
        path == GENERATION || self.numbers.contains(path)
    }

    /// Whether `resources.<name>` can exist where these names are known.
    pub(super) fn has_resource(&self, name: &str) -> bool {
        self.resources.contains(name)
    }

    /// Whether a resource of the task has this name, so that `adapter.outcomes` has it too.
    pub(super) fn has_entry(&self, name: &str) -> bool {
        self.entries.contains(name)
    }

    /// The names of all bundles of the task, which `adapter.conditions` has, too.
    pub(super) fn bundles(&self) -> Vec<&str> {
        self.bundles.iter().map(String::as_str).collect()
    }

    /// Returns the names of all resources, to suggest one.
    pub(super) fn entries(&self) -> Vec<&str> {
        self.entries.iter().map(String::as_str).collect()
    }

    /// Returns all names below `resources`, to suggest one.
    pub(super) fn resources(&self) -> Vec<&str> {
        self.resources.iter().map(String::as_str).collect()
    }

    /// Whether a template may read this dotted path. Only templates have the variables `now` and `date`.
    pub(super) fn has_path(&self, path: &str) -> bool {
        let mut segments = path.split('.').filter(|segment| !segment.is_empty());
        match segments.next() {
            None => true,
            Some("resources") if self.later.contains_key("resources") => false,
            Some("resources") => segments.next().is_some_and(|name| self.has_resource(name)),
            Some(first) => matches!(first, "now" | "date") || self.variables.contains(first),
        }
    }

    /// Whether a payload sets this variable.
    pub(super) fn has_payload(&self, name: &str) -> bool {
        self.payloads.contains(name)
    }

    /// Returns the variables that payloads set.
    pub(super) fn payloads(&self) -> impl Iterator<Item = &str> {
        self.payloads.iter().map(String::as_str)
    }

    /// Returns all variables, to suggest one.
    pub(super) fn variables(&self) -> Vec<&str> {
        self.variables.iter().map(String::as_str).collect()
    }
}

/// Whether the adapter itself sets a variable of this name.
pub(super) fn is_reserved(name: &str) -> bool {
    name == "resources" || BUILT_IN.contains(&name)
}

/// Whether a name is an identifier in both expressions and templates.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
