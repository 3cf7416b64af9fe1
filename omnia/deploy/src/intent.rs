//! A deployment as one request, which newer servers of today's API take instead of an object each.
//!
//! In: what a pack needs, as [`desired`](crate::desired) says it for today's API. Out: the body of the request, and later what the
//! server did. Fails never: where the request cannot say all of it, is too large, or is refused as unknown, the objects are written
//! one by one, and [`Unfit`] says why.

use std::collections::BTreeMap;

use lifecycle_objects::proof::hexadecimal;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::binding::Binding;
use crate::desired::{Desired, Inputs};
use crate::failure::Failure;
use crate::kinds::Kind;
use crate::labels;

/// The version of the request that is written here.
pub const API_VERSION: &str = "deploy.omnia.altairalabs.ai/v1";
/// The most bytes of a request that servers take.
const LIMIT: usize = 4 * 1024 * 1024;

/// Why a deployment is not made by one request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The request has no field for a token that all callers share, and who may call must not be lost.
    #[error("a deployment in one request cannot say `externalAuth.sharedToken`")]
    SharedToken,
    /// The request is too large.
    #[error("a deployment in one request would have {0} bytes, and servers take {LIMIT}")]
    TooLarge(usize),
}

/// What the server did with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The kind in Kubernetes.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// What was done.
    pub action: Action,
    /// The page of the object.
    pub url: Option<String>,
}

/// What was done with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It is new.
    Created,
    /// It was changed.
    Updated,
    /// It was as it should be.
    Unchanged,
    /// It could not be written; why.
    Failed(String),
}

/// Whether the server takes this request, by its profile.
#[must_use]
pub fn is_supported(profile: &Value) -> bool {
    let versions = profile.get("supportedDeployIntentVersions").and_then(Value::as_array);
    versions.is_some_and(|versions| versions.iter().any(|version| version == API_VERSION))
}

/// Whether a refusal says that the server does not know this request. Any other refusal is about the deployment.
#[must_use]
pub fn is_unknown(failure: &Failure) -> bool {
    match failure {
        Failure::Refused { status: 404 | 405, .. } => true,
        Failure::Refused { status: 400, message } => message.contains("apiVersion"),
        Failure::Refused { .. } | Failure::TimedOut(_) | Failure::Unreachable(_) | Failure::Unexpected(_) => false,
    }
}

/// The name under which the server keeps a version of a pack. Versions are immutable: another content needs another version.
#[must_use]
pub fn pack_object(name: &str, version: &str) -> String {
    format!("pp-{}", &hexadecimal(&Sha256::digest(format!("{name}@{version}")))[..12])
}

/// Writes the request. The credentials are the values of [`Desired::variables`] that are set.
///
/// # Errors
/// The request cannot say all of it, or is too large.
pub fn request(inputs: &Inputs<'_>, desired: &Desired, credentials: &BTreeMap<String, String>) -> Result<Value, Unfit> {
    let (pack, config) = (inputs.pack, inputs.config);
    let body = |kind: Kind| desired.objects.iter().find(|object| object.kind == kind).map(|object| &object.body);
    let at = |kind: Kind, pointer: &str| body(kind).and_then(|body| body.pointer(pointer)).cloned();
    if config.external_auth.as_ref().is_some_and(|auth| auth.get("sharedToken").is_some()) {
        return Err(Unfit::SharedToken);
    }
    let tools = match inputs.binding {
        Binding::Bind(name) => Some(json!({ "ref": name })),
        Binding::Create => at(Kind::ToolRegistry, "/spec/handlers").map(|handlers| json!({ "handlers": handlers })),
        Binding::None => None,
    };
    let blocklist = Some(pack.blocklist()).filter(|blocklist| !blocklist.is_empty());
    let runtimes = desired.objects.iter().filter(|object| object.kind == Kind::AgentRuntime);
    let agents = desired.names.agents.iter().zip(runtimes).map(|(agent, runtime)| {
        let prompt = agent.prompt.as_ref().or(agent.member.as_ref());
        self::agent(inputs, &runtime.name, prompt, &runtime.body["spec"], tools.is_some())
    });
    let mut own = labels::of(&pack.id, &pack.version, "", &config.labels);
    own.remove(labels::RESOURCE_TYPE);
    let version = json!({
        "name": desired.names.pack, "version": pack.version, "content": at(Kind::PromptPack, "/content"),
        "skills": at(Kind::PromptPack, "/spec/skills"), "skillsConfig": at(Kind::PromptPack, "/spec/skillsConfig"),
    });
    let request = without_nulls(json!({
        "apiVersion": API_VERSION,
        "pack": without_nulls(version),
        "tools": tools,
        "policy": blocklist.map(|blocklist| json!({ "toolBlocklist": blocklist })),
        "agents": agents.collect::<Vec<_>>(),
        "labels": own,
        "credentials": (!credentials.is_empty()).then(|| json!({ "data": credentials })),
    }));
    match request.to_string().len() {
        size if size > LIMIT => Err(Unfit::TooLarge(size)),
        _ => Ok(request),
    }
}

fn agent(inputs: &Inputs<'_>, name: &str, prompt: Option<&String>, spec: &Value, has_tools: bool) -> Value {
    let config = inputs.config;
    let mut runtime = spec.get("runtime").cloned().unwrap_or_default();
    // The prompt has a field of its own here, from which the server makes the variable.
    if let Some(runtime) = runtime.as_object_mut() {
        runtime.remove("extraEnv");
    }
    let auth = spec.get("externalAuth").map(|auth| {
        without_nulls(
            json!({ "clientKeys": auth.get("apiKeys"), "oidc": auth.get("oidc"), "edgeTrust": auth.get("edgeTrust") }),
        )
    });
    let evals = config.evals.as_ref().map(|evals| {
        let groups = |place: &str| evals.pointer(&format!("/{place}/groups"));
        let (inline, worker) = (groups("inline"), groups("worker"));
        without_nulls(json!({ "enabled": evals.get("enabled"), "inlineGroups": inline, "workerGroups": worker }))
    });
    let rollout = config
        .rollout
        .as_ref()
        .map(|rollout| json!({ "trigger": { "promptPackChannel": rollout.channel }, "steps": rollout.steps }));
    without_nulls(json!({
        "name": name,
        "promptName": prompt,
        "providers": spec.get("providers"),
        "runtime": Some(runtime).filter(|runtime| runtime.as_object().is_some_and(|runtime| !runtime.is_empty())),
        "facades": spec.get("facades"),
        "useTools": has_tools.then_some(true),
        "externalAuth": auth,
        "memory": config.memory,
        "evals": evals,
        "rollout": rollout,
    }))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value,
    }
}

/// Reads the server's answer. What it does not say clearly has failed.
#[must_use]
pub fn results(answer: &Value) -> Vec<Done> {
    let result = |result: &Value| {
        let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
        let error = text("error");
        let action = match text("action").as_deref() {
            Some("created") => Action::Created,
            Some("updated") => Action::Updated,
            Some("unchanged") => Action::Unchanged,
            Some("failed") | None => Action::Failed(error.unwrap_or_else(|| "the server does not say why".to_owned())),
            Some(other) => Action::Failed(format!("the server answered the action `{other}`")),
        };
        Done {
            kind: text("kind").unwrap_or_default(),
            name: text("name").unwrap_or_default(),
            action,
            url: text("url"),
        }
    };
    answer.get("results").and_then(Value::as_array).into_iter().flatten().map(result).collect()
}

#[cfg(test)]
mod tests;
