//! The shapes on the wire: requests, results, events.
//!
//! In: params. Out: results. Embedded JSON (pack, configuration, state, schema) travels as text in a string. A member that is
//! `null` or missing means the empty value, an unknown member is ignored, and a member of another type is an error.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// One line from the client. The member `jsonrpc` is not checked.
#[derive(Debug, Deserialize)]
pub(crate) struct Request<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) method: String,
    /// `Some` for `null`, too: that is the empty request, and missing params are an error.
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) params: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Params of `validate_config`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ValidateRequest {
    /// The deploy configuration.
    #[serde(deserialize_with = "nullable")]
    pub config: String,
}

/// Params of `plan` and `apply`. The plan is not passed to `apply`: it is computed again.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlanRequest {
    /// The compiled pack.
    #[serde(deserialize_with = "nullable")]
    pub pack_json: String,
    /// The deploy configuration.
    #[serde(deserialize_with = "nullable")]
    pub deploy_config: String,
    /// The arena's configuration.
    #[serde(deserialize_with = "nullable")]
    pub arena_config: String,
    /// The environment's name.
    #[serde(deserialize_with = "nullable")]
    pub environment: String,
    /// The state that the last call returned.
    #[serde(deserialize_with = "nullable")]
    pub prior_state: String,
    /// Extensions, which other adapters ignore.
    #[serde(deserialize_with = "nullable")]
    pub lifecycle: Extensions,
}

/// Params of `destroy` and `status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DestroyRequest {
    /// The deploy configuration.
    #[serde(deserialize_with = "nullable")]
    pub deploy_config: String,
    /// The environment's name.
    #[serde(deserialize_with = "nullable")]
    pub environment: String,
    /// The state that the last call returned.
    #[serde(deserialize_with = "nullable")]
    pub prior_state: String,
    /// Extensions, which other adapters ignore.
    #[serde(deserialize_with = "nullable")]
    pub lifecycle: Extensions,
}

/// Params of `import`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ImportRequest {
    /// The resource's type.
    #[serde(deserialize_with = "nullable")]
    pub resource_type: String,
    /// The name that the resource gets.
    #[serde(deserialize_with = "nullable")]
    pub resource_name: String,
    /// What the provider calls the existing resource.
    #[serde(deserialize_with = "nullable")]
    pub identifier: String,
    /// The deploy configuration.
    #[serde(deserialize_with = "nullable")]
    pub deploy_config: String,
    /// The environment's name.
    #[serde(deserialize_with = "nullable")]
    pub environment: String,
    /// The state that the last call returned.
    #[serde(deserialize_with = "nullable")]
    pub prior_state: String,
}

/// What a client may ask for beyond the protocol, in the member `lifecycle`.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub struct Extensions {
    /// Write each event at once, as a line of its own before the answer.
    #[serde(deserialize_with = "nullable")]
    pub stream: bool,
    /// Answer a failure with a result, which has the member `error`.
    #[serde(deserialize_with = "nullable")]
    pub partial: bool,
}

/// Params of `get_login_url`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct LoginUrlRequest {
    /// Where the browser goes after the login.
    #[serde(deserialize_with = "nullable")]
    pub callback_url: String,
    /// A random value, which comes back with the login.
    #[serde(deserialize_with = "nullable")]
    pub state: String,
    /// The deploy configuration.
    #[serde(deserialize_with = "nullable")]
    pub config: String,
}

/// Result of `get_login_url`.
#[derive(Debug, Serialize)]
pub struct LoginUrl {
    /// The page to open in a browser.
    pub authorize_url: String,
}

/// Params of `complete_login`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct LoginRequest {
    /// What the browser passed to the callback.
    #[serde(deserialize_with = "nullable")]
    pub params: BTreeMap<String, String>,
    /// The deploy configuration.
    #[serde(deserialize_with = "nullable")]
    pub config: String,
}

/// Result of `complete_login`.
#[derive(Debug, Serialize)]
pub struct Login {
    /// The configuration that the login gives.
    pub profile: serde_json::Map<String, serde_json::Value>,
    /// The credential, which the client stores.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token: String,
}

/// What an adapter can do. The client reads only `login`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// It plans.
    Plan,
    /// It applies.
    Apply,
    /// It destroys.
    Destroy,
    /// It tells how the resources are.
    Status,
    /// It has `get_login_url` and `complete_login`.
    Login,
    /// It checks the account and the rights before a deployment.
    Diagnose,
    /// It writes events at once when `lifecycle.stream` asks for it.
    Stream,
}

/// Result of `get_provider_info`.
#[derive(Debug, Clone, Serialize)]
pub struct ProviderInfo {
    /// The provider's name, as in the program's name.
    pub name: String,
    /// The adapter's version.
    pub version: String,
    /// What it can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// The JSON Schema (draft-07) of the configuration, as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_schema: String,
}

/// Result of `validate_config`.
#[derive(Debug, Serialize)]
pub(crate) struct Validation {
    pub(crate) valid: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// What is to happen, or has happened, to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Action {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// It stays as it is.
    NoChange,
    /// It differs from what was deployed.
    Drift,
}

/// One line of a plan.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The resource's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// What is to happen.
    pub action: Action,
    /// Why, or what differs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Result of `plan`. The list of changes is written even if it is empty.
#[derive(Debug, Default, Serialize)]
pub struct Plan {
    /// What is to happen, in order.
    pub changes: Vec<Change>,
    /// One sentence.
    pub summary: String,
    /// What the user should know first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A link to a page about a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Its text.
    pub label: String,
    /// Its address.
    pub url: String,
    /// What the page is to the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rel: String,
}

/// What kind of news an event is. The client shows `resource` and `error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A step begins.
    Progress,
    /// Something happened to a resource.
    Resource,
    /// Something failed.
    Error,
    /// The call is at its end.
    Complete,
}

/// What became of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceStatus {
    /// It was created.
    Created,
    /// It was changed.
    Updated,
    /// It was deleted.
    Deleted,
    /// It could not be written or deleted, or did not become ready.
    Failed,
    /// A dry run would write it: it does not exist.
    Planned,
    /// It was as it should be.
    Unchanged,
}

/// A resource in an event.
#[derive(Debug, Clone, Serialize)]
pub struct ResourceResult {
    /// The resource's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// What was to happen.
    pub action: Action,
    /// What became of it.
    pub status: ResourceStatus,
    /// Its identifier, or the reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Pages about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// News of a running call.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// What kind of news.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// One sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The resource that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceResult>,
}

/// How a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It serves.
    Healthy,
    /// It does not serve, or could not be asked.
    Unhealthy,
    /// It does not exist.
    Missing,
}

/// How the whole is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// Everything is healthy.
    Deployed,
    /// Nothing exists.
    NotDeployed,
    /// Something is unhealthy or missing.
    Degraded,
    /// It cannot be told.
    Unknown,
}

/// A resource and how it is.
#[derive(Debug, Clone, Serialize)]
pub struct ResourceHealth {
    /// The resource's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// How it is.
    pub status: Health,
    /// The reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Pages about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// Result of `status`.
#[derive(Debug, Serialize)]
pub(crate) struct StatusResult {
    pub(crate) status: Aggregate,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<ResourceHealth>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) state: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<Link>,
}

/// Result of `import`.
#[derive(Debug, Serialize)]
pub(crate) struct ImportResult {
    pub(crate) resource: ResourceHealth,
    pub(crate) state: String,
}
