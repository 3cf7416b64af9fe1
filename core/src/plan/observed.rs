//! Plans the reads: which queries the caller sends, and which objects `resources` shows afterwards.

use std::collections::BTreeSet;
use std::iter;

use lifecycle_language::scope::Scope;
use lifecycle_objects::keys;
use lifecycle_objects::labels::is_label_value;
use lifecycle_objects::observation::{Observation, Query, QueryBy};

use super::former::Former;
use super::{Planner, Slot, query, reads};
use crate::ownership::{Owned, put};

/// A read for one resource of the task.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The resource's index in the task's list.
    pub resource: usize,
    /// The query that selects the objects to read.
    pub query: Query,
}

impl<'t> Planner<'t> {
    /// The reads that the caller can send now, all at the same time; empty once every resource was read.
    ///
    /// A discovery that reads `resources.…` waits until those resources were read.
    pub(super) fn reads(&mut self, scope: &mut Scope) -> Vec<Read> {
        self.look_inside_all(scope);
        let mut needed = Vec::new();
        self.reads_by_mark(&mut needed);
        if !needed.is_empty() {
            return needed;
        }
        let open: Vec<usize> = (0..self.slots.len()).filter(|&index| self.slots[index].observation.is_none()).collect();
        let reads_any = |index: usize| reads::of_query(&self.task.resources[index]).is_any();
        let is_ready = |&index: &usize| !reads_any(index) && self.awaited(index, &open).is_empty();
        let mut wave: Vec<usize> = open.iter().copied().filter(is_ready).collect();
        if wave.is_empty() {
            // A discovery that can read any name comes after all that wait for no other, one at a time in the order of
            // the list, so that a later one sees the objects of the earlier ones.
            wave.extend(open.iter().find(|&&index| reads_any(index)).or(open.first()));
        }
        for index in wave {
            let resource = &self.task.resources[index];
            let mut unknown = self.unknown();
            if self.task.has_lifecycle() {
                // Discoveries that read each other wait for each other, and stay unknown.
                unknown.extend(self.awaited(index, &open));
            }
            let rendered = reads::check(&reads::of_query(resource), &unknown);
            let rendered =
                rendered.and_then(|()| query::of_resource(resource, scope).map_err(|error| error.to_string()));
            match rendered {
                Ok(query) => {
                    self.slots[index].query = Some(query.clone());
                    needed.push(Read { resource: index, query });
                }
                Err(error) => {
                    let cause = format!("failed to render its discovery: {error}");
                    self.slots[index].observation = Some(Observation::Unknown(cause));
                }
            }
        }
        if needed.is_empty() && self.slots.iter().any(|slot| slot.observation.is_none()) {
            return self.reads(scope);
        }
        if open.is_empty() {
            self.reads_of_former_places(scope, &mut needed);
        }
        needed
    }

    /// The names in `resources` that the discovery of a resource reads, and that belong to one of the other `open`
    /// resources, which were not read yet. Empty for a discovery that can read any name.
    fn awaited(&self, index: usize, open: &[usize]) -> BTreeSet<&'t str> {
        let task = self.task;
        let read = reads::of_query(&task.resources[index]);
        if read.is_any() {
            return BTreeSet::new();
        }
        let others = open.iter().filter(|&&other| other != index).map(|&other| &task.resources[other]);
        others
            .flat_map(|resource| {
                let nested = resource.nested.iter().map(|nested| nested.name.as_str());
                iter::once(resource.name.as_str()).chain(nested)
            })
            .filter(|name| read.has(name))
            .collect()
    }

    /// Adds the second query of each resource that can be disowned and of which no owned object was found: by
    /// the label `hyperfleet.io/disowned`. Disowning removes the labels of the first query, and a disowned
    /// object must not be created again.
    fn reads_by_mark(&mut self, needed: &mut Vec<Read>) {
        // If the resource id cannot be a label value, no object has it as its label `hyperfleet.io/disowned`,
        // and the server would refuse the query.
        if !is_label_value(&self.stamp.resource_id) {
            return;
        }
        for (index, resource) in self.task.resources.iter().enumerate().skip(self.position()) {
            let slot = &self.slots[index];
            if resource.gates.orphan.is_none() || slot.knows_disowned || !self.finds_nothing(index) {
                continue;
            }
            if let Some(query) = &slot.query {
                let mark = (keys::DISOWNED.to_owned(), self.stamp.resource_id.clone());
                let by = QueryBy::Labels([mark].into());
                needed.push(Read { resource: index, query: Query { by, ..query.clone() } });
            }
        }
    }

    /// Whether the resource was read, and none of the found objects is certain to be its own.
    fn finds_nothing(&self, index: usize) -> bool {
        let Slot { query: Some(query), observation: Some(Observation::Found(versions)), .. } = &self.slots[index]
        else {
            return false;
        };
        let criteria = self.criteria(index, None);
        versions.iter().all(|version| criteria.classify(query, version) != Owned::Yes)
    }

    /// Receives the result of one read.
    pub fn observe(&mut self, scope: &mut Scope, resource: usize, observation: Observation) {
        let is_search = matches!(self.slots[resource].former, Former::Asked);
        let observation = match (observation, self.slots[resource].observation.take()) {
            (answer, Some(Observation::Found(found))) if is_search => self.former_found(resource, answer, found),
            // The second read: its objects are added to those of the first.
            (Observation::Found(marked), Some(Observation::Found(mut found))) => {
                let criteria = self.criteria(resource, None);
                for version in marked.into_iter().filter(|version| criteria.has_disowned(version)) {
                    put(&mut found, version);
                }
                self.slots[resource].knows_disowned = true;
                Observation::Found(found)
            }
            (Observation::Forbidden(cause), _) => Observation::Unknown(cause),
            (observation, _) => observation,
        };
        self.slots[resource].observation = Some(observation);
        if self.task.has_lifecycle() {
            self.publish(resource, scope);
        }
    }
}
