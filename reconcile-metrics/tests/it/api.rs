//! What the API writes, by its own rules for `Reconciled`, for adapters' conditions, and for their times: reports come, generations
//! rise, deletions begin.
//!
//! In: what happens to a resource. Out: the statements of the API's transaction. `LastKnownReconciled` is left out, as no
//! trigger reads it.

use std::collections::BTreeMap;

/// The adapters that a cluster waits for, with the type of the condition of each.
pub(crate) const ADAPTERS: [(&str, &str); 2] = [("dns", "DnsSuccessful"), ("hypershift", "HypershiftSuccessful")];

/// What happens to a resource.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    Create,
    /// Its generation rises.
    Patch,
    /// The same, by a request that fails half-way and commits no conditions.
    BrokenPatch,
    /// An adapter reports, on this generation or on one before, what it saw some seconds ago.
    Report {
        adapter: usize,
        behind: i32,
        ago: i64,
        is_good: bool,
    },
    /// Its deletion is requested, or requested again.
    Delete,
    /// It is removed at once.
    Remove,
}

#[derive(Debug, Clone, Copy)]
struct Report {
    generation: i32,
    observed: i64,
    is_good: bool,
}

#[derive(Debug, Clone)]
struct Condition {
    status: bool,
    generation: i32,
    updated: i64,
    transition: i64,
}

/// A resource as the API knows it. Times are seconds since the beginning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resource {
    exists: bool,
    generation: i32,
    updated: i64,
    is_deleted: bool,
    reports: BTreeMap<usize, Report>,
    conditions: BTreeMap<&'static str, Condition>,
}

impl Resource {
    /// Whether its condition Reconciled is False.
    pub(crate) fn is_pending(&self) -> bool {
        self.conditions.get("Reconciled").is_some_and(|condition| !condition.status)
    }

    /// What the API does about it at that time.
    pub(crate) fn on(&mut self, id: &str, event: Event, now: i64) -> String {
        match event {
            Event::Create if !self.exists => {
                *self = Self { exists: true, generation: 1, updated: now, ..Self::default() };
                let insert = format!(
                    "INSERT INTO resources (id, kind, name, created_by, updated_by, spec, created_time, updated_time)
                     VALUES ('{id}', 'Cluster', '{id}', 't', 't', '{{}}', {0}, {0});",
                    at(now)
                );
                insert + &self.aggregate(id)
            }
            Event::Patch if self.exists && !self.is_deleted => self.rise(id, now) + &self.aggregate(id),
            Event::Delete if self.exists && !self.is_deleted => {
                self.is_deleted = true;
                let delete = format!("UPDATE resources SET deleted_time = {} WHERE id = '{id}';", at(now));
                self.rise(id, now) + &delete + &self.aggregate(id)
            }
            Event::BrokenPatch if self.exists && !self.is_deleted => self.rise(id, now),
            Event::Delete if self.exists => {
                self.updated = now;
                format!("UPDATE resources SET updated_time = {} WHERE id = '{id}';", at(now))
            }
            Event::Report { adapter, behind, ago, is_good } if self.exists => {
                let report = Report { generation: (self.generation - behind).max(1), observed: now - ago, is_good };
                let is_newer = |last: &Report| (report.generation, report.observed) > (last.generation, last.observed);
                if !self.reports.get(&adapter).is_none_or(is_newer) {
                    return String::new();
                }
                self.reports.insert(adapter, report);
                self.aggregate(id)
            }
            Event::Remove if self.exists => {
                *self = Self::default();
                format!(
                    "DELETE FROM resource_conditions WHERE resource_id = '{id}'; DELETE FROM resources WHERE id = '{id}';"
                )
            }
            Event::Create
            | Event::Patch
            | Event::BrokenPatch
            | Event::Delete
            | Event::Report { .. }
            | Event::Remove => String::new(),
        }
    }

    fn rise(&mut self, id: &str, now: i64) -> String {
        self.generation += 1;
        self.updated = now;
        let (generation, updated) = (self.generation, at(now));
        format!("UPDATE resources SET generation = {generation}, updated_time = {updated} WHERE id = '{id}';")
    }

    /// All conditions anew, and their rows.
    fn aggregate(&mut self, id: &str) -> String {
        let mut conditions = BTreeMap::from([("Reconciled", self.reconciled())]);
        for (adapter, report) in &self.reports {
            let name = ADAPTERS[*adapter].1;
            let was = self.conditions.get(name);
            let transition =
                was.filter(|was| was.status == report.is_good).map_or(report.observed, |was| was.transition);
            let (status, generation, updated) = (report.is_good, report.generation, report.observed);
            conditions.insert(name, Condition { status, generation, updated, transition });
        }
        self.conditions = conditions;
        let rows = self.conditions.iter().map(|(name, condition)| {
            let status = if condition.status { "True" } else { "False" };
            let Condition { generation, updated, transition, .. } = condition;
            format!("('{id}', '{name}', '{status}', {generation}, {}, {})", at(*updated), at(*transition))
        });
        format!(
            "DELETE FROM resource_conditions WHERE resource_id = '{id}';
             INSERT INTO resource_conditions
                 (resource_id, type, status, observed_generation, last_updated_time, last_transition_time)
             VALUES {};",
            rows.collect::<Vec<_>>().join(", ")
        )
    }

    fn reconciled(&self) -> Condition {
        let current: Vec<_> = self.reports.values().filter(|report| report.generation == self.generation).collect();
        let status = current.len() == ADAPTERS.len() && current.iter().all(|report| report.is_good);
        let updated = current.iter().map(|report| report.observed).min().unwrap_or(self.updated);
        let transition = match self.conditions.get("Reconciled") {
            Some(was) if was.status == status => was.transition,
            Some(was) if was.status && self.generation > was.generation => self.updated,
            Some(_) | None => updated,
        };
        Condition { status, generation: self.generation, updated, transition }
    }
}

fn at(seconds: i64) -> String {
    format!("timestamptz '2026-01-01 UTC' + interval '{seconds} s'")
}
