//! Reads the members: where they can be, and what was found there.
//!
//! In: what the set remembers, and the answers of the lists. Out: the [`FoundMembers`]. Fails: if a list failed without which nobody
//! knows what the set has.

use std::collections::BTreeMap;

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::observation::{Observation, Query, QueryBy, Version};
use lifecycle_objects::type_pattern::TypePattern;
use serde_json::Value;

use crate::member::Rendered;
use crate::memory::Remembering;
use crate::setting::Setting;
use crate::table::Intent;

/// What to do if the members of a bundle that is to go can never be listed, for a kind that Kubernetes does not serve itself.
const GONE_FOR_GOOD: &str = "; nothing goes before this is known; if an APIService names a server for this kind that is gone for good, \
                             delete the APIService";

/// What the lists of a bundle's kinds found.
#[derive(Debug, Default)]
pub(super) struct FoundMembers {
    /// The objects with the set's label.
    pub(super) versions: Vec<Version>,
    /// The kinds that could not be listed, with the cause, although the bundle may go on: a server serves them that the bundle
    /// itself keeps, and may have to repair. Their objects wait, and nothing is removed.
    pub(super) unread: BTreeMap<GroupKind, String>,
}

/// The lists of the members.
pub(super) fn queries(setting: &Setting<'_>, memory: &Remembering) -> Vec<Query> {
    let query = |(kind, namespace)| Query {
        destination: setting.destination.clone(),
        kind,
        namespace,
        by: QueryBy::Labels(setting.marks.selector().clone()),
    };
    memory.places().into_iter().map(query).collect()
}

/// Takes the answers of the lists.
pub(super) fn read(
    queries: &[Query],
    observations: Vec<Observation>,
    rendered: &[Rendered],
    intent: Intent,
) -> Result<FoundMembers, Failure> {
    let mut found = FoundMembers::default();
    let mut observations = observations.into_iter();
    for Query { kind, .. } in queries {
        match observations.next() {
            Some(Observation::Found(versions)) => found.versions.extend(versions),
            Some(Observation::Unknown(cause) | Observation::Forbidden(cause)) if serves(rendered, kind) => {
                found.unread.insert(GroupKind::new(&kind.group, &kind.kind), cause);
            }
            Some(Observation::Unknown(cause) | Observation::Forbidden(cause)) => {
                let may_be_gone = intent != Intent::Apply && is_namespaced(kind).is_none();
                let cure = if may_be_gone { GONE_FOR_GOOD } else { "" };
                let message = format!("failed to list the bundle's objects of the kind {kind}: {cause}{cure}");
                return Err(Failure::new(FailReason::DiscoveryFailed, message));
            }
            None => return Err(Failure::new(FailReason::DiscoveryFailed, "the members were not read")),
        }
    }
    Ok(found)
}

/// Whether a wanted API service has a server of the bundle serve this kind, or a wanted definition has one convert it. While that
/// server is away, the bundle is not: it may hold what repairs the server.
fn serves(rendered: &[Rendered], kind: &GroupVersionKind) -> bool {
    let kind = GroupKind::new(&kind.group, &kind.kind);
    let is_converted = |object: &Value| object.pointer("/spec/conversion/strategy").is_some_and(|it| it == "Webhook");
    let is_served = |it: &&Rendered| it.identity.kind.is_api_service() || is_converted(&it.draft.object);
    rendered.iter().filter(is_served).any(|rendered| {
        TypePattern::introduced_by(&rendered.identity.kind, &rendered.draft.object)
            .is_some_and(|types| types.matches(&kind))
    })
}
