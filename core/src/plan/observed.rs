//! The reading half of the plan: which queries to send, and what their answers make visible.

use super::{Place, Planner, Slot, reads};
use crate::belonging::{Belongs, could_find};
use crate::keys;
use crate::manifest::is_label_value;
use crate::observation::{Observation, Query, QueryBy, Version};
use crate::scope::Scope;
use crate::task::{DiscoverBy, Discovery};
use crate::template::RenderError;

/// A read that the plan needs, and for which resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The resource's place in the task's list.
    pub resource: usize,
    /// What to read.
    pub query: Query,
}

impl Planner<'_> {
    /// The reads that can be sent now, all at once; none when everything was observed.
    ///
    /// Discoveries that read `resources.…` wait until what they read was observed.
    pub(super) fn queries(&mut self, scope: &Scope) -> Vec<Wanted> {
        let mut wanted: Vec<Wanted> =
            (self.position..self.slots.len()).filter_map(|index| self.query_for_whole(index)).collect();
        self.queries_for_disowned(&mut wanted);
        if !wanted.is_empty() {
            return wanted;
        }
        let open = |planner: &Self, index: usize| planner.slots[index].observation.is_none();
        let mut wave: Vec<usize> = (0..self.slots.len())
            .filter(|&index| open(self, index) && reads::of_discovery(&self.task.resources[index].discovery).is_empty())
            .collect();
        if wave.is_empty() {
            wave.extend((0..self.slots.len()).find(|&index| open(self, index)));
        }
        for index in wave {
            let resource = &self.task.resources[index];
            let rendered = reads::of_discovery(&resource.discovery).check(&self.unknown()).and_then(|()| {
                query(&resource.discovery, resource.kind.clone(), scope).map_err(|error| error.to_string())
            });
            match rendered {
                Ok(query) => {
                    self.slots[index].query = Some(query.clone());
                    wanted.push(Wanted { resource: index, query });
                }
                Err(error) => {
                    let cause = format!("failed to render its discovery: {error}");
                    self.slots[index].observation = Some(Observation::Unknown(cause));
                }
            }
        }
        if wanted.is_empty() && self.slots.iter().any(|slot| slot.observation.is_none()) {
            return self.queries(scope);
        }
        wanted
    }

    /// What was released is no longer found by the labels that the release took off. So where nothing was found that
    /// belongs to a resource that can be released, the mark is looked for, once: what was let go must not be created again.
    fn queries_for_disowned(&mut self, wanted: &mut Vec<Wanted>) {
        // Nothing can have been released for what cannot be the value of a label, and no server would look for it.
        if !is_label_value(&self.stamp.resource_id) {
            return;
        }
        for (index, resource) in self.task.resources.iter().enumerate().skip(self.position) {
            let slot = &self.slots[index];
            let is_open = !slot.knows_disowned && slot.awaited.is_none();
            if resource.gates.orphan.is_none() || !is_open || !self.finds_nothing(index) {
                continue;
            }
            if let Some(query) = &slot.query {
                let mark = (keys::DISOWNED.to_owned(), self.stamp.resource_id.clone());
                let by = QueryBy::Labels([mark].into());
                wanted.push(Wanted { resource: index, query: Query { by, ..query.clone() } });
            }
        }
    }

    /// The read of a version that is needed whole.
    pub(super) fn query_for_whole(&self, index: usize) -> Option<Wanted> {
        let (namespace, name) = self.slots[index].awaited.clone()?;
        let query = Query {
            kind: self.task.resources[index].kind.clone(),
            namespace: Some(namespace).filter(|namespace| !namespace.is_empty()),
            by: QueryBy::Name(name),
        };
        Some(Wanted { resource: index, query })
    }

    /// Whether the resource was read, and nothing found that is its own for certain.
    fn finds_nothing(&self, index: usize) -> bool {
        let Slot { query: Some(query), observation: Some(Observation::Found(versions)), .. } = &self.slots[index]
        else {
            return false;
        };
        let claim = self.claim(index, None);
        versions.iter().all(|version| claim.covers(query, version) != Belongs::Yes)
    }

    /// Takes the answer to one read.
    pub fn observe(&mut self, scope: &mut Scope, resource: usize, observation: Observation) {
        let slot = &mut self.slots[resource];
        let (known, awaited) = (slot.observation.take(), slot.awaited.take());
        let was_awaited = awaited.is_some();
        if known.is_none() {
            self.read.push(resource);
        }
        let observation = match (observation, known, awaited) {
            // A version that was needed whole: it may have changed since, or gone.
            (Observation::Found(whole), Some(Observation::Found(mut found)), Some(place)) => {
                let now = whole.into_iter().find(|version| self.still_finds(resource, version));
                replace(&mut found, &place, now);
                Observation::Found(found)
            }
            // The second read: what it found comes to what the first one did.
            (Observation::Found(marked), Some(Observation::Found(mut found)), None) => {
                let claim = self.claim(resource, None);
                for version in marked.into_iter().filter(|version| claim.released(version)) {
                    put(&mut found, version);
                }
                self.slots[resource].knows_disowned = true;
                Observation::Found(found)
            }
            (observation, ..) => observation,
        };
        self.slots[resource].observation = Some(observation);
        if !self.task.has_lifecycle() {
            return;
        }
        if was_awaited && !self.decides {
            self.publish_again(scope);
        } else {
            self.publish(resource, scope);
        }
    }

    /// Makes everything visible once more, in the order in which it was read: what was read later may have been looked at while an
    /// earlier resource was not there to be seen. Nothing is, until every version that is needed is here whole.
    fn publish_again(&mut self, scope: &mut Scope) {
        if self.slots.iter().any(|slot| slot.awaited.is_some()) {
            return;
        }
        let read = self.read.clone();
        for &index in &read {
            scope.set_member("resources", &self.task.resources[index].name, None);
        }
        for index in read {
            self.publish(index, scope);
        }
    }

    /// Whether discovery would find an object now, by what it looks for or by the mark of what was released.
    fn still_finds(&self, index: usize, version: &Version) -> bool {
        let query = self.slots[index].query.as_ref();
        query.is_some_and(|query| could_find(query, version)) || self.claim(index, None).released(version)
    }
}

/// Puts what became of the version at a place where it was; there is one object of a name, however often a list has it.
fn replace(versions: &mut Vec<Version>, (namespace, name): &Place, now: Option<Version>) {
    let mut now = Some(now);
    versions.retain_mut(|known| {
        if (known.namespace(), known.name()) != (namespace, name) {
            return true;
        }
        match now.take().flatten() {
            Some(version) => {
                *known = version;
                true
            }
            None => false,
        }
    });
}

/// Puts a version among those known, in place of what was known of the same object.
pub(super) fn put(versions: &mut Vec<Version>, version: Version) {
    versions.retain(|known| (known.namespace(), known.name()) != (version.namespace(), version.name()));
    versions.push(version);
}

/// Renders a discovery.
pub(super) fn query(
    discovery: &Discovery,
    kind: crate::id::GroupVersionKind,
    scope: &Scope,
) -> Result<Query, RenderError> {
    let namespace = match &discovery.namespace {
        Some(namespace) => Some(namespace.render(scope)?.into_owned()).filter(|namespace| !namespace.is_empty()),
        None => None,
    };
    let by = match &discovery.by {
        DiscoverBy::Name(name) => QueryBy::Name(name.render(scope)?.into_owned()),
        DiscoverBy::Labels(labels) => QueryBy::Labels(
            labels
                .iter()
                .map(|(key, value)| Ok((key.render(scope)?.into_owned(), value.render(scope)?.into_owned())))
                .collect::<Result<_, RenderError>>()?,
        ),
    };
    Ok(Query { kind, namespace, by })
}
