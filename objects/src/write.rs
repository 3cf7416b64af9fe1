//! Commands that the planner gives to the executor, and their results.

use serde_json::Value;

use crate::destination::Destination;
use crate::id::GroupVersionKind;
use crate::observation::Version;

/// A write, or a short fenced sequence of writes, for one resource.
///
/// The executor carries a command out once, in order: it makes no choices and never retries.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// POST the object. If the name is taken, read the object of that name and return
    /// [`Executed::NameTaken`].
    Create {
        /// The destination in which the object is created.
        destination: Destination,
        /// The rendered manifest with the adapter's labels and annotation: the object to send.
        desired: Value,
    },
    /// Write the fields of an object that exists, in the way of the mode.
    Update {
        /// The stamped object, without `metadata.uid`.
        desired: Value,
        /// Which fields of others the write keeps.
        mode: UpdateMode,
        /// The live object to update. The API server refuses the write if another object took its place.
        target: Target,
        /// The live object, because a transport may have to migrate its managed fields first.
        live: Version,
    },
    /// Send a dry-run POST, which the server must accept or answer with "already exists"; then delete the
    /// targets, the last one only if the server refused no other; then, if all are gone, POST the object.
    Recreate {
        /// The destination in which the object is created.
        destination: Destination,
        /// The rendered manifest with the adapter's labels and annotation: the object to create.
        desired: Value,
        /// The objects to delete before the creation.
        targets: Vec<Target>,
    },
    /// Delete every target, each with its fence. A target that is already gone counts as deleted.
    Delete {
        /// The live objects to delete, all of the same resource.
        targets: Vec<Target>,
        /// What the API server does with the dependents of the deleted objects.
        propagation: PropagationPolicy,
    },
    /// Send the JSON merge patches (RFC 7396) in order, each fenced by the resource version that the one
    /// before returned. Stop at the first failure.
    Patch {
        /// The fence of the first patch.
        target: Target,
        /// The patches; at least one.
        documents: Vec<Value>,
    },
    /// Send the patches of all former objects at the same time; if none failed, send the patch of the last
    /// one. An object that is already gone counts as disowned.
    Disown {
        /// The objects that are disowned first.
        former: Vec<Disowning>,
        /// The object that is disowned once all former ones are.
        last: Disowning,
    },
}

/// How an update treats the fields that others set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpdateMode {
    /// Forced server-side apply as the adapter's field manager: takes the fields of the manifest, and keeps all other
    /// fields that others set.
    #[default]
    Apply,
    /// [`Apply`](Self::Apply), after the fields of kubectl's field managers became the adapter's: so the apply removes those
    /// that the manifest lacks, too.
    ApplyOverride,
    /// A PUT of the live object with the fields of the manifest, without those that only an earlier manifest had; finalizers
    /// stay. Fields of others stay. An object that has all of the manifest already is not written.
    Replace,
    /// The object that is stored, once more, as a new version: only for works of remote clusters.
    Resend,
}

/// One live object to disown, with the patch that disowns it.
#[derive(Debug, Clone, PartialEq)]
pub struct Disowning {
    /// The live object to disown. The API server refuses the patch if another object took its place.
    pub target: Target,
    /// The JSON merge patch that removes the adapter's labels and adds the label `disowned`.
    pub patch: Value,
}

/// The fenced reference to one live object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The destination in which the object lives: this cluster, or a Maestro consumer.
    pub destination: Destination,
    /// The object's API group, version and kind.
    pub kind: GroupVersionKind,
    /// The object's namespace; none for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The object's UID: the API server refuses the write if another object has the same name by now.
    pub uid: String,
    /// Its resource version when it was read; empty if unknown. The API server refuses a write or deletion if
    /// the object changed since, because the decision was made about an older state.
    pub resource_version: String,
}

impl Target {
    /// The fence of a write to `version`, an object of this kind.
    #[must_use]
    pub fn of(version: &Version, kind: &GroupVersionKind, destination: &Destination) -> Self {
        Self {
            destination: destination.clone(),
            kind: kind.clone(),
            namespace: Some(version.namespace().to_owned()).filter(|namespace| !namespace.is_empty()),
            name: version.name().to_owned(),
            uid: version.uid().to_owned(),
            resource_version: version.resource_version().to_owned(),
        }
    }
}

/// The result of a [`Command`].
#[derive(Debug, Clone, PartialEq)]
pub enum Executed {
    /// The object was created, as the server returned it.
    Created(Value),
    /// The name is taken by this object, or by one that was gone when read back.
    NameTaken(Option<Value>),
    /// The object was updated, as the server returned it.
    Updated(Value),
    /// The targets are gone and the object was created, as the server returned it.
    Recreated(Value),
    /// The targets are gone, but the object was not created.
    DeletedNotCreated(NotCreated),
    /// Deletion began, but these targets still exist.
    Deleting(Vec<Version>),
    /// Every target of the deletion is gone.
    Deleted,
    /// Some targets were not deleted. Deletions of other targets are not undone.
    DeleteFailed {
        /// The targets whose deletion began and which still exist.
        remaining: Vec<Version>,
        /// The targets that were not deleted, with the errors; at least one.
        failures: Vec<(Target, WriteError)>,
    },
    /// Every patch was accepted; the object as the server returned it last.
    Patched(Value),
    /// A patch failed, and the ones after it were not sent.
    PatchFailed {
        /// The object as the patch before returned it, if there was one.
        object: Option<Value>,
        /// Why the API server did not accept the failed patch.
        error: WriteError,
    },
    /// Every object that still existed was disowned; the objects as the server returned them, the last one at
    /// the end.
    Disowned(Vec<Version>),
    /// Some objects were not disowned. Patches of other objects are not undone.
    DisownFailed {
        /// The targets that were not disowned, with the errors; at least one.
        failures: Vec<(Target, WriteError)>,
    },
    /// The command failed at its first request, so no later one was sent.
    Failed(WriteError),
}

/// What a deletion led to that the server accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// The object is gone.
    Gone,
    /// The object still exists: its finalizers, its dependents, or the agent of its cluster have to act first. Holds the object.
    Pending(Value),
}

/// Why a recreation did not create its object.
#[derive(Debug, Clone, PartialEq)]
pub enum NotCreated {
    /// The name is taken by this object, or by one that was gone when read back.
    NameTaken(Option<Value>),
    /// The API server did not accept the creation.
    Failed(WriteError),
}

/// A request that failed, of a read or of a write: the server refused it, its answer was lost, or it was never sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to {call}: {message}")]
pub struct WriteError {
    /// The kind of failure, by which callers decide and report.
    pub kind: WriteErrorKind,
    /// The request: verb, kind, namespace and name, such as `create ConfigMap team-a/settings`.
    pub call: String,
    /// The HTTP status, if the server answered.
    pub status: Option<u16>,
    /// The error message of the server or of the network.
    pub message: String,
}

impl WriteError {
    /// The error and the HTTP status behind it, for reports whose readers do not see the requests.
    #[must_use]
    pub fn with_status(&self) -> String {
        // The message of a failed read, or of an answer without one, says the status itself.
        let unsaid = self.status.filter(|status| !self.message.contains(&format!("HTTP status {status}")));
        let status = unsaid.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        format!("{self}{status}")
    }

    /// What to do about it, for people.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        let is_one = |kind: &&str| self.call.split(' ').any(|word| word == *kind);
        let takes_others_along = TAKING_OTHERS_ALONG.iter().any(is_one);
        if self.call.starts_with(DRY_RUN) && OCCUPIED.iter().any(|part| self.message.contains(part)) {
            return match takes_others_along || is_one(&"PersistentVolumeClaim") {
                true => {
                    "the dry run before a recreation still counts the object that is to go: free what the message names"
                }
                false => {
                    "the dry run before a recreation still counts the object that is to go: free what the message names; or, if what \
                     the object frees is enough, delete it by hand, and the next event creates it"
                }
            };
        }
        if self.kind == WriteErrorKind::Invalid && takes_others_along {
            return "correct what the message names; do not delete the object for that, since what it contains would go with it";
        }
        if self.kind == WriteErrorKind::Invalid && self.message.contains(NOT_BASE64) {
            return "write plain text under `stringData` of a Secret and `data` of a ConfigMap, or encode it: `| b64enc`";
        }
        self.kind.cure()
    }
}

/// The call that checks a recreation before anything is deleted.
const DRY_RUN: &str = "dry-run the creation of ";

/// What the server says of a port, an address or a quota that others take up; in a dry run, the object that is to be recreated may.
const OCCUPIED: [&str; 3] =
    ["provided port is already allocated", "provided IP is already allocated", "exceeded quota"];

/// What the server says of `data` of a Secret, or `binaryData` of a ConfigMap, that is not encoded. It does not name the key.
const NOT_BASE64: &str = "illegal base64 data";

/// The kinds of objects with which others go.
const TAKING_OTHERS_ALONG: [&str; 3] = ["CustomResourceDefinition", "Namespace", "APIService"];

/// The kinds of failure that lead to different decisions or reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteErrorKind {
    /// 404: the server does not serve the path or the kind. An absent object is no error: its read finds nothing, and its deletion
    /// succeeds.
    NotFound,
    /// 404: the namespace of the object does not exist.
    NamespaceMissing,
    /// 410: the list's continue token expired; the caller must list again from the first page.
    Expired,
    /// 409 with the reason `AlreadyExists`: an object of this name exists.
    AlreadyExists,
    /// 409 Conflict, or 422 that names `metadata.uid`: the live object has another UID or resource version than the one that was
    /// read.
    Conflict,
    /// 400 and 422: the server does not accept the object. Or the request was not sent, because it lacks a namespace or a fence.
    Invalid,
    /// Admission denied the object: a policy, a webhook or a quota.
    Denied,
    /// The namespace of the object to create is terminating, and takes no new objects until it is gone.
    NamespaceTerminating,
    /// 401 and 403: the server does not accept the credentials, or does not allow the request.
    Forbidden,
    /// 429: the server refuses the request for now, to limit its load.
    TooManyRequests,
    /// 5xx, or a successful answer that is not the requested object. The server may have carried the request out.
    Unavailable,
    /// No complete answer: the connection was refused, reset or cut. The server may have carried the request out.
    Unreachable,
    /// The event's deadline passed before the server answered. The server may have carried the request out.
    DeadlineExceeded,
}

impl WriteErrorKind {
    /// What to do about it, for people. The server's message, which stands before it, names the field, the rule or the right.
    #[must_use]
    pub fn cure(self) -> &'static str {
        match self {
            Self::NotFound | Self::NamespaceMissing | Self::Expired => {
                "if somebody deleted it, the next event decides anew; else install the definition of its kind, or create its namespace"
            }
            Self::AlreadyExists => "rename it, or delete the object that has its name",
            Self::Conflict => {
                "the next event decides anew; if this lasts, look who else writes the object: \
                 `kubectl get --output yaml --show-managed-fields`"
            }
            Self::Invalid => {
                "correct what the message names; a field that cannot be changed takes a new object: `update-policy: recreate` \
                 in a bundle, `recreate_on_change` or `lifecycle.recreate` in an entry"
            }
            Self::Denied => {
                "the cluster's administrators set this rule: write an object that meets it, or ask them for an exception"
            }
            Self::NamespaceTerminating => {
                "wait until the namespace is gone; if it stays, see which objects in it have finalizers: the conditions in its \
                 status name them"
            }
            Self::Forbidden => "give the adapter this right, or look at its credentials",
            Self::TooManyRequests => "let the adapter send fewer requests, or the server take more",
            Self::Unavailable => "look at the server, its webhooks, and proxies in front of it",
            Self::Unreachable => "look at network, DNS and certificates between adapter and server",
            Self::DeadlineExceeded => "look which server is slow; give an event more time only if none is",
        }
    }
}

/// Kubernetes' deletion propagation policies: what becomes of the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PropagationPolicy {
    /// The API server deletes the object at once, and the dependents afterwards.
    #[default]
    Background,
    /// The API server deletes the dependents, then the object.
    Foreground,
    /// The API server keeps the dependents.
    Orphan,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_said_once() {
        let cases = [
            ("a write", Some(500), "no", "failed to get Job a/b: no (HTTP 500)"),
            ("a read", Some(500), "no (HTTP status 500)", "failed to get Job a/b: no (HTTP status 500)"),
            ("an empty answer", Some(502), "HTTP status 502", "failed to get Job a/b: HTTP status 502"),
            ("another status", Some(500), "HTTP status 502", "failed to get Job a/b: HTTP status 502 (HTTP 500)"),
            ("no answer", None, "timeout", "failed to get Job a/b: timeout"),
        ];
        for (name, status, message, expected) in cases {
            let (kind, call, message) = (WriteErrorKind::Unavailable, "get Job a/b".to_owned(), message.to_owned());
            assert_eq!(WriteError { kind, call, status, message }.with_status(), expected, "{name}");
        }
    }

    #[test]
    fn cure_of_wrong_base64_names_the_field_for_plain_text() {
        for (kind, is_named) in [(WriteErrorKind::Invalid, true), (WriteErrorKind::Denied, false)] {
            let message = "error decoding from json: illegal base64 data at input byte 3".to_owned();
            let error = WriteError { kind, call: "apply Secret team/a".to_owned(), status: Some(500), message };
            assert_eq!(error.cure().contains("`stringData`"), is_named, "{kind:?}");
        }
    }

    #[test]
    fn cure_of_a_recreation_says_what_its_dry_run_counts() {
        let port = "Service \"web\" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated";
        let quota = "services \"web\" is forbidden: exceeded quota: q, requested: services=1, used: services=1, limited: services=1";
        let cases = [
            ("dry-run the creation of Service team/web", WriteErrorKind::Invalid, port, true),
            ("dry-run the creation of Service team/web", WriteErrorKind::Denied, quota, true),
            ("dry-run the creation of Service team/web", WriteErrorKind::Invalid, "spec.ports: Required value", false),
            ("create Service team/web", WriteErrorKind::Denied, quota, false),
        ];
        for (call, kind, message, is_told) in cases {
            let error = WriteError { kind, call: call.to_owned(), status: None, message: message.to_owned() };
            assert_eq!(error.cure().contains("still counts the object"), is_told, "{call}: {message}");
        }
    }

    #[test]
    fn recreation_is_no_cure_for_what_takes_others_along() {
        let cure = |call: &str| {
            let (call, message) = (call.to_owned(), String::new());
            WriteError { kind: WriteErrorKind::Invalid, call, status: Some(422), message }.cure()
        };
        assert!(cure("apply Service team/a").contains("`update-policy: recreate` in a bundle"));
        assert!(cure("apply Service team/Namespace").contains("`lifecycle.recreate` in an entry"));
        for call in ["apply CustomResourceDefinition things.example.com", "patch Namespace a", "create APIService v1.a"]
        {
            assert!(!cure(call).contains("recreate"), "{call}");
        }
    }
}
