//! Names requests for spans, metrics and error texts, and describes ended requests to an observer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use tracing::Span;
use tracing::field::Empty;

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Lists the server's API groups, or the kinds of one group and version.
    Discover,
    /// Reads one object by its name.
    Get,
    /// Reads one page of objects.
    List,
    /// Creates an object by POST.
    Create,
    /// Creates an object with `dryRun=All`: the server checks the request and stores nothing.
    DryRun,
    /// Turns `managedFields` entries of the operation `Update` into entries of `Apply`.
    Migrate,
    /// Sends a server-side apply of one object.
    Apply,
    /// Replaces one object by a PUT.
    Replace,
    /// Sends a JSON merge patch.
    Patch,
    /// Deletes an object by its name.
    Delete,
}

impl Verb {
    /// The verb as the value of a metric label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::DryRun => "dry_run",
            Self::Migrate => "migrate",
            Self::Apply => "apply",
            Self::Replace => "replace",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    /// Whether the request only reads.
    pub(crate) fn is_read(self) -> bool {
        match self {
            Self::Discover | Self::Get | Self::List => true,
            Self::Create | Self::DryRun | Self::Migrate | Self::Apply | Self::Replace | Self::Patch | Self::Delete => {
                false
            }
        }
    }

    fn span_name(self) -> &'static str {
        match self {
            Self::Discover => "k8s.discover",
            Self::Get => "k8s.get",
            Self::List => "k8s.list",
            Self::Create => "k8s.create",
            Self::DryRun => "k8s.dry_run",
            Self::Migrate => "k8s.migrate",
            Self::Apply => "k8s.apply",
            Self::Replace => "k8s.replace",
            Self::Patch => "k8s.patch",
            Self::Delete => "k8s.delete",
        }
    }

    /// The verb as error texts print it, before the object: `failed to dry-run the creation of Job a/b`.
    fn phrase(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::DryRun => "dry-run the creation of",
            Self::Migrate => "migrate the managed fields of",
            Self::Apply => "apply",
            Self::Replace => "replace",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// Describes a request that has ended.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord<'a> {
    /// The purpose of the request, which names it in metrics and spans.
    pub verb: Verb,
    /// The kind of the object; empty if the request discovers API groups.
    pub kind: &'a str,
    /// The HTTP status; none if the server sent none.
    pub status: Option<u16>,
    /// Whether the server sent a complete answer. An answer above the size limit counts as complete.
    pub is_answered: bool,
    /// The time from the permit of the rate limit to the last byte of the answer.
    pub duration: Duration,
    /// How many warnings the answer had that no earlier answer about the object had.
    pub warnings: usize,
}

/// Called when a request begins; returns the function to call when it ends. Must not block.
pub type CallObserver = Arc<dyn Fn() -> CallEnd + Send + Sync>;

/// Called when the request ends. Dropped uncalled if the caller abandons the request, by dropping its future.
pub type CallEnd = Box<dyn FnOnce(&CallRecord<'_>) + Send>;

/// The purpose of a request and the object that it names.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) verb: Verb,
    pub(crate) object: &'a ObjectRef,
}

impl Call<'_> {
    /// An error for a call that is refused before it is sent.
    pub(crate) fn invalid(&self, message: String) -> WriteError {
        self.error(WriteErrorKind::Invalid, None, message)
    }

    pub(crate) fn error(&self, kind: WriteErrorKind, status: Option<u16>, message: String) -> WriteError {
        WriteError { kind, call: self.to_string(), status, message }
    }

    pub(crate) fn span(&self) -> Span {
        tracing::info_span!(
            "k8s",
            otel.name = self.verb.span_name(),
            otel.kind = "client",
            k8s.kind = self.object.kind.kind,
            k8s.namespace.name = self.object.namespace,
            k8s.name = Some(&self.object.name).filter(|name| !name.is_empty()),
            http.response.status_code = Empty,
            "error.type" = Empty,
        )
    }
}

/// Prints the call for error texts, such as `create ConfigMap team-a/settings`.
impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verb == Verb::Discover {
            return write!(f, "discover the kinds of {}", self.object.kind.api_version());
        }
        write!(f, "{} {}", self.verb.phrase(), self.object)
    }
}
