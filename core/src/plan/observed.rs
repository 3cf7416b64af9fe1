//! The reading half of the plan: which queries to send, and what their answers make visible.

use super::Planner;
use super::decide::current;
use crate::observation::{Observation, Query, QueryBy, Version};
use crate::scope::Scope;
use crate::task::{DiscoverBy, Discovery};
use crate::template::{RenderError, Template};

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
    pub fn next_queries(&mut self, scope: &Scope) -> Vec<Wanted> {
        let open = |planner: &Self, index: usize| planner.slots[index].observation.is_none();
        let mut wave: Vec<usize> = (0..self.slots.len())
            .filter(|&index| open(self, index) && !reads_resources(&self.task.resources[index].discovery))
            .collect();
        if wave.is_empty() {
            wave.extend((0..self.slots.len()).find(|&index| open(self, index)));
        }
        let mut wanted = Vec::new();
        for index in wave {
            let resource = &self.task.resources[index];
            match query(&resource.discovery, resource.kind.clone(), scope) {
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
            return self.next_queries(scope);
        }
        wanted
    }

    /// Takes the answer to one read.
    pub fn observe(&mut self, scope: &mut Scope, resource: usize, observation: Observation) {
        self.slots[resource].observation = Some(observation);
        if self.task.has_lifecycle() {
            self.publish(resource, scope);
        }
    }

    /// Makes what was observed of a resource visible as `resources.<name>`.
    pub(super) fn publish(&self, resource: usize, scope: &mut Scope) {
        if let Some(Observation::Found(versions)) = &self.slots[resource].observation {
            let object = self.visible(resource, versions).map(|version| version.object().clone());
            scope.set_member("resources", &self.task.resources[resource].name, object);
        }
    }

    /// The version that expressions see: the current one of those that belong, else the latest that was found.
    pub(super) fn visible<'v>(&self, resource: usize, versions: &'v [Version]) -> Option<&'v Version> {
        let query = self.slots[resource].query.as_ref()?;
        let claim = self.claim(&self.task.resources[resource], None);
        let ours = versions.iter().filter(|version| claim.covers(query, version));
        match current(ours, self.stamp.generation) {
            Some(chosen) => Some(chosen),
            None => versions.iter().max_by(|a, b| a.generation().cmp(&b.generation()).then(b.name().cmp(a.name()))),
        }
    }
}

fn reads_resources(discovery: &Discovery) -> bool {
    let reads =
        |template: &Template| template.variables().iter().any(|path| path.split('.').next() == Some("resources"));
    discovery.namespace.as_ref().is_some_and(reads)
        || match &discovery.by {
            DiscoverBy::Name(name) => reads(name),
            DiscoverBy::Labels(labels) => labels.iter().any(|(key, value)| reads(key) || reads(value)),
        }
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
