//! The fake API's state: resources, reports, fixed answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use serde_json::Value;

use super::endpoint::ALL_KINDS;
use super::statuses::{Reception, Stored};

/// A status report as it arrived, with its reception.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The JSON body of the report.
    pub body: Value,
    /// How the API handled the report.
    pub reception: Reception,
}

#[derive(Default)]
pub(super) struct Store {
    tables: Mutex<Tables>,
}

#[derive(Default)]
pub(super) struct Tables {
    pub(super) resources: BTreeMap<String, Value>,
    /// The stored report of each adapter about each resource.
    pub(super) stored: BTreeMap<(String, String), Stored>,
    pub(super) reports: BTreeMap<String, Vec<Report>>,
    pub(super) fixed: BTreeMap<(String, String), (u16, Value)>,
}

impl Tables {
    /// Returns the full path of a resource. A node pool is also found by its flat path, `nodepools/ID`, and each
    /// resource by `resources/ID`.
    pub(super) fn resolve(&self, path: &str) -> Option<String> {
        if let Some((ALL_KINDS, id)) = path.split_once('/') {
            let has_id = |document: &Value| document.get("id").and_then(Value::as_str) == Some(id);
            return self.resources.iter().find(|(_, document)| has_id(document)).map(|(path, _)| path.clone());
        }
        if self.resources.contains_key(path) {
            return Some(path.to_owned());
        }
        let end = format!("/{path}");
        self.resources.keys().find(|key| key.ends_with(&end) && path.matches('/').count() == 1).cloned()
    }
}

impl Store {
    pub(super) fn put(&self, path: &str, document: Value) {
        self.tables().resources.insert(path.to_owned(), document);
    }

    pub(super) fn edit(&self, path: &str, change: impl FnOnce(&mut Value)) -> anyhow::Result<()> {
        let mut tables = self.tables();
        change(tables.resources.get_mut(path).with_context(|| format!("there is no resource `{path}`"))?);
        Ok(())
    }

    pub(super) fn remove(&self, path: &str) {
        let mut tables = self.tables();
        tables.resources.remove(path);
        tables.stored.retain(|(owner, _), _| owner != path);
    }

    pub(super) fn respond(&self, method: &str, path: &str, status: u16, body: Value) {
        self.tables().fixed.insert((method.to_owned(), path.to_owned()), (status, body));
    }

    pub(super) fn reports(&self, path: &str) -> Vec<Report> {
        self.tables().reports.get(path).cloned().unwrap_or_default()
    }

    /// Locks the state. Ignores poisoning: a panic of another test leaves the maps consistent.
    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
