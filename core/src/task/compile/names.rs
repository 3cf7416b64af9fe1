//! Which names a task declares, and which ones its templates and expressions may therefore use.

use std::collections::BTreeSet;

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
}

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
        name == "resources" || self.variables.contains(name)
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
