//! Which names a task declares, and which ones its templates and expressions may therefore use.

use std::collections::{BTreeMap, BTreeSet};

use crate::task::spec::TaskSpec;

/// Variables that every event has.
const BUILT_IN: [&str; 4] = ["adapter", "config", "env", "event"];

/// The names in reach of a template or an expression.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    variables: BTreeSet<String>,
    resources: BTreeSet<String>,
    /// The entries of `resources`, without what is found inside of their objects.
    entries: BTreeSet<String>,
    payloads: BTreeSet<String>,
    /// The variables that something else than a payload sets.
    set_before_payloads: BTreeSet<String>,
    /// Names that the task declares and that have no value yet, each with the reason.
    later: BTreeMap<String, &'static str>,
}

/// Why a payload's name has no value before phase 4.
const PAYLOAD_IS_LATER: &str = "it is a payload, and payloads are built after the last resource";
/// Why `resources` has no entry before phase 3.
const RESOURCES_ARE_LATER: &str = "live objects are read after the last precondition";

impl Known {
    /// Everything that the task declares anywhere, as the Go adapter counts it, and the preconditions'
    /// names, which are variables, too.
    pub(super) fn of(spec: &TaskSpec) -> Self {
        let mut known = Self::built_in();
        known.variables.extend(spec.params.iter().map(|param| param.name.clone()));
        for precondition in &spec.preconditions {
            known.variables.insert(precondition.name.clone());
            known.variables.extend(precondition.capture.iter().map(|capture| capture.name.clone()));
        }
        known.set_before_payloads = known.variables.clone();
        for payload in spec.post.iter().flat_map(|post| &post.payloads) {
            known.variables.insert(payload.name.clone());
            known.payloads.insert(payload.name.clone());
        }
        for resource in &spec.resources {
            known.resources.extend(resource.name.iter().chain(&resource.alias).cloned());
            known.entries.extend(resource.name.iter().chain(&resource.alias).cloned());
            known.resources.extend(resource.nested_discoveries.iter().map(|nested| nested.name.clone()));
        }
        known
    }

    /// What resources see: payloads are built later.
    pub(super) fn of_resources(&self) -> Self {
        let mut known = self.clone();
        let set_before = |name: &str| self.set_before_payloads.contains(name);
        for payload in self.payloads.iter().filter(|name| !set_before(name)) {
            known.variables.remove(payload);
            known.later.insert(payload.clone(), PAYLOAD_IS_LATER);
        }
        known
    }

    /// What preconditions see: objects are read later, too.
    pub(super) fn of_preconditions(&self) -> Self {
        let mut known = self.of_resources();
        known.later.insert("resources".to_owned(), RESOURCES_ARE_LATER);
        known
    }

    /// Why a name that the task declares has no value yet.
    pub(super) fn why_later(&self, name: &str) -> Option<&'static str> {
        self.later.get(name).copied()
    }

    /// What the first param sees.
    pub(super) fn built_in() -> Self {
        Self { variables: BUILT_IN.iter().map(|name| (*name).to_owned()).collect(), ..Self::default() }
    }

    /// Adds a variable.
    pub(super) fn declare(&mut self, name: &str) {
        self.variables.insert(name.to_owned());
    }

    /// Whether an expression may use this top-level name.
    pub(super) fn has_variable(&self, name: &str) -> bool {
        (name == "resources" && !self.later.contains_key(name)) || self.variables.contains(name)
    }

    /// Whether `resources.<name>` can exist.
    pub(super) fn has_resource(&self, name: &str) -> bool {
        self.resources.contains(name)
    }

    /// Whether an entry of `resources` has this name, so that something becomes of it.
    pub(super) fn has_entry(&self, name: &str) -> bool {
        self.entries.contains(name)
    }

    /// The name of every entry, to suggest one.
    pub(super) fn entries(&self) -> Vec<&str> {
        self.entries.iter().map(String::as_str).collect()
    }

    /// Every name below `resources`, to suggest one.
    pub(super) fn resources(&self) -> Vec<&str> {
        self.resources.iter().map(String::as_str).collect()
    }

    /// Whether a template may use this dotted path. `now` and `date` are known to templates alone.
    pub(super) fn has_path(&self, path: &str) -> bool {
        let mut segments = path.split('.').filter(|segment| !segment.is_empty());
        match segments.next() {
            None => true,
            Some("resources") if self.later.contains_key("resources") => false,
            Some("resources") => segments.next().is_some_and(|name| self.has_resource(name)),
            Some(first) => matches!(first, "now" | "date") || self.variables.contains(first),
        }
    }

    /// Whether the variable holds a payload.
    pub(super) fn has_payload(&self, name: &str) -> bool {
        self.payloads.contains(name)
    }

    /// Every payload's variable.
    pub(super) fn payloads(&self) -> impl Iterator<Item = &str> {
        self.payloads.iter().map(String::as_str)
    }

    /// Every variable, to suggest one.
    pub(super) fn variables(&self) -> Vec<&str> {
        self.variables.iter().map(String::as_str).collect()
    }
}

/// Whether the adapter itself sets a variable of this name.
pub(super) fn is_reserved(name: &str) -> bool {
    name == "resources" || BUILT_IN.contains(&name)
}

/// The pattern of names: they must be identifiers in expressions and templates.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
