//! What a request is for, and what is told of it afterwards.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lifecycle_core::object_ref::ObjectRef;
use tracing::Span;
use tracing::field::Empty;

use crate::error::{Error, ErrorKind};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Asks which groups the server has, or which kinds a group and version have.
    Discover,
    /// Reads one object.
    Get,
    /// Reads one page of objects.
    List,
    /// Creates an object.
    Create,
    /// Asks what a creation would answer, without writing.
    DryRun,
    /// Turns managed fields of operation Update into fields of operation Apply.
    Migrate,
    /// Applies a configuration.
    Apply,
    /// Merges a patch.
    Patch,
    /// Deletes an object.
    Delete,
}

impl Verb {
    /// The verb as a label value.
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
            Self::Patch => "patch",
            Self::Delete => "delete",
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
            Self::Patch => "k8s.patch",
            Self::Delete => "k8s.delete",
        }
    }

    /// The verb as error texts say it, with the object after it.
    fn phrase(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::DryRun => "dry-run the creation of",
            Self::Migrate => "migrate the managed fields of",
            Self::Apply => "apply",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// One request that has ended.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord<'a> {
    /// What it did.
    pub verb: Verb,
    /// The kind that it was about; empty for a discovery of every kind.
    pub kind: &'a str,
    /// The HTTP status; none if no answer came.
    pub status: Option<u16>,
    /// Whether the server answered to the end. An answer that is too long to be read counts as answered.
    pub is_answered: bool,
    /// From its turn under the rate limit to the last byte of the answer.
    pub duration: Duration,
}

/// Hears that a request begins, and returns what is to hear of its end. Must not block.
pub type CallObserver = Arc<dyn Fn() -> CallEnd + Send + Sync>;

/// Hears of the end of one request. Dropped without a call if the request is given up before its end.
pub type CallEnd = Box<dyn FnOnce(&CallRecord<'_>) + Send>;

/// What a request is for.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) verb: Verb,
    pub(crate) object: &'a ObjectRef,
}

impl Call<'_> {
    /// Says that this call was refused before it was sent.
    pub(crate) fn invalid(&self, message: String) -> Error {
        self.error(ErrorKind::Invalid, None, message)
    }

    pub(crate) fn error(&self, kind: ErrorKind, status: Option<u16>, message: String) -> Error {
        Error { kind, call: self.to_string(), status, message }
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

/// The call in words, such as `create ConfigMap team-a/settings`.
impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verb == Verb::Discover {
            return write!(f, "discover the kinds of {}", self.object.kind.api_version());
        }
        write!(f, "{} {}", self.verb.phrase(), self.object)
    }
}
