//! Lists every kind that the API server serves, or every kind of one group.
//!
//! In: the server's lists of groups and of kinds. Out: each kind once. Fails: with one error for each group
//! and version whose kinds cannot be read; the others are returned. Sends one request for `/api`, one for
//! `/apis`, and one for each group and version; for one group, one for the group and one for each version.

use std::collections::BTreeSet;

use futures::{StreamExt as _, stream};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ServedKind, ServedKinds, read_kinds};
use crate::call::{Call, Verb};
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
    pub error: WriteError,
}

impl UnreadGroup {
    /// What to do about it, to add to an error text; empty if the error says it.
    pub(crate) fn cure(&self) -> &'static str {
        if self.error.kind == WriteErrorKind::Unavailable {
            "; repair the API server that serves this group, or delete its APIService"
        } else if self.error.kind == WriteErrorKind::Forbidden {
            "; bind the ClusterRole `system:discovery` to the account"
        } else {
            ""
        }
    }
}

/// Reads the kinds of every group and version, and passes each list to `remember`.
///
/// # Errors
///
/// The list of groups cannot be read.
pub(super) async fn discover(
    sender: &Sender,
    remember: impl Fn(String, &ServedKinds),
) -> Result<Discovery, WriteError> {
    let mut group_versions = core_versions(sender).await?;
    group_versions.extend(named_versions(sender).await?);
    Ok(read_all(sender, &group_versions, remember).await)
}

/// Reads the kinds of every version of one group, and passes each list to `remember`. Finds none if the server does not serve
/// the group.
///
/// # Errors
///
/// The list of versions cannot be read.
pub(super) async fn discover_group(
    sender: &Sender,
    group: &str,
    remember: impl Fn(String, &ServedKinds),
) -> Result<Discovery, WriteError> {
    let group_versions = match group {
        "" => core_versions(sender).await?,
        group => match read::<Group>(sender, &request::group_path(group)).await {
            Ok(group) => preferred_first(group).collect(),
            Err(error) if error.kind == WriteErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        },
    };
    Ok(read_all(sender, &group_versions, remember).await)
}

async fn read_all(
    sender: &Sender,
    group_versions: &[GroupVersionKind],
    remember: impl Fn(String, &ServedKinds),
) -> Discovery {
    // Collected, because the compiler cannot prove that a future with a closure in it is `Send`. None starts yet.
    let lookups: Vec<_> = group_versions.iter().map(|version| read_version(sender, version)).collect();
    let read = stream::iter(lookups).buffered(AT_ONCE);

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
    found
}

async fn read_version<'v>(
    sender: &Sender,
    version: &'v GroupVersionKind,
) -> (&'v GroupVersionKind, Result<ServedKinds, WriteError>) {
    (version, read_kinds(sender, version).await)
}

#[derive(Deserialize)]
struct CoreVersions {
    versions: Vec<String>,
}

async fn core_versions(sender: &Sender) -> Result<Vec<GroupVersionKind>, WriteError> {
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
async fn named_versions(sender: &Sender) -> Result<Vec<GroupVersionKind>, WriteError> {
    let list: Groups = read(sender, "/apis").await?;
    Ok(list.groups.into_iter().flat_map(preferred_first).collect())
}

fn preferred_first(group: Group) -> impl Iterator<Item = GroupVersionKind> {
    let (first, others): (Vec<_>, Vec<_>) =
        group.versions.into_iter().partition(|version| Some(version) == group.preferred_version.as_ref());
    first.into_iter().chain(others).map(|version| GroupVersionKind::new(&version.group_version, ""))
}

async fn read<T: DeserializeOwned>(sender: &Sender, path: &str) -> Result<T, WriteError> {
    let object = ObjectRef::all(GroupVersionKind::new("", ""), None);
    let call = Call { verb: Verb::Discover, object: &object };
    let discover = || format!("discover the groups under {path}");
    let answer = sender.send(&call, request::get(path)).await;
    let answer = answer.map_err(|refusal| WriteError { call: discover(), ..refusal.into_error(&call) })?;
    serde_json::from_value(answer).map_err(|error| WriteError {
        kind: WriteErrorKind::Unavailable,
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
