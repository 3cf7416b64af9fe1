//! A task: what one adapter does with one event, checked and compiled.
//!
//! `TaskSpec` ([`spec`]) is the file as its author wrote it; [`compile`] turns it into a [`Task`], or reports
//! every mistake in it. A `Task` is immutable, and all events share it: nothing in it is parsed again.

pub mod compile;
pub mod spec;
pub mod types;

mod known;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use lifecycle_bundle::draft::Draft;
use lifecycle_bundle::policy::Policies;
use lifecycle_language::cel::Expression;
use lifecycle_language::template::{Template, Tree};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::type_pattern::TypePattern;
use lifecycle_objects::write::PropagationPolicy;
use serde_json::Value;

pub use self::known::{KnownObject, Origin};
use crate::api_call::ApiCall;
use crate::bundle::ready::Rules;

/// The compiled task file: what the adapter does for each event.
#[derive(Debug)]
pub struct Task {
    /// The params (phase 1), in the order in which the adapter reads them.
    pub params: Vec<Param>,
    /// The preconditions (phase 2), in the order in which the adapter evaluates them.
    pub preconditions: Vec<Precondition>,
    /// When the adapter reads live objects.
    pub discover: Discover,
    /// Phase 3, in order; names are unique.
    pub resources: Vec<Resource>,
    /// Phase 4: payloads, built in order before the first action.
    pub payloads: Vec<Payload>,
    /// Phase 4: actions, in order.
    pub actions: Vec<Action>,
    /// How long an agent of a remote cluster may leave a write unobserved before the adapter sends it again; `None`: for ever.
    /// The deployment configures it, not the task file.
    pub resend_after: Option<Duration>,
    /// The environment variables that the task names; it can read no others.
    pub environment: BTreeSet<String>,
}

/// When the adapter reads live objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discover {
    /// The adapter reads live objects only if every precondition is met.
    #[default]
    WhenMet,
    /// For every event, so that a report can include live objects although a precondition is not met.
    Always,
}

/// One entry of the task's `params`: a variable that is set for each event.
#[derive(Debug)]
pub struct Param {
    /// The variable that the param sets. Not unique: the last param of a name that succeeds wins.
    pub name: String,
    /// The source of the value.
    pub source: ParamSource,
    /// The type to convert a value from a path or file to. Kept as written, because an unknown type has to
    /// fail the event and not the load, as in the Go adapter.
    pub kind: Option<String>,
    /// The value to use if the source has none, or an empty one.
    pub default: Option<Value>,
    /// Whether the event fails without a value.
    pub required: bool,
    /// Whether the default stands in for a source that fails; otherwise the event fails.
    pub default_on_error: bool,
    /// Whether the value is secret, if the author says so; otherwise the source decides.
    pub sensitive: Option<bool>,
}

/// The source of a param's value.
#[derive(Debug)]
pub enum ParamSource {
    /// The environment variable `NAME`, written `env.NAME`.
    Environment(String),
    /// A path into the event's `data`, written `event.a.b`.
    Event(String),
    /// A path into the adapter's configuration, written `config.a.b`.
    Config(String),
    /// Any other text: a path into an earlier param if the first segment names one, else into the event.
    Path(String),
    /// A JSON object from the API.
    ApiCall(ApiCall),
    /// A CEL expression, which can read the params before this one.
    Expression(Expression),
    /// A file, read for every event.
    File {
        /// The path of the file in the adapter's file system.
        path: String,
        /// Whether to drop white space around the content.
        trim: bool,
    },
}

/// One entry of the task's `preconditions`.
#[derive(Debug)]
pub struct Precondition {
    /// The precondition's name; with an API call also the variable of the response.
    pub name: String,
    /// A line to log before the precondition is evaluated.
    pub log: Option<LogLine>,
    /// A call whose response the captures read.
    pub api_call: Option<ApiCall>,
    /// Values taken from the response.
    pub captures: Vec<Capture>,
    /// The check that decides whether the precondition is met.
    pub check: Check,
}

/// A log line that a task asks for.
#[derive(Debug)]
pub struct LogLine {
    /// The template of the text to log.
    pub message: Template,
    /// The level at which the adapter logs the line.
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

impl LogLevel {
    /// The level as tasks and traces spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// The check of a precondition.
#[derive(Debug)]
pub enum Check {
    /// The precondition is met if its API call succeeds.
    CallSucceeds,
    /// The precondition is met if every one of these conditions is met.
    Conditions(Vec<Condition>),
    /// The precondition is met if this expression is true.
    Expression(Expression),
}

/// One structured condition of a precondition: a field, an operator and an expected value.
#[derive(Debug)]
pub struct Condition {
    /// The path of the value to compare.
    pub field: FieldPath,
    /// How the condition compares the field's value with the expected value.
    pub operator: Operator,
    /// The value to compare with; null for [`Operator::Exists`].
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
    /// The variable that the capture sets.
    pub name: String,
    /// Where the capture reads the response.
    pub source: CaptureSource,
    /// The value to use if the response lacks the field.
    pub default: Option<Value>,
}

/// How a capture reads the response.
#[derive(Debug)]
pub enum CaptureSource {
    /// The capture reads a path into the response.
    Field(FieldPath),
    /// By an expression, which reads the response's keys, and the response itself under the precondition's
    /// name.
    Expression(Expression),
}

pub use lifecycle_language::field::FieldPath;

/// One entry of the task's `resources`: the objects to reconcile.
#[derive(Debug)]
pub struct Resource {
    /// The resource's name, unique in the task; `resources.<name>` in expressions.
    pub name: String,
    /// The transport to write with.
    pub transport: TransportKind,
    /// The objects' kind. It is fixed, because discovery needs it before the manifest is rendered.
    pub kind: GroupVersionKind,
    /// The object to create and update, before it is rendered.
    pub manifest: Manifest,
    /// How the adapter finds the resource's live objects.
    pub discovery: Discovery,
    /// Objects inside the discovered one that become `resources.<name>` too.
    pub nested: Vec<NestedDiscovery>,
    /// The conditions under which the adapter creates, updates, patches, recreates, disowns or deletes the
    /// objects.
    pub gates: Gates,
    /// The resource that the objects name in their `ownerReferences`: its index in the task's list, lower
    /// than this one's.
    pub owner: Option<usize>,
    /// How many former versions to keep, and for how long. With it, a recreation deletes nothing.
    pub retention: Option<Retention>,
    /// Whether an update may take over an object that no adapter wrote.
    pub adopt: bool,
    /// The objects that the resource keeps as one set. With it, `manifest` and `discovery` are those of the bundle's parent.
    pub bundle: Option<Bundle>,
}

impl Resource {
    /// Whether the entry is there to read an object that another one keeps.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        self.gates.apply.as_ref().is_some_and(|apply| apply.source().trim() == "false")
    }
}

/// Many objects that one resource keeps as a set.
#[derive(Debug)]
pub struct Bundle {
    /// The manifests; each renders to any number of objects, see [`render`](crate::bundle::render::render).
    pub manifests: Vec<Manifest>,
    /// For each manifest without templates, its objects, which are the same for every event; none for the others.
    pub drafts: Vec<Option<Vec<Arc<Draft>>>>,
    /// The namespace of the parent, and of namespaced objects that name none.
    pub namespace: Template,
    /// The policies of objects whose annotations say nothing else.
    pub policies: Policies,
    /// Whether the adapter creates namespaces that objects name and that neither exist nor are in the bundle.
    pub creates_namespaces: bool,
    /// The types that the author says the bundle introduces.
    pub managed_types: Vec<TypePattern>,
    /// The objects that the manifests render whatever the event.
    pub known: Vec<KnownObject>,
    /// Whether an event decides about further objects.
    pub has_others: bool,
    /// When objects are ready, where the author says so.
    pub ready: Rules,
    /// The prefix of the annotations that set the policies of single objects.
    pub prefix: String,
}

impl Bundle {
    /// The types that the bundle manages, as far as no event decides them.
    pub fn types(&self) -> impl Iterator<Item = &TypePattern> {
        self.known.iter().filter_map(|object| object.introduces.as_ref()).chain(&self.managed_types)
    }
}

/// How the adapter reaches the cluster in which a resource lives.
#[derive(Debug)]
pub enum TransportKind {
    /// The adapter writes through the Kubernetes API of its own cluster.
    Kubernetes,
    /// The adapter writes through Maestro, for the cluster of one consumer.
    Maestro {
        /// The template of the Maestro consumer's name.
        target_cluster: Template,
    },
}

impl TransportKind {
    /// Whether two transports can have the same destination. Two templates of consumer names can, because
    /// only an event shows what they render to.
    #[must_use]
    pub fn can_meet(&self, other: &Self) -> bool {
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
    /// YAML in the task file: its strings are templates, its structure is fixed.
    Inline(Tree),
    /// A block of text or a referenced file: rendered as text, then parsed.
    Text(Template),
}

/// How the adapter finds live objects.
#[derive(Debug)]
pub struct Discovery {
    /// The namespace; none or empty for cluster-scoped objects, and to search all namespaces.
    pub namespace: Option<Template>,
    /// The name or the labels to search for.
    pub by: DiscoverBy,
}

impl Discovery {
    /// The templates of the namespace, and of the name or the labels.
    #[must_use]
    pub fn templates(&self) -> Vec<&Template> {
        let mut templates: Vec<&Template> = self.namespace.iter().collect();
        match &self.by {
            DiscoverBy::Name(name) => templates.push(name),
            DiscoverBy::Labels(labels) => templates.extend(labels.iter().flat_map(|(key, value)| [key, value])),
        }
        templates
    }
}

/// The two ways to find live objects.
#[derive(Debug)]
pub enum DiscoverBy {
    /// Searches for the one object of this name.
    Name(Template),
    /// Searches for all objects that have these labels with exactly these values. Keys and values are
    /// templates.
    Labels(Vec<(Template, Template)>),
}

/// An object to find inside a discovered one.
#[derive(Debug)]
pub struct NestedDiscovery {
    /// The object's name in `resources`.
    pub name: String,
    /// How the adapter finds the object.
    pub discovery: Discovery,
}

/// The gates of a resource. The adapter does not evaluate an absent gate.
#[derive(Debug, Default)]
pub struct Gates {
    /// `when`: asked before every write but deletion and disowning.
    pub when: Option<Expression>,
    /// Whether `when` reads the clock, itself or through a param or capture: while it is false, it is a wait.
    pub reads_clock: bool,
    /// `lifecycle.create.when`: asked while the object is absent, and before a recreation.
    pub create: Option<Expression>,
    /// `lifecycle.apply.when`: asked before every creation and update.
    pub apply: Option<Expression>,
    /// `lifecycle.patch`: the partial writes, in the order in which they are sent.
    pub patches: Vec<Patch>,
    /// `lifecycle.recreate.when` or `recreate_on_change`: when to replace the object by a new one.
    pub recreate: Option<Recreate>,
    /// `lifecycle.orphan.when` or `lifecycle.detach.when`: when to disown the objects.
    pub orphan: Option<Expression>,
    /// `lifecycle.delete`: when and how to delete the objects.
    pub delete: Option<DeleteGate>,
}

/// One entry of `lifecycle.patch`: a partial write and its gate.
#[derive(Debug)]
pub struct Patch {
    /// Whether to send the patch.
    pub when: Expression,
    /// A JSON merge patch (RFC 7396) of templates.
    pub document: Tree,
}

/// How many former versions of a resource to keep, and for how long. At least one limit is set; a version
/// beyond either limit is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How many versions to keep besides the current one, the newest first.
    pub history_limit: Option<usize>,
    /// How old, by `creationTimestamp`, a version other than the current one may become.
    pub ttl: Option<SignedDuration>,
}

impl Gates {
    /// Whether gates choose the events on which the adapter creates and updates the object.
    #[must_use]
    pub fn hold_back(&self) -> bool {
        [&self.when, &self.create, &self.apply].into_iter().any(Option::is_some)
    }

    /// Returns a gate's expression by the gate's name in outcomes: `when`, a key below `lifecycle`, or
    /// `patch[0]` and so on.
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

/// When a new object replaces the live one.
#[derive(Debug)]
pub enum Recreate {
    /// A new object replaces the live one when this expression is true.
    When(Expression),
    /// When the live object has a generation, and a lower one than desired: `recreate_on_change: true`.
    OnChange,
}

/// The gate of a deletion, and how to delete.
#[derive(Debug)]
pub struct DeleteGate {
    /// The expression that decides whether the adapter deletes the objects.
    pub when: Expression,
    /// What the API server does with the dependents of the deleted objects.
    pub propagation: PropagationPolicy,
}

/// One entry of `post.payloads`: a JSON text for the bodies of post actions.
#[derive(Debug)]
pub struct Payload {
    /// The variable of the payload's JSON text.
    pub name: String,
    /// Whether to build the payload; always, if none.
    pub when: Option<Expression>,
    /// The payload's value, before it is built.
    pub build: PayloadNode,
}

/// A node of a payload's `build` tree.
#[derive(Debug)]
pub enum PayloadNode {
    /// A value without templates, which the payload contains as it is.
    Literal(Value),
    /// A template; its result is always a string.
    Text(Template),
    /// A list whose elements are built one by one.
    List(Vec<PayloadNode>),
    /// A mapping whose keys are templates.
    Map(Vec<(Template, PayloadNode)>),
    /// `{ field | expression, default }`.
    Lookup {
        /// Where the value comes from.
        source: PayloadSource,
        /// The value to use if the source has none, or fails.
        default: Option<Value>,
    },
}

/// The source of a value in a payload.
#[derive(Debug)]
pub enum PayloadSource {
    /// A path into the variables.
    Field(FieldPath),
    /// A CEL expression, whose result is the value.
    Expression(Expression),
}

/// One entry of `post.post_actions`: a step after the resources, such as a report to the API.
#[derive(Debug)]
pub struct Action {
    /// The name of the post action.
    pub name: String,
    /// Whether to run the action; always, if none.
    pub when: Option<Expression>,
    /// The line to log when the action runs.
    pub log: Option<LogLine>,
    /// The API call to make.
    pub api_call: Option<ApiCall>,
    /// The payloads that the call's body reads. The action is skipped if one of them was skipped.
    pub body_payloads: Vec<String>,
}

impl Task {
    /// Whether a resource has a lifecycle key. If none has, the adapter reads objects in the Go adapter's
    /// order.
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
                || resource.bundle.is_some()
        })
    }

    /// Sets [`Gates::reads_clock`] of every resource, once params and captures are known.
    pub(crate) fn find_clocks(mut self) -> Self {
        let Self { params, preconditions, resources, .. } = &mut self;
        let captures = preconditions.iter().flat_map(|precondition| &precondition.captures);
        let captures = captures.filter_map(|capture| match &capture.source {
            CaptureSource::Expression(source) => Some((&capture.name, source)),
            CaptureSource::Field(_) => None,
        });
        let params = params.iter().filter_map(|param| match &param.source {
            ParamSource::Expression(source) => Some((&param.name, source)),
            ParamSource::Environment(_)
            | ParamSource::Event(_)
            | ParamSource::Config(_)
            | ParamSource::Path(_)
            | ParamSource::ApiCall(_)
            | ParamSource::File { .. } => None,
        });
        let mut clocks: BTreeSet<&str> = BTreeSet::new();
        let is_clocked = |source: &Expression, clocks: &BTreeSet<&str>| {
            source.reads_clock() || source.reads_variable(&|name| clocks.contains(name))
        };
        for (name, source) in params.chain(captures) {
            if is_clocked(source, &clocks) {
                clocks.insert(name);
            }
        }
        for gates in resources.iter_mut().map(|resource| &mut resource.gates) {
            gates.reads_clock = gates.when.as_ref().is_some_and(|when| is_clocked(when, &clocks));
        }
        self
    }

    /// Whether several resources and nested discoveries have this name, so that nothing is certain of
    /// `resources.<name>`.
    #[must_use]
    pub fn is_shared(&self, name: &str) -> bool {
        let nested = self.resources.iter().flat_map(|resource| &resource.nested).map(|nested| &nested.name);
        self.resources.iter().map(|resource| &resource.name).chain(nested).filter(|known| *known == name).count() > 1
    }

    /// How many params, preconditions and captures set a variable. Who asks about many variables counts
    /// [`set_variables`](Self::set_variables) once.
    #[must_use]
    pub fn times_set(&self, variable: &str) -> usize {
        self.set_variables().filter(|name| *name == variable).count()
    }

    /// The variables that params, preconditions and captures set; one that several of them set comes several times.
    pub fn set_variables(&self) -> impl Iterator<Item = &str> {
        let params = self.params.iter().map(|param| &param.name);
        let of_preconditions = self.preconditions.iter().flat_map(|precondition| {
            let captures = precondition.captures.iter().map(|capture| &capture.name);
            captures.chain([&precondition.name])
        });
        params.chain(of_preconditions).map(String::as_str)
    }

    /// Whether objects of another resource than the one at `index` can be disowned: by its orphan gate, or
    /// because a person gave one of several versions the label `disowned`.
    #[must_use]
    pub fn others_can_be_disowned(&self, index: usize) -> bool {
        let can = |resource: &Resource| {
            resource.gates.orphan.is_some() || matches!(resource.discovery.by, DiscoverBy::Labels(_))
        };
        let transport = &self.resources[index].transport;
        let mut others = self.resources.iter().enumerate().filter(|(other, _)| *other != index);
        others.any(|(_, resource)| can(resource) && resource.transport.can_meet(transport))
    }
}
