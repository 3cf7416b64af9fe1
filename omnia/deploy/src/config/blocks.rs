//! The blocks of the configuration that targets take as they are, or nearly so.
//!
//! In: a block. Out: the block as the target wants it. Fails: with unknown keys, values out of bounds, and rules between keys.

use promptkit_pack::reader::Field;
use serde_json::{Map, Value, json};

use super::{Rollout, Runtime};

pub(super) fn skills(list: &Field<'_>) -> Vec<Value> {
    let skill = |item: &Field<'_>| {
        if item.is_text() {
            return item.filled().map(|source| json!({ "source": source }));
        }
        item.only(&["source", "include", "mountAs"]);
        item.key("source").required("write the name of a skill source");
        item.key("include").texts();
        item.key("mountAs").text();
        item.any()
    };
    list.items().iter().filter_map(skill).collect()
}

pub(super) fn skills_config(block: &Field<'_>) -> Option<Value> {
    block.only(&["maxActive", "selector"]);
    block.key("maxActive").whole(1, i64::MAX);
    block.key("selector").choice(&["model-driven", "tag", "embedding"]);
    block.any()
}

/// The keys of autoscaling: as written here, and as targets write them.
const AUTOSCALING: [(&str, &str, i64, i64); 5] = [
    ("min_replicas", "minReplicas", 0, i64::MAX),
    ("max_replicas", "maxReplicas", 1, i64::MAX),
    ("target_cpu_utilization", "targetCPUUtilizationPercentage", 1, 100),
    ("target_memory_utilization", "targetMemoryUtilizationPercentage", 1, 100),
    ("scale_down_stabilization_seconds", "scaleDownStabilizationSeconds", 0, 3600),
];

pub(super) fn runtime(block: &Field<'_>) -> Runtime {
    block.only(&["replicas", "cpu", "memory", "autoscaling"]);
    Runtime {
        replicas: block.key("replicas").whole(1, i64::MAX),
        cpu: block.key("cpu").filled(),
        memory: block.key("memory").filled(),
        autoscaling: autoscaling(&block.key("autoscaling")),
    }
}

fn autoscaling(block: &Field<'_>) -> Option<Value> {
    block.only(&[&["enabled", "type"], &AUTOSCALING.map(|(key, ..)| key)[..]].concat());
    let kind = block.key("type").choice(&["hpa", "keda"]);
    let enabled = block.key("enabled").flag().unwrap_or_default();
    let figures = AUTOSCALING.map(|(key, name, least, most)| (name, block.key(key).whole(least, most)));
    if let [(_, Some(min)), (_, Some(max)), ..] = figures
        && min > max
    {
        block.key("min_replicas").refuse(
            format!("{min} is more than max_replicas, {max}"),
            format!("write {max} or less, or raise max_replicas"),
        );
    }
    block.object()?;
    let mut body = Map::from_iter([("enabled".to_owned(), enabled.into()), ("type".to_owned(), kind.into())]);
    body.extend(figures.iter().filter_map(|(name, figure)| Some(((*name).to_owned(), Value::from((*figure)?)))));
    Some(Value::Object(body))
}

pub(super) fn external_auth(block: &Field<'_>) -> Option<Value> {
    block.only(&["allowManagementPlane", "sharedToken", "apiKeys", "oidc", "edgeTrust"]);
    block.key("allowManagementPlane").flag();
    let token = block.key("sharedToken");
    token.only(&["secretRef", "trustEndUserHeader"]);
    let secret = secret(&token);
    token.key("trustEndUserHeader").flag();
    let keys = block.key("apiKeys");
    keys.only(&["defaultRole", "trustEndUserHeader"]);
    keys.key("defaultRole").choice(&["viewer", "editor", "admin"]);
    keys.key("trustEndUserHeader").flag();
    let oidc = block.key("oidc");
    oidc.only(&["issuer", "audience", "claimMapping"]);
    texts(&oidc, &["issuer", "audience"]);
    closed_texts(&oidc.key("claimMapping"), &["subject", "role", "endUser"]);
    let edge = block.key("edgeTrust");
    edge.only(&["headerMapping", "claimsFromHeaders"]);
    closed_texts(&edge.key("headerMapping"), &["subject", "role", "endUser", "email"]);
    let mut body = block.any()?;
    if let (Some(secret), Some(written)) = (secret, body.pointer_mut("/sharedToken/secretRef")) {
        *written = json!({ "name": secret });
    }
    Some(body)
}

/// The name of the shared token's Secret, written as a name or, as in Kubernetes, as an object with one.
fn secret(token: &Field<'_>) -> Option<String> {
    token.object()?;
    let written = token.key("secretRef");
    written.required("write the name of the Secret that has the token");
    if written.is_text() || !written.is_set() {
        return written.filled();
    }
    written.only(&["name"]);
    written.key("name").required("write the name of the Secret");
    written.key("name").filled()
}

pub(super) fn memory(block: &Field<'_>) -> Option<Value> {
    block.only(&["enabled", "retrieval"]);
    block.key("enabled").flag();
    let retrieval = block.key("retrieval");
    retrieval.only(&["strategy", "limit", "accessFilter"]);
    retrieval.key("strategy").choice(&["keyword", "semantic", "graph", "composite"]);
    retrieval.key("limit").whole(1, 50);
    closed_texts(&retrieval.key("accessFilter"), &["denyCEL"]);
    block.any()
}

pub(super) fn evals(block: &Field<'_>) -> Option<Value> {
    block.only(&["enabled", "inline", "worker"]);
    block.key("enabled").flag();
    for place in ["inline", "worker"] {
        block.key(place).only(&["groups"]);
        block.key(place).key("groups").texts();
    }
    block.any()
}

pub(super) fn rollout(block: &Field<'_>) -> Option<Rollout> {
    block.object()?;
    block.only(&["channel", "steps"]);
    block.key("channel").required("write stable or prerelease");
    let channel = block.key("channel").choice(&["stable", "prerelease"]);
    let steps = block.key("steps");
    if steps.items().is_empty() {
        steps.refuse("has no step".to_owned(), "write one, as in `[{\"setWeight\": 100}]`".to_owned());
    }
    for step in steps.items() {
        step.only(&["setWeight", "pause"]);
        step.key("setWeight").whole(0, 100);
        if step.key("setWeight").is_set() == step.key("pause").is_set() {
            step.refuse("must be either a weight or a pause".to_owned(), "write `setWeight` or `pause`".to_owned());
        }
    }
    Some(Rollout { channel: channel?, steps: steps.items().iter().filter_map(Field::any).collect() })
}

fn texts(block: &Field<'_>, keys: &[&str]) {
    for key in keys {
        block.key(key).text();
    }
}

/// Checks an object that has texts at these keys alone.
fn closed_texts(block: &Field<'_>, keys: &[&str]) {
    block.only(keys);
    texts(block, keys);
}
