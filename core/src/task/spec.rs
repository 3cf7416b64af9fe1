//! The task file as its author writes it.
//!
//! The doc comment of a field is its description in the published JSON Schema, and the schema is what a
//! file is checked against ([`lifecycle_config::decode`]): a key exists if and only if a field here has its name.
//! Text that has a grammar of its own (expressions, templates, paths) stays text; [`super::compile`]
//! parses it.

mod shapes;

use std::collections::BTreeMap;

use lifecycle_config::decode::DURATION;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use self::shapes::{ManifestSpec, SourceSpec};

/// What one adapter does with an event: params, then preconditions, then resources, then post actions.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// Variables, resolved in order before anything else.
    #[serde(default)]
    pub params: Vec<ParamSpec>,
    /// What must hold before resources are touched, in order; the first that does not hold ends the phase.
    #[serde(default)]
    pub preconditions: Vec<PreconditionSpec>,
    /// When live objects are read: `when_met`, the default, or `always`. With `always`, `resources` tells the post actions what
    /// is live although a precondition is not met or fails; nothing is written, deleted or decided then.
    #[serde(default)]
    pub discover: DiscoverSpec,
    /// The objects to reconcile, in order.
    #[serde(default)]
    pub resources: Vec<ResourceSpec>,
    /// What is reported, whatever became of the resources.
    pub post: Option<PostSpec>,
}

/// When live objects are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscoverSpec {
    /// Only if every precondition is met, as in the Go adapter.
    #[default]
    WhenMet,
    /// Whatever the preconditions say.
    Always,
}

/// One variable.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParamSpec {
    /// The variable's name. A later param of the same name overwrites an earlier one.
    pub name: String,
    /// Where the value comes from: a path such as `event.id`, `env.REGION` or `config.adapter.name`, or a
    /// mapping with one of `api_call`, `expression` and `file`.
    pub source: SourceSpec,
    /// The type that a value from a path or file is converted to: string, int, int64, float, float64 or bool.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What stands in for an absent or empty value.
    pub default: Option<Value>,
    /// Whether the event fails without a value.
    #[serde(default)]
    pub required: bool,
    /// A note for readers.
    pub description: Option<String>,
}

/// A source that is more than a path: exactly one of its keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-lenient" = true))]
pub struct SourceMappingSpec {
    /// An API call whose answer, a JSON object, is the value.
    pub api_call: Option<ApiCallSpec>,
    /// A CEL expression over what is resolved so far.
    pub expression: Option<String>,
    /// A file whose content is the value; it is read for every event.
    pub file: Option<FileSourceSpec>,
}

/// A file to read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSourceSpec {
    /// The file's path.
    pub path: String,
    /// Whether surrounding white space is dropped; it is, unless this is false.
    pub trim: Option<bool>,
}

/// An HTTP call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiCallSpec {
    /// The HTTP method.
    pub method: MethodSpec,
    /// The URL, absolute or relative to the API's base; a template.
    pub url: String,
    /// The time for one attempt, such as `10s`; the API client's own by default.
    pub timeout: Option<String>,
    /// Attempts in total, if above zero; the API client's own by default.
    pub retry_attempts: Option<i64>,
    /// How the delay between attempts grows: exponential, linear or constant.
    pub retry_backoff: Option<String>,
    /// The body, a template; not sent with GET and DELETE.
    pub body: Option<String>,
    /// Headers, in order.
    #[serde(default)]
    pub headers: Vec<HeaderSpec>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the methods of RFC 9110")]
pub enum MethodSpec {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// An HTTP header.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderSpec {
    /// The header's name.
    pub name: String,
    /// The header's value; a template.
    #[serde(default)]
    pub value: String,
}

/// What must hold before resources are touched. At least one of `api_call`, `conditions` and `expression`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreconditionSpec {
    /// Its name; with an `api_call` also the variable that holds the response.
    pub name: String,
    /// A line to log before it is evaluated.
    pub log: Option<LogSpec>,
    /// A call whose response its captures read. Deprecated: a param with an `api_call` source does the same.
    pub api_call: Option<ApiCallSpec>,
    /// Values taken from the response; they become variables.
    #[serde(default)]
    pub capture: Vec<CaptureSpec>,
    /// Conditions that must all hold.
    #[serde(default)]
    pub conditions: Vec<ConditionSpec>,
    /// A CEL expression that must be true; ignored beside `conditions`.
    pub expression: Option<String>,
}

/// A line to log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// The text; a template.
    pub message: Option<String>,
    /// debug, info, warn or error; info by default.
    pub level: Option<String>,
}

/// A value taken from a precondition's response: exactly one of `field` and `expression`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureSpec {
    /// The variable's name.
    pub name: String,
    /// A path into the response, such as `status.phase` or `{.items[0].id}`.
    pub field: Option<String>,
    /// A CEL expression over the response's keys.
    pub expression: Option<String>,
    /// What stands in for a field that is not there.
    pub default: Option<Value>,
}

/// A comparison.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionSpec {
    /// A path into the variables. Without one, null is compared.
    #[serde(default)]
    pub field: String,
    /// How it is compared.
    pub operator: OperatorSpec,
    /// What it is compared with; a list for `in` and `notIn`, nothing for `exists`.
    pub value: Option<Value>,
    /// A synonym of `value`.
    pub values: Option<Value>,
}

/// How a condition compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "named as in the task file")]
pub enum OperatorSpec {
    Equals,
    NotEquals,
    In,
    NotIn,
    Contains,
    GreaterThan,
    LessThan,
    Exists,
}

/// One object to reconcile.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceSpec {
    /// Its name, unique in the task: `resources.<name>` in expressions. Required, unless `alias` is given.
    pub name: Option<String>,
    /// A synonym of `name`.
    pub alias: Option<String>,
    /// Where it is applied; the Kubernetes API by default.
    pub transport: Option<TransportSpec>,
    /// What is applied: a mapping, a block of text, or `{ ref: file }`. Templates throughout; `kind` and
    /// `apiVersion` must be fixed.
    #[schemars(extend("x-cure" = "add `manifest: {apiVersion: …, kind: …, metadata: {name: …}}`, which says what kind of object to \
        look for; if the entry shall only patch or disown an object, add `lifecycle: {apply: {when: {expression: \"false\"}}}`, too"))]
    pub manifest: ManifestSpec,
    /// How its live objects are found.
    #[schemars(extend("x-cure" = "add `discovery: {by_name: …}` with the name that the manifest has, and `namespace: …` if it has one; an \
        owner and what it owns are found that way, too"))]
    pub discovery: DiscoverySpec,
    /// Objects inside the discovered one that become `resources.<name>`, too.
    #[serde(default)]
    pub nested_discoveries: Vec<NestedDiscoverySpec>,
    /// Whether a newer generation replaces the object instead of updating it. Not together with `lifecycle.recreate`.
    #[serde(default)]
    pub recreate_on_change: bool,
    /// Asked before every write but deletion and disowning; false leaves the object alone on this event.
    #[schemars(extend("x-cure" = "write `when: {expression: \"…\"}`, or remove `when`"))]
    pub when: Option<WhenSpec>,
    /// The resource that its objects belong to, as their `ownerReferences` say: Kubernetes deletes them after it.
    #[schemars(extend("x-cure" = "write `owner: {resource: …}` with the name of an earlier entry, or remove `owner`"))]
    pub owner: Option<OwnerSpec>,
    /// How many former versions are kept, and for how long. With it, a recreation adds a version instead of replacing the
    /// live one; the name in the manifest must then differ from version to version, and `discovery` go by labels.
    #[schemars(extend("x-cure" = "write `retention: {historyLimit: 3}`, `retention: {ttl: 24h}`, or both; without `retention`, a recreation \
        deletes the former version"))]
    pub retention: Option<RetentionSpec>,
    /// When it is created, written, patched, replaced, disowned and deleted.
    pub lifecycle: Option<LifecycleSpec>,
}

/// The owner of a resource's objects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnerSpec {
    /// The name of an earlier resource of the kubernetes transport without `retention`, in the same namespace or cluster-scoped.
    pub resource: String,
}

/// What is kept of former versions: at least one of the two limits. What exceeds either of them is deleted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct RetentionSpec {
    /// How many versions are kept besides the current one, the newest first; 0 keeps none.
    #[serde(rename = "historyLimit")]
    #[schemars(range(min = 0), extend("x-cure" = "write how many versions are kept, such as `historyLimit: 3`, or remove `historyLimit`"))]
    pub history_limit: Option<i64>,
    /// How old a version besides the current one may become, such as `24h`.
    #[schemars(extend("format" = DURATION, "x-cure" = "write how old a version may become, such as `ttl: 24h`, or remove `ttl`"))]
    pub ttl: Option<String>,
}

/// Where a resource is applied.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportSpec {
    /// The kind of target.
    pub client: ClientSpec,
    /// Settings of the maestro transport.
    pub maestro: Option<MaestroSpec>,
}

/// A kind of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named as in the task file")]
pub enum ClientSpec {
    Kubernetes,
    Maestro,
}

/// Settings of the maestro transport.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaestroSpec {
    /// The name of the consumer; a template.
    pub target_cluster: String,
}

/// How live objects are found: exactly one of `by_name` and `by_selectors`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoverySpec {
    /// The namespace, a template; none or empty for cluster-scoped objects, or all namespaces.
    pub namespace: Option<String>,
    /// The object's name; a template.
    pub by_name: Option<String>,
    /// Labels of the objects.
    pub by_selectors: Option<SelectorsSpec>,
}

/// Labels that objects must carry.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectorsSpec {
    /// Every label with the value that it must have; keys and values are templates.
    pub label_selector: BTreeMap<String, String>,
}

/// An object inside a discovered one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NestedDiscoverySpec {
    /// The name that it gets in `resources`.
    pub name: String,
    /// How it is found.
    pub discovery: DiscoverySpec,
}

/// When a resource is created, written, patched, replaced, disowned and deleted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LifecycleSpec {
    /// Asked while the object is absent; false leaves it absent.
    pub create: Option<GateSpec>,
    /// Asked before every creation and update; false leaves the object as it is on this event.
    #[schemars(extend("x-cure" = "write `apply: {when: {expression: \"…\"}}`, or remove `apply`"))]
    pub apply: Option<GateSpec>,
    /// Partial writes onto a live object, each asked on its own; those that hold are sent in order, and then the object is
    /// not updated otherwise on this event.
    #[serde(default)]
    #[schemars(extend("x-cure" = "write `patch: [{when: {expression: \"…\"}, document: {…}}]`, or remove `patch`"))]
    pub patch: Vec<PatchSpec>,
    /// Asked while the object is live; true replaces it by a new one, or adds a version with `retention`.
    #[schemars(extend("x-cure" = "write `recreate: {when: {expression: \"…\"}}`, or remove `recreate`"))]
    pub recreate: Option<GateSpec>,
    /// Asked first; true disowns the object: its management labels go, the object stays, and is never touched again.
    #[schemars(extend("x-cure" = "write `orphan: {when: {expression: \"…\"}}`, or remove `orphan`"))]
    pub orphan: Option<GateSpec>,
    /// A synonym of `orphan`.
    #[schemars(extend("x-cure" = "write `detach: {when: {expression: \"…\"}}`, or remove `detach`"))]
    pub detach: Option<GateSpec>,
    /// Asked after `orphan`, before anything is written; true deletes the object with all its versions.
    pub delete: Option<DeleteSpec>,
}

/// A partial write.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchSpec {
    /// Whether it is sent. It should compare what is live with what is wanted, or it is sent on every event.
    pub when: WhenSpec,
    /// A JSON merge patch (RFC 7396), templates throughout: what it names is set, `null` removes, all else stays. It cannot
    /// change what identifies the object, nor the labels and annotations that it is managed by.
    pub document: Map<String, Value>,
}

/// A step that happens when a condition holds.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateSpec {
    /// The condition.
    pub when: WhenSpec,
}

/// When and how a resource is deleted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSpec {
    /// The condition.
    pub when: WhenSpec,
    /// What becomes of dependents; `Background` by default.
    #[serde(rename = "propagationPolicy")]
    pub propagation_policy: Option<PropagationSpec>,
}

/// What becomes of the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PropagationSpec {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// A condition.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhenSpec {
    /// A CEL expression.
    pub expression: String,
}

/// What is reported.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostSpec {
    /// Values built before the first action; their JSON text becomes a variable.
    #[serde(default)]
    pub payloads: Vec<PayloadSpec>,
    /// What is done with them, in order; the first failure ends it.
    #[serde(default)]
    pub post_actions: Vec<PostActionSpec>,
}

/// A value to build: exactly one of `build` and `build_ref`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PayloadSpec {
    /// The variable that holds its JSON text.
    pub name: String,
    /// What is built. In a mapping, strings and keys are templates, and `{ field | expression, default }` is a value
    /// that keeps its type.
    pub build: Option<Value>,
    /// A file beside the task file that holds what is built.
    pub build_ref: Option<String>,
    /// Whether it is built; always by default.
    pub when: Option<WhenSpec>,
}

/// Something to do after the resources.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostActionSpec {
    /// Its name.
    pub name: String,
    /// A call to make.
    pub api_call: Option<ApiCallSpec>,
    /// A line to log.
    pub log: Option<LogSpec>,
    /// Whether it is done; always by default.
    pub when: Option<WhenSpec>,
}
