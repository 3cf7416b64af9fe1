//! The task file as its author writes it.
//!
//! Each doc comment of a field is its description in the published JSON Schema. [`lifecycle_config::decode`]
//! checks a file against the schema, so a key exists if and only if a field has its name. Text with a grammar
//! of its own (expressions, templates, paths) stays text here; [`super::compile`] parses it.

mod bundle;
mod shapes;

use std::collections::BTreeMap;

use lifecycle_config::decode::DURATION;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::bundle::{BundleSpec, MissingNamespacesSpec, PoliciesSpec, ReadySpec};
pub use self::shapes::{ManifestSpec, SourceSpec};

/// The task file: params, preconditions, resources and post actions, handled in this order for each event.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// Variables, resolved in order before the preconditions.
    #[serde(default)]
    pub params: Vec<ParamSpec>,
    /// What has to hold before the adapter writes to resources, in order; the first that does not hold ends
    /// the phase.
    #[serde(default)]
    pub preconditions: Vec<PreconditionSpec>,
    /// When the adapter reads live objects: `when_met`, the default, or `always`. With `always`, post actions
    /// can read `resources` although a precondition is not met or fails; the adapter then writes, deletes and
    /// decides nothing.
    #[serde(default)]
    pub discover: DiscoverSpec,
    /// The objects to reconcile, in order.
    #[serde(default)]
    pub resources: Vec<ResourceSpec>,
    /// The payloads and actions with which the adapter reports after the resources, also after a failure.
    pub post: Option<PostSpec>,
}

/// When the adapter reads live objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscoverSpec {
    /// The adapter reads live objects only if every precondition is met, as in the Go adapter.
    #[default]
    WhenMet,
    /// The adapter reads live objects for every event, also if a precondition is not met or fails.
    Always,
}

/// A param: one variable that is set for each event.
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
    /// The value to use if the source has none, or an empty one.
    pub default: Option<Value>,
    /// Whether the event fails without a value.
    #[serde(default)]
    pub required: bool,
    /// What a source that fails does, unlike one without a value: `fail`, the default, fails the event; `default`
    /// uses `default`, with a warning.
    #[serde(default)]
    pub on_error: OnErrorSpec,
    /// Whether the value is secret: logs, traces, `/passes` and the messages of errors show `[redacted]` in its place, and in
    /// place of what is derived from it. Without the key, a value is secret if it comes from a file, from a variable of the
    /// environment with the name of a credential, or from a redacted part of `config`, or is derived from a secret one.
    pub sensitive: Option<bool>,
    /// A remark for readers; the adapter ignores it.
    pub description: Option<String>,
}

/// What the failure of a param's source does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnErrorSpec {
    /// The event fails, because nothing is known of the value.
    #[default]
    Fail,
    /// The event goes on with the param's default.
    Default,
}

/// A source that is not a path: exactly one of these keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-lenient" = true))]
pub struct SourceMappingSpec {
    /// An API call; its response, a JSON object, is the value.
    pub api_call: Option<ApiCallSpec>,
    /// A CEL expression, which can read the params before this one.
    pub expression: Option<String>,
    /// A file whose content is the value; read for every event.
    pub file: Option<FileSourceSpec>,
}

/// A file whose content becomes the value of a param.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSourceSpec {
    /// The path of the file in the adapter's file system.
    pub path: String,
    /// Whether to drop white space around the content; true by default.
    pub trim: Option<bool>,
}

/// An HTTP call of a param, precondition or post action.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiCallSpec {
    /// The HTTP method of the request.
    pub method: MethodSpec,
    /// The URL: absolute, or relative to the base URL of the API; a template.
    pub url: String,
    /// The time limit of one attempt, such as `10s`; by default the API client's own.
    pub timeout: Option<String>,
    /// Attempts in total, if above zero; by default the API client's own number.
    pub retry_attempts: Option<i64>,
    /// How the delay between attempts grows: exponential, linear or constant.
    pub retry_backoff: Option<String>,
    /// The body, a template; GET and DELETE requests are sent without it.
    pub body: Option<String>,
    /// The headers of the request, in order.
    #[serde(default)]
    pub headers: Vec<HeaderSpec>,
}

/// The HTTP methods that a call can have.
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

/// An HTTP header of a call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderSpec {
    /// The header's name, such as `Content-Type`.
    pub name: String,
    /// The header's value; a template.
    #[serde(default)]
    pub value: String,
}

/// What has to hold before the adapter writes to resources: at least one of `api_call`, `conditions` and
/// `expression`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreconditionSpec {
    /// The precondition's name; with an `api_call` also the variable of the response.
    pub name: String,
    /// A line to log before the precondition is evaluated.
    pub log: Option<LogSpec>,
    /// A call whose response the captures read. Deprecated: use a param with an `api_call` source.
    pub api_call: Option<ApiCallSpec>,
    /// Values taken from the response; they become variables.
    #[serde(default)]
    pub capture: Vec<CaptureSpec>,
    /// Conditions, which all have to be met.
    #[serde(default)]
    pub conditions: Vec<ConditionSpec>,
    /// A CEL expression that has to be true; ignored beside `conditions`.
    pub expression: Option<String>,
}

/// A line that the adapter logs on behalf of the task.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// The text to log; a template.
    pub message: Option<String>,
    /// The level: debug, info, warn or error; info by default.
    pub level: Option<String>,
}

/// A value taken from a precondition's response: exactly one of `field` and `expression`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureSpec {
    /// The name of the variable that the capture sets.
    pub name: String,
    /// A path into the response, such as `status.phase` or `{.items[0].id}`.
    pub field: Option<String>,
    /// A CEL expression over the response's keys.
    pub expression: Option<String>,
    /// The value to use if the response lacks the field.
    pub default: Option<Value>,
}

/// A condition of a precondition: a comparison of a value with an expected one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionSpec {
    /// A path into the variables. If it is empty, the condition compares null.
    #[serde(default)]
    pub field: String,
    /// How the field is compared with the value.
    pub operator: OperatorSpec,
    /// The value to compare with: a list for `in` and `notIn`, none for `exists`.
    pub value: Option<Value>,
    /// A synonym of `value`.
    pub values: Option<Value>,
}

/// The comparisons that a condition can make.
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

/// An entry of `resources`: an object to reconcile, with all of its versions, or a bundle of objects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = json!({ "required": ["bundle"] }), "else" = json!({ "required": ["manifest", "discovery"] })))]
pub struct ResourceSpec {
    /// The resource's name, unique in the task: `resources.<name>` in expressions. Required, unless `alias`
    /// is given.
    pub name: Option<String>,
    /// A synonym of `name`.
    pub alias: Option<String>,
    /// The transport to write with; `kubernetes` by default, and the only one that a bundle can have.
    pub transport: Option<TransportSpec>,
    /// Many objects to keep as one set, in place of `manifest` and `discovery`. The entry's own object is the bundle's
    /// parent, a `ConfigMap` that the adapter writes before the objects and deletes after them; `when` and the gates
    /// `create`, `apply`, `delete` and `orphan` decide about the bundle as a whole.
    #[schemars(extend("x-cure" = "write `bundle: {manifests: [{ref: …}]}` with the objects of the bundle, or remove `bundle`"))]
    pub bundle: Option<BundleSpec>,
    /// Required, unless `bundle` is given. The object to create and update: a mapping, a block of text, or `{ ref: file }`.
    /// All strings are templates; `kind` and `apiVersion` must be fixed.
    #[schemars(extend("x-cure" = "add `manifest: {apiVersion: …, kind: …, metadata: {name: …}}`, which says what kind of object to \
        look for; if the entry shall only patch or disown an object, add `lifecycle: {apply: {when: {expression: \"false\"}}}`, too"))]
    pub manifest: Option<ManifestSpec>,
    /// Required, unless `bundle` is given. How the adapter finds the resource's live objects.
    #[schemars(extend("x-cure" = "add `discovery: {by_name: …}` with the name that the manifest has, and `namespace: …` if it has one; an \
        owner and what it owns are found that way, too"))]
    pub discovery: Option<DiscoverySpec>,
    /// Objects inside the discovered one, such as the manifests of a ManifestWork, that become
    /// `resources.<name>` too. Not together with `bundle`.
    #[serde(default)]
    pub nested_discoveries: Vec<NestedDiscoverySpec>,
    /// Whether an update may take over an object that no adapter wrote: one without the annotation
    /// `hyperfleet.io/generation` and without the label `hyperfleet.io/adapter` of this adapter. The update forces its
    /// fields and stamps the object, which the adapter may then delete. Without `adopt`, such an object is left alone.
    /// Not together with `bundle`, whose `policies.adoption` says the same of each object.
    #[serde(default)]
    #[schemars(extend("x-cure" = "write `adopt: true` to take over an object that no adapter wrote, or remove `adopt`"))]
    pub adopt: bool,
    /// Whether a newer generation replaces the object instead of updating it. Not together with `lifecycle.recreate`
    /// or `bundle`.
    #[serde(default)]
    pub recreate_on_change: bool,
    /// The gate before every write but deletion and disowning: if it is false, this event leaves the object
    /// as it is.
    #[schemars(extend("x-cure" = "write `when: {expression: \"…\"}`, or remove `when`"))]
    pub when: Option<WhenSpec>,
    /// The resource that owns these objects in their `ownerReferences`: Kubernetes deletes them after it.
    /// Not together with `bundle`.
    #[schemars(extend("x-cure" = "write `owner: {resource: …}` with the name of an earlier entry, or remove `owner`"))]
    pub owner: Option<OwnerSpec>,
    /// How many former versions to keep, and for how long. With it, a recreation adds a version instead of
    /// replacing the live one; the manifest's name must then differ from version to version, and `discovery`
    /// select by labels. Not together with `bundle`.
    #[schemars(extend("x-cure" = "write `retention: {historyLimit: 3}`, `retention: {ttl: 24h}`, or both; without `retention`, a recreation \
        deletes the former version"))]
    pub retention: Option<RetentionSpec>,
    /// When the object is created, updated, patched, replaced, disowned and deleted.
    pub lifecycle: Option<LifecycleSpec>,
}

impl ResourceSpec {
    /// The name of the resource, from either of its keys.
    #[must_use]
    pub fn any_name(&self) -> Option<&str> {
        let names = self.name.iter().chain(&self.alias);
        names.map(String::as_str).find(|name| !name.is_empty())
    }
}

/// The owner of a resource's objects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnerSpec {
    /// The name of an earlier resource of the kubernetes transport without `retention`, in the same namespace or cluster-scoped.
    pub resource: String,
}

/// How many former versions to keep, and for how long: at least one of the two limits. Versions beyond either
/// limit are deleted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct RetentionSpec {
    /// How many versions to keep besides the current one, the newest first; 0 keeps none.
    #[serde(rename = "historyLimit")]
    #[schemars(range(min = 0), extend("x-cure" = "write how many versions are kept, such as `historyLimit: 3`, or remove `historyLimit`"))]
    pub history_limit: Option<i64>,
    /// How old a version other than the current one may become, such as `24h`.
    #[schemars(extend("format" = DURATION, "x-cure" = "write how old a version may become, such as `ttl: 24h`, or remove `ttl`"))]
    pub ttl: Option<String>,
}

/// How the adapter reaches the cluster in which a resource lives.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportSpec {
    /// How the adapter reaches the cluster: through the Kubernetes API or through Maestro.
    pub client: ClientSpec,
    /// Settings of the maestro transport.
    pub maestro: Option<MaestroSpec>,
}

/// The ways in which the adapter can reach a cluster.
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
    /// The name of the Maestro consumer; a template.
    pub target_cluster: String,
}

/// How the adapter finds live objects: exactly one of `by_name` and `by_selectors`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoverySpec {
    /// The namespace, a template; none or empty for cluster-scoped objects, and to search all namespaces.
    pub namespace: Option<String>,
    /// The object's name; a template.
    pub by_name: Option<String>,
    /// The labels that select the objects.
    pub by_selectors: Option<SelectorsSpec>,
}

/// Labels that an object has to carry.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectorsSpec {
    /// Each label with its required value; keys and values are templates.
    pub label_selector: BTreeMap<String, String>,
}

/// An object to find inside a discovered one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NestedDiscoverySpec {
    /// The object's name in `resources`.
    pub name: String,
    /// How the adapter finds the object.
    pub discovery: DiscoverySpec,
}

/// When a resource is created, updated, patched, replaced, disowned and deleted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LifecycleSpec {
    /// The gate of a creation, asked while the object is absent; if it is false, the object stays absent.
    pub create: Option<GateSpec>,
    /// The gate of every creation and update; if it is false, this event leaves the object as it is.
    #[schemars(extend("x-cure" = "write `apply: {when: {expression: \"…\"}}`, or remove `apply`"))]
    pub apply: Option<GateSpec>,
    /// Partial writes to a live object, each with its own gate. The patches whose gates hold are sent in
    /// order, and the event then makes no other update. Not together with `bundle`.
    #[serde(default)]
    #[schemars(extend("x-cure" = "write `patch: [{when: {expression: \"…\"}, document: {…}}]`, or remove `patch`"))]
    pub patch: Vec<PatchSpec>,
    /// The gate of a replacement, asked while the object is live; if it is true, a new object replaces this
    /// one, or becomes a further version with `retention`. Not together with `bundle`.
    #[schemars(extend("x-cure" = "write `recreate: {when: {expression: \"…\"}}`, or remove `recreate`"))]
    pub recreate: Option<GateSpec>,
    /// The first gate asked; if it is true, the adapter disowns the object: removes its own labels, and never
    /// writes to the object again.
    #[schemars(extend("x-cure" = "write `orphan: {when: {expression: \"…\"}}`, or remove `orphan`"))]
    pub orphan: Option<GateSpec>,
    /// A synonym of `orphan`.
    #[schemars(extend("x-cure" = "write `detach: {when: {expression: \"…\"}}`, or remove `detach`"))]
    pub detach: Option<GateSpec>,
    /// The gate of a deletion, asked after `orphan` and before every write; if it is true, the adapter
    /// deletes all versions of the object.
    pub delete: Option<DeleteSpec>,
}

/// An entry of `lifecycle.patch`: a partial write and its gate.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchSpec {
    /// Whether to send the patch. Compare the live value with the wanted one, or every event sends the patch
    /// again.
    pub when: WhenSpec,
    /// A JSON merge patch (RFC 7396) of templates: sets each field that it names, removes those with `null`,
    /// and leaves all others. It cannot change the object's name, kind or owner, nor the adapter's labels and
    /// annotations.
    pub document: Map<String, Value>,
}

/// A gate of a resource: the condition of one action of its lifecycle.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateSpec {
    /// The condition that decides whether the gate is true.
    pub when: WhenSpec,
}

/// The gate of a deletion, and how to delete.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSpec {
    /// The condition under which the adapter deletes the objects.
    pub when: WhenSpec,
    /// What the API server does with the dependents of the deleted objects; `Background` by default.
    #[serde(rename = "propagationPolicy")]
    pub propagation_policy: Option<PropagationSpec>,
}

/// Kubernetes' deletion propagation policies: what becomes of the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PropagationSpec {
    /// The API server deletes the dependents after the object.
    Background,
    /// The API server deletes the dependents before the object.
    Foreground,
    /// The API server keeps the dependents.
    Orphan,
}

/// The condition of a gate, a payload or a post action.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhenSpec {
    /// The condition as a CEL expression.
    pub expression: String,
}

/// The adapter's report after the resources: payloads, and the actions that send them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostSpec {
    /// Payloads, built before the first action; the JSON text of each becomes a variable.
    #[serde(default)]
    pub payloads: Vec<PayloadSpec>,
    /// Actions that send the payloads, in order; the first failure ends them.
    #[serde(default)]
    pub post_actions: Vec<PostActionSpec>,
}

/// A payload: exactly one of `build` and `build_ref`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PayloadSpec {
    /// The variable of the payload's JSON text.
    pub name: String,
    /// The payload. Strings and keys of a mapping are templates, and `{ field | expression, default }`
    /// becomes a value that keeps its type.
    pub build: Option<Value>,
    /// A file beside the task file, with the content of `build`.
    pub build_ref: Option<String>,
    /// Whether to build the payload; always by default.
    pub when: Option<WhenSpec>,
}

/// An action after the resources.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostActionSpec {
    /// The action's name in logs and errors.
    pub name: String,
    /// The API call to make.
    pub api_call: Option<ApiCallSpec>,
    /// A line to log when the action runs.
    pub log: Option<LogSpec>,
    /// Whether to run the action; always by default.
    pub when: Option<WhenSpec>,
}
