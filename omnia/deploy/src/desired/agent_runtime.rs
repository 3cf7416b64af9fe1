//! The `AgentRuntime`, which runs an agent.
//!
//! In: an agent, its providers, its tools, and how it runs. Out: the spec for each target. Fails: in Kubernetes, if the runtime's
//! Service could not have its name.

use serde_json::{Map, Value, json};

use super::{Making, Surface, filled, present};
use crate::names::Agent;

/// The most characters of a Service's name, and of a label with it.
const SERVICE_LIMIT: usize = 63;
/// The environment variable that tells a runtime which prompt it serves.
const PROMPT_NAME: &str = "OMNIA_PROMPT_NAME";

pub(super) fn content(making: &Making<'_>, agent: &Agent) -> Map<String, Value> {
    let spec = match making.inputs.surface {
        Surface::Versioned => versioned(making, agent),
        Surface::Current => current(making, agent),
        Surface::Cluster => cluster(making, agent),
    };
    present([("spec", Some(spec.into()))])
}

fn versioned(making: &Making<'_>, agent: &Agent) -> Map<String, Value> {
    let config = making.inputs.config;
    present([
        ("promptPackRef", Some(json!(making.names.pack))),
        ("agentName", agent.member.as_ref().map(|name| json!(name))),
        ("providerRef", config.provider_of(agent.member.as_deref()).map(|provider| json!(provider.reference))),
        ("replicas", config.runtime.replicas.map(|replicas| json!(replicas))),
        ("resources", requests(making)),
        ("toolRegistryRef", making.registry().map(|name| json!(name))),
        ("agentPolicyRef", making.has_policy().then(|| json!(making.names.policy))),
    ])
}

fn current(making: &Making<'_>, agent: &Agent) -> Map<String, Value> {
    let config = making.inputs.config;
    // Whether Omnia's own console may call an agent is said at its door, the rest of who may at the agent.
    let mut auth = config.external_auth.clone();
    let allowed = auth.as_mut().and_then(Value::as_object_mut).and_then(|auth| auth.remove("allowManagementPlane"));
    let door = [
        ("type", Some(json!("websocket"))),
        ("handler", Some(json!("runtime"))),
        ("managementPlane", allowed.filter(Value::is_boolean)),
    ];
    let provider = |it: &crate::config::Provider| json!({ "name": it.name, "providerRef": { "name": it.reference }, "role": it.role });
    present([
        ("promptPackRef", Some(json!({ "name": making.names.pack }))),
        ("facades", Some(json!([present(door)]))),
        ("providers", Some(config.providers.iter().map(provider).collect())),
        ("toolRegistryRef", making.registry().map(|name| json!({ "name": name }))),
        ("runtime", runtime(making, agent)),
        ("externalAuth", auth.filter(|auth| auth.as_object().is_some_and(|auth| !auth.is_empty()))),
        ("memory", config.memory.clone()),
        ("evals", config.evals.clone()),
    ])
}

fn cluster(making: &Making<'_>, agent: &Agent) -> Map<String, Value> {
    let config = making.inputs.config;
    refuse_name_of_no_service(making, agent);
    // A runtime without a provider guesses one from the keys that it finds: the first is what other targets call primary.
    let provider = config.provider_of(agent.member.as_deref()).or_else(|| config.providers.first());
    present([
        ("promptPackRef", Some(json!({ "name": making.names.pack }))),
        ("facade", Some(json!({ "type": "websocket", "handler": "runtime" }))),
        ("providerRef", provider.map(|provider| json!({ "name": provider.reference }))),
        ("runtime", runtime(making, agent)),
        ("toolRegistryRef", making.registry().map(|name| json!({ "name": name }))),
    ])
}

/// The controller names a runtime's Service after it: with a name that no Service takes, the runtime would never be ready.
fn refuse_name_of_no_service(making: &Making<'_>, agent: &Agent) {
    let name = &agent.runtime;
    if name.len() <= SERVICE_LIMIT && name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains('.') {
        return;
    }
    let null = Value::Null;
    let root = making.of_pack.root(&null);
    let place = match &agent.member {
        Some(member) => root.key("agents").key("members").key(member),
        None => root.key("id"),
    };
    let cure = format!("write at most {SERVICE_LIMIT} characters, a letter first, and no dot");
    place.refuse(format!("`{name}` would be no name of the runtime's Service"), cure);
}

fn requests(making: &Making<'_>) -> Option<Value> {
    let runtime = &making.inputs.config.runtime;
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    filled(present([("cpu", text(&runtime.cpu)), ("memory", text(&runtime.memory))]))
}

fn runtime(making: &Making<'_>, agent: &Agent) -> Option<Value> {
    let runtime = &making.inputs.config.runtime;
    let prompt = agent.prompt.as_ref().or(agent.member.as_ref());
    filled(present([
        ("replicas", runtime.replicas.map(|replicas| json!(replicas))),
        ("resources", requests(making).map(|requests| json!({ "requests": requests }))),
        ("autoscaling", runtime.autoscaling.clone()),
        ("extraEnv", prompt.map(|prompt| json!([{ "name": PROMPT_NAME, "value": prompt }]))),
    ]))
}
