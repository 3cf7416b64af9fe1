//! Lists every kind that the API server serves.
//!
//! In: the server's lists of groups and of kinds. Out: each kind once. Fails: with one error for each group
//! and version whose kinds cannot be read; the others are returned. Sends one request for `/api`, one for
//! `/apis`, and one for each group and version.

use std::collections::BTreeSet;

use futures::{StreamExt as _, stream};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::object_ref::ObjectRef;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ServedKind, ServedKinds, read_kinds};
use crate::call::{Call, Verb};
use crate::error::{Error, ErrorKind};
use crate::request;
use crate::sender::Sender;

/// How many groups and versions are read concurrently. A cluster has dozens; eight requests at a time do not
/// load it.
const AT_ONCE: usize = 8;

/// The result of a discovery: the kinds that the server serves, and the errors of those that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// Each kind once, in the version that the server prefers among those with this kind. A kind that two
    /// groups serve, such as `Event`, is listed for each group, and both list the same objects.
    pub kinds: Vec<ServedKind>,
    /// Each group and version whose kinds could not be read. Objects of these kinds may exist.
    pub unread: Vec<UnreadGroup>,
}

/// A group and version whose kinds could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadGroup {
    /// The API group; empty for the core group.
    pub group: String,
    /// Why.
    pub error: Error,
}

/// Reads the kinds of every group and version, and passes each list to `remember`.
///
/// # Errors
///
/// The list of groups cannot be read.
pub(super) async fn discover(sender: &Sender, remember: impl Fn(String, &ServedKinds)) -> Result<Discovery, Error> {
    let mut group_versions = core_versions(sender).await?;
    group_versions.extend(named_versions(sender).await?);
    let read = stream::iter(&group_versions).map(async |kind| (kind, read_kinds(sender, kind).await)).buffered(AT_ONCE);

    let mut seen = BTreeSet::new();
    let mut found = Discovery { kinds: Vec::new(), unread: Vec::new() };
    for (version, kinds) in read.collect::<Vec<_>>().await {
        match kinds {
            Ok(kinds) => {
                remember(version.api_version(), &kinds);
                let new =
                    kinds.iter().filter(|served| seen.insert((served.kind.group.clone(), served.kind.kind.clone())));
                found.kinds.extend(new.cloned());
            }
            Err(error) => found.unread.push(UnreadGroup { group: version.group.clone(), error }),
        }
    }
    Ok(found)
}

#[derive(Deserialize)]
struct CoreVersions {
    versions: Vec<String>,
}

async fn core_versions(sender: &Sender) -> Result<Vec<GroupVersionKind>, Error> {
    let core: CoreVersions = read(sender, "/api").await?;
    Ok(core.versions.iter().map(|version| GroupVersionKind::new(version, "")).collect())
}

#[derive(Deserialize)]
struct Groups {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    versions: Vec<GroupVersion>,
    preferred_version: Option<GroupVersion>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
}

/// Returns the versions of all named groups; of each group, the preferred version first.
async fn named_versions(sender: &Sender) -> Result<Vec<GroupVersionKind>, Error> {
    let list: Groups = read(sender, "/apis").await?;
    let versions = list.groups.into_iter().flat_map(|group| {
        let (mut first, others): (Vec<_>, Vec<_>) =
            group.versions.into_iter().partition(|version| Some(version) == group.preferred_version.as_ref());
        first.extend(others);
        first
    });
    Ok(versions.map(|version| GroupVersionKind::new(&version.group_version, "")).collect())
}

async fn read<T: DeserializeOwned>(sender: &Sender, path: &str) -> Result<T, Error> {
    let object = ObjectRef::all(GroupVersionKind::new("", ""), None);
    let call = Call { verb: Verb::Discover, object: &object };
    let discover = || format!("discover the groups under {path}");
    let answer = sender.send(&call, request::get(path)).await;
    let answer = answer.map_err(|refusal| Error { call: discover(), ..refusal.into_error(&call) })?;
    serde_json::from_value(answer).map_err(|error| Error {
        kind: ErrorKind::Unavailable,
        call: discover(),
        status: Some(200),
        message: format!("the list of groups: {error}"),
    })
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

/// Reads the list of kinds of the group and version of `kind`.
///
/// Leaves out subresources (`deployments/scale`), which the server lists beside the resources.
pub(super) fn kinds_of(kind: &GroupVersionKind, list: Value) -> serde_json::Result<Vec<ServedKind>> {
    let list: ResourceList = serde_json::from_value(list)?;
    let (subresources, resources): (Vec<_>, Vec<_>) =
        list.resources.into_iter().partition(|resource| resource.name.contains('/'));
    let has_status = |plural: &str| subresources.iter().any(|other| other.name.strip_suffix("/status") == Some(plural));
    Ok(resources
        .into_iter()
        .map(|resource| ServedKind {
            kind: GroupVersionKind { kind: resource.kind, ..kind.clone() },
            has_status: has_status(&resource.name),
            plural: resource.name,
            namespaced: resource.namespaced,
            verbs: resource.verbs,
        })
        .collect())
}
