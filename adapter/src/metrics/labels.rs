//! The label sets of metrics, and the closed enums of their values.

use std::fmt::Write as _;

use http::StatusCode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

/// Defines an enum whose variants are label values, and lists them in `ALL`.
macro_rules! label_values {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Every variant, in the order of their declaration.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The value as the label prints it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl EncodeLabelValue for $name {
            fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
                encoder.write_str(self.as_str())
            }
        }
    };
}

label_values! {
    /// The result of a pass.
    EventStatus {
        /// Every phase that ran succeeded.
        Success = "success",
        /// At least one phase failed.
        Failed = "failed",
        /// A precondition was not met, so that no resource was written.
        Skipped = "skipped",
    }
}

label_values! {
    /// The phase of a pass in which an error happened.
    Phase {
        /// The phase that resolves params.
        ParamExtraction = "param_extraction",
        /// The phase that evaluates preconditions.
        Preconditions = "preconditions",
        /// The phase that reads and writes objects.
        Resources = "resources",
        /// The phase that builds payloads and runs post actions.
        PostActions = "post_actions",
    }
}

impl From<lifecycle_core::stage::Phase> for Phase {
    fn from(phase: lifecycle_core::stage::Phase) -> Self {
        match phase {
            lifecycle_core::stage::Phase::ParamExtraction => Self::ParamExtraction,
            lifecycle_core::stage::Phase::Preconditions => Self::Preconditions,
            lifecycle_core::stage::Phase::Resources => Self::Resources,
            lifecycle_core::stage::Phase::PostActions => Self::PostActions,
        }
    }
}

label_values! {
    /// Why an event was refused.
    InvalidEvent {
        /// The message is not a `CloudEvent`, or its data cannot be read.
        Unreadable = "unreadable",
        /// A required param has no value.
        Params = "params",
    }
}

label_values! {
    /// The result of a precondition.
    PreconditionResult {
        /// The precondition is met, so that the pass goes on to the resources.
        Pass = "pass",
        /// The precondition is not met.
        Fail = "fail",
        /// The precondition could not be evaluated.
        Error = "error",
    }
}

label_values! {
    /// The result of a write.
    WriteResult {
        /// The server accepted the write.
        Success = "success",
        /// The server refused the write, or its answer was lost.
        Error = "error",
    }
}

label_values! {
    /// How the HyperFleet API, or a gateway before it, refused the token of a request.
    AuthFailure {
        /// There is no valid token.
        Unauthorized = "401",
        /// The token does not allow the request.
        Forbidden = "403",
    }
}

impl AuthFailure {
    /// The refusal that a status means; none if it means another answer.
    #[must_use]
    pub fn of(status: StatusCode) -> Option<Self> {
        match status {
            StatusCode::UNAUTHORIZED => Some(Self::Unauthorized),
            StatusCode::FORBIDDEN => Some(Self::Forbidden),
            _ => None,
        }
    }
}

label_values! {
    /// The server that a request went to.
    Api {
        /// The request went to the HyperFleet API.
        Hyperfleet = "hyperfleet",
        /// The request went to the Kubernetes API server.
        Kubernetes = "kubernetes",
        /// The request went to Maestro.
        Maestro = "maestro",
        /// The request went to another server that the task names by an absolute URL.
        External = "external",
    }
}

label_values! {
    /// A server without which the adapter pauses its intake.
    Dependency {
        /// The Kubernetes API server, to which the adapter writes the objects.
        Kubernetes = "kubernetes",
        /// The HyperFleet API at `base_url`.
        Hyperfleet = "hyperfleet",
        /// Maestro, by its REST server.
        Maestro = "maestro",
    }
}

label_values! {
    /// Why a message was not handled.
    BrokerError {
        /// The message could not be parsed.
        Conversion = "conversion",
        /// The pass of the message's event panicked, or found that the event lacks a value that the task needs.
        Handler = "handler",
    }
}

/// The class of an HTTP status, such as `2xx`; `none` if no response came.
///
/// A class rather than the code, because a proxy can respond with any code, and alerts match all of `5..`
/// anyway.
pub(super) fn status_class(status: Option<u16>) -> &'static str {
    match status {
        None => "none",
        Some(100..=199) => "1xx",
        Some(200..=299) => "2xx",
        Some(300..=399) => "3xx",
        Some(400..=499) => "4xx",
        Some(500..=599) => "5xx",
        Some(_) => "other",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StatusLabels {
    pub(super) status: EventStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PhaseLabels {
    pub(super) error_type: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DependencyLabels {
    pub(super) dependency: Dependency,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct InvalidLabels {
    pub(super) reason: InvalidEvent,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WarningLabels {
    pub(super) warning: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DecisionLabels {
    pub(super) decision: &'static str,
    pub(super) reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct FailureLabels {
    pub(super) reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PreconditionLabels {
    precondition_name: String,
    result: PreconditionResult,
}

impl PreconditionLabels {
    pub(super) fn new(name: &str, result: PreconditionResult) -> Self {
        Self { precondition_name: name.to_owned(), result }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct BlockedLabels {
    resource: String,
    resource_type: String,
}

impl BlockedLabels {
    pub(super) fn new(resource: &str, kind: &str) -> Self {
        Self { resource: resource.to_owned(), resource_type: kind_or_unknown(kind) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct KindLabels {
    resource_type: String,
}

impl KindLabels {
    pub(super) fn new(kind: &str) -> Self {
        Self { resource_type: kind_or_unknown(kind) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct KindResultLabels {
    resource_type: String,
    status: WriteResult,
}

impl KindResultLabels {
    pub(super) fn new(kind: &str, status: WriteResult) -> Self {
        Self { resource_type: kind_or_unknown(kind), status }
    }
}

fn kind_or_unknown(kind: &str) -> String {
    if kind.trim().is_empty() { "Unknown".to_owned() } else { kind.to_owned() }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ApiDurationLabels {
    pub(super) api: Api,
    pub(super) method: &'static str,
    pub(super) endpoint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ApiCallLabels {
    pub(super) api: Api,
    pub(super) method: &'static str,
    pub(super) endpoint: String,
    pub(super) status_code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct AuthFailureLabels {
    pub(super) status_code: AuthFailure,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TopicLabels {
    topic: String,
}

impl TopicLabels {
    pub(super) fn new(topic: &str) -> Self {
        Self { topic: topic.to_owned() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TopicErrorLabels {
    topic: String,
    error_type: BrokerError,
}

impl TopicErrorLabels {
    pub(super) fn new(topic: &str, error_type: BrokerError) -> Self {
        Self { topic: topic.to_owned(), error_type }
    }
}
