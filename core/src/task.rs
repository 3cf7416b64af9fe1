//! A task: what one adapter does with one event, checked and compiled.
//!
//! `TaskSpec` ([`spec`]) is the file as its author wrote it; [`compile`] turns it into a [`Task`], or
//! into the list of every mistake in it. A `Task` is immutable and shared by all events: nothing in it
//! is parsed again.

pub mod compile;
mod gate_values;
pub(crate) mod kinds;
pub mod lint;
pub mod reach;
pub mod spec;

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::Value;

use crate::api_call::ApiCall;
use crate::cel::Expression;
use crate::id::GroupVersionKind;
use crate::template::{Template, Tree};

/// The compiled task file.
#[derive(Debug)]
pub struct Task {
    /// Phase 1, in order.
    pub params: Vec<Param>,
    /// Phase 2, in order.
    pub preconditions: Vec<Precondition>,
    /// When live objects are read.
    pub discover: Discover,
    /// Phase 3, in order; names are unique.
    pub resources: Vec<Resource>,
    /// Phase 4: payloads, built in order before the first action.
    pub payloads: Vec<Payload>,
    /// Phase 4: actions, in order.
    pub actions: Vec<Action>,
    /// The environment variables that the task names anywhere; no other one is exposed to it.
    pub environment: BTreeSet<String>,
}

/// When live objects are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discover {
    /// Only if every precondition is met.
    #[default]
    WhenMet,
    /// Whatever the preconditions say: a report can then tell what is live.
    Always,
}

/// One entry of `params`.
#[derive(Debug)]
pub struct Param {
    /// The variable that it sets. Not unique: the last one that succeeds wins.
    pub name: String,
    /// Where the value comes from.
    pub source: ParamSource,
    /// The type that a string or file source is converted to. Kept as written: an unknown name fails
    /// the conversion, as the Go adapter does.
    pub kind: Option<String>,
    /// What stands in for an absent or empty value.
    pub default: Option<Value>,
    /// Whether the event fails without it.
    pub required: bool,
}

/// Where a param comes from.
#[derive(Debug)]
pub enum ParamSource {
    /// `env.NAME`.
    Environment(String),
    /// `event.a.b`.
    Event(String),
    /// `config.a.b`.
    Config(String),
    /// Any other text: a path into an earlier param if its first segment is one, else into the event.
    Path(String),
    /// A JSON object from the API.
    ApiCall(ApiCall),
    /// A CEL expression over what is resolved so far.
    Expression(Expression),
    /// A file, read for every event.
    File {
        /// Its path.
        path: String,
        /// Whether surrounding white space is dropped.
        trim: bool,
    },
}

/// One entry of `preconditions`.
#[derive(Debug)]
pub struct Precondition {
    /// Its name; with an API call also the variable that holds the response.
    pub name: String,
    /// A line to log before it is evaluated.
    pub log: Option<LogLine>,
    /// A call whose response its captures read.
    pub api_call: Option<ApiCall>,
    /// Values taken from the response.
    pub captures: Vec<Capture>,
    /// What must hold.
    pub check: Check,
}

/// A log line that a task asks for.
#[derive(Debug)]
pub struct LogLine {
    /// Its text.
    pub message: Template,
    /// Its level.
    pub level: LogLevel,
}

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the usual four levels")]
pub enum LogLevel {
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

/// What a precondition demands.
#[derive(Debug)]
pub enum Check {
    /// Only that its API call succeeds.
    CallSucceeds,
    /// That every condition holds.
    Conditions(Vec<Condition>),
    /// That an expression is true.
    Expression(Expression),
}

/// One structured condition.
#[derive(Debug)]
pub struct Condition {
    /// What it looks at.
    pub field: FieldPath,
    /// How it compares.
    pub operator: Operator,
    /// What it compares with; null for [`Operator::Exists`].
    pub value: Value,
}

/// The operators of structured conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the task file")]
pub enum Operator {
    Equals,
    NotEquals,
    In,
    NotIn,
    Contains,
    GreaterThan,
    LessThan,
    Exists,
}

/// A value that a precondition takes from its response.
#[derive(Debug)]
pub struct Capture {
    /// The variable that it sets.
    pub name: String,
    /// Where in the response.
    pub source: CaptureSource,
    /// What stands in for a field that is not there.
    pub default: Option<Value>,
}

/// How a capture reads the response.
#[derive(Debug)]
pub enum CaptureSource {
    /// By a path.
    Field(FieldPath),
    /// By an expression that sees the response's keys, and the response under the precondition's name.
    Expression(Expression),
}

pub use self::kinds::is_namespaced;
pub use crate::field::FieldPath;

/// One entry of `resources`.
#[derive(Debug)]
pub struct Resource {
    /// Its name, unique in the task; `resources.<name>` in expressions.
    pub name: String,
    /// Where it is applied.
    pub transport: TransportKind,
    /// Its kind, which is static: discovery needs it before anything is rendered.
    pub kind: GroupVersionKind,
    /// What is to be applied.
    pub manifest: Manifest,
    /// How its live objects are found.
    pub discovery: Discovery,
    /// Objects inside the discovered one that become `resources.<name>` too.
    pub nested: Vec<NestedDiscovery>,
    /// Its lifecycle gates.
    pub gates: Gates,
    /// The earlier resource, by its place in the task's list, that its objects name in their `ownerReferences`.
    pub owner: Option<usize>,
    /// How many former versions are kept, and for how long. With it, a recreation deletes nothing.
    pub retention: Option<Retention>,
}

/// Where a resource is applied.
#[derive(Debug)]
pub enum TransportKind {
    /// The Kubernetes API.
    Kubernetes,
    /// A Maestro consumer.
    Maestro {
        /// The consumer's name.
        target_cluster: Template,
    },
}

impl TransportKind {
    /// Whether objects of both can be at one destination. Only an event tells what consumer a template renders to.
    pub(crate) fn can_meet(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kubernetes, Self::Kubernetes) => true,
            (Self::Maestro { target_cluster: one }, Self::Maestro { target_cluster: other }) => {
                match (one.as_literal(), other.as_literal()) {
                    (Some(one), Some(other)) => one == other,
                    (None, _) | (_, None) => true,
                }
            }
            (Self::Kubernetes, Self::Maestro { .. }) | (Self::Maestro { .. }, Self::Kubernetes) => false,
        }
    }
}

/// A manifest, in the form that its author chose.
#[derive(Debug, Clone)]
pub enum Manifest {
    /// Written inline as YAML: its strings are templates, its structure is fixed.
    Inline(Tree),
    /// A block string or a referenced file: rendered as text, then parsed.
    Text(Template),
}

/// How live objects are found.
#[derive(Debug)]
pub struct Discovery {
    /// The namespace; none or empty means cluster-scoped, or all namespaces.
    pub namespace: Option<Template>,
    /// By name or by labels.
    pub by: DiscoverBy,
}

/// The two ways to find live objects.
#[derive(Debug)]
pub enum DiscoverBy {
    /// One object, by name.
    Name(Template),
    /// Any number of objects, by equality of labels (keys and values are templates).
    Labels(Vec<(Template, Template)>),
}

/// An object to find inside a discovered one.
#[derive(Debug)]
pub struct NestedDiscovery {
    /// The name it gets in `resources`.
    pub name: String,
    /// How it is found.
    pub discovery: Discovery,
}

/// The lifecycle gates of a resource. An absent gate is not asked.
#[derive(Debug, Default)]
pub struct Gates {
    /// `when`: asked before every write but deletion and disowning.
    pub when: Option<Expression>,
    /// `lifecycle.create.when`: asked while the object is absent, and before a recreation.
    pub create: Option<Expression>,
    /// `lifecycle.apply.when`: asked before every creation and update.
    pub apply: Option<Expression>,
    /// `lifecycle.patch`, in order.
    pub patches: Vec<Patch>,
    /// `lifecycle.recreate.when`, or `recreate_on_change`.
    pub recreate: Option<Recreate>,
    /// `lifecycle.orphan.when`, or `lifecycle.detach.when`.
    pub orphan: Option<Expression>,
    /// `lifecycle.delete`.
    pub delete: Option<DeleteGate>,
}

/// One entry of `lifecycle.patch`.
#[derive(Debug)]
pub struct Patch {
    /// Whether it is sent.
    pub when: Expression,
    /// A JSON merge patch (RFC 7396): what it names is set, `null` removes.
    pub document: Tree,
}

/// How many former versions of a resource are kept, and for how long. At least one limit is set; each applies on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How many versions are kept besides the current one, the newest first.
    pub history_limit: Option<usize>,
    /// How old, by `creationTimestamp`, a version besides the current one may become.
    pub ttl: Option<SignedDuration>,
}

impl Gates {
    /// The expression of a gate, by the name that outcomes give it: its key below `lifecycle`, `when`, or `patch[0]`.
    #[must_use]
    pub fn expression(&self, name: &str) -> Option<&Expression> {
        match name {
            "when" => self.when.as_ref(),
            "create" => self.create.as_ref(),
            "apply" => self.apply.as_ref(),
            "orphan" => self.orphan.as_ref(),
            "delete" => self.delete.as_ref().map(|delete| &delete.when),
            "recreate" => match &self.recreate {
                Some(Recreate::When(when)) => Some(when),
                Some(Recreate::OnChange) | None => None,
            },
            _ => {
                let place = name.strip_prefix("patch[")?.strip_suffix(']')?;
                self.patches.get(place.parse::<usize>().ok()?).map(|patch| &patch.when)
            }
        }
    }
}

/// When a resource is replaced by a new object.
#[derive(Debug)]
pub enum Recreate {
    /// When the expression holds.
    When(Expression),
    /// When the live generation annotation exists and is lower: `recreate_on_change: true`.
    OnChange,
}

/// When a resource is deleted, and how its dependents go.
#[derive(Debug)]
pub struct DeleteGate {
    /// The gate.
    pub when: Expression,
    /// What becomes of dependents.
    pub propagation: PropagationPolicy,
}

/// Kubernetes' deletion propagation policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PropagationPolicy {
    /// The object goes at once, its dependents in the background.
    #[default]
    Background,
    /// The object goes after its dependents.
    Foreground,
    /// The dependents stay.
    Orphan,
}

/// One entry of `post.payloads`.
#[derive(Debug)]
pub struct Payload {
    /// The variable that holds its JSON text.
    pub name: String,
    /// Whether it is built.
    pub when: Option<Expression>,
    /// What is built.
    pub build: PayloadNode,
}

/// A node of a payload's `build` tree.
#[derive(Debug)]
pub enum PayloadNode {
    /// A value that is taken as it is.
    Literal(Value),
    /// A string template; its result stays a string.
    Text(Template),
    /// A list.
    List(Vec<PayloadNode>),
    /// A mapping whose keys are templates.
    Map(Vec<(Template, PayloadNode)>),
    /// `{ field | expression, default }`.
    Lookup {
        /// What is looked up.
        source: PayloadSource,
        /// What stands in for an absent value or a failed evaluation.
        default: Option<Value>,
    },
}

/// What a payload value is taken from.
#[derive(Debug)]
pub enum PayloadSource {
    /// A path into the variables.
    Field(FieldPath),
    /// An expression.
    Expression(Expression),
}

/// One entry of `post.post_actions`.
#[derive(Debug)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// Whether it runs; always, if none.
    pub when: Option<Expression>,
    /// A line to log.
    pub log: Option<LogLine>,
    /// A call to make.
    pub api_call: Option<ApiCall>,
    /// The payloads that the call's body reads: the action is skipped if one of them was.
    pub body_payloads: Vec<String>,
}

impl Task {
    /// Whether any resource has a lifecycle key. Without one, the Go adapter's order of discovery is kept.
    #[must_use]
    pub fn has_lifecycle(&self) -> bool {
        self.resources.iter().any(|resource| {
            let gates = &resource.gates;
            let expressions = [&gates.when, &gates.create, &gates.apply, &gates.orphan];
            expressions.into_iter().any(Option::is_some)
                || gates.delete.is_some()
                || !gates.patches.is_empty()
                || matches!(gates.recreate, Some(Recreate::When(_)))
                || resource.retention.is_some()
                || resource.owner.is_some()
        })
    }

    /// Whether an object of another resource than the one at `index` can be disowned: by its gate, or beside a version that a
    /// person marked as disowned.
    pub(crate) fn others_can_be_disowned(&self, index: usize) -> bool {
        let can = |resource: &Resource| {
            resource.gates.orphan.is_some() || matches!(resource.discovery.by, DiscoverBy::Labels(_))
        };
        let transport = &self.resources[index].transport;
        let mut others = self.resources.iter().enumerate().filter(|(other, _)| *other != index);
        others.any(|(_, resource)| can(resource) && resource.transport.can_meet(transport))
    }
}
