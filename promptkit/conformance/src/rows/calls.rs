//! Rows about calls that go well, or are refused for what they were given.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{End, expect};
use crate::adapter::short;
use crate::stage::{EXITS_WITHIN, Stage, entries, key, request, state_of};

/// The changes of a plan that create or delete.
pub(super) fn upheaval(plan: &Value) -> Result<Vec<String>, End> {
    let changes = plan["changes"].as_array().ok_or_else(|| End::Failed(format!("changes is no list: {plan}")))?;
    let is_upheaval = |change: &&Value| ["CREATE", "DELETE"].iter().any(|action| change["action"] == *action);
    let text = |change: &Value| format!("{} {}", change["action"].as_str().unwrap_or_default(), key(change));
    Ok(changes.iter().filter(is_upheaval).map(text).collect())
}

pub(super) fn plan(stage: &Stage<'_>) -> Result<String, End> {
    let plan = stage.result("plan", &stage.params(""))?;
    let creates = upheaval(&plan)?;
    expect(creates.iter().all(|change| change.starts_with("CREATE")), || format!("without a state: {creates:?}"))?;
    expect(creates.len() >= 4, || format!("inputs.pack should deploy four resources: {creates:?}"))?;
    let summary = plan["summary"].as_str().unwrap_or_default();
    expect(!summary.is_empty(), || format!("no summary: {plan}"))?;
    Ok(summary.to_owned())
}

/// The percentage at the end of a progress text.
fn percent(event: &Value) -> Option<u32> {
    let (_, end) = event["message"].as_str()?.rsplit_once('(')?;
    end.strip_suffix("%)")?.parse().ok()
}

pub(super) fn apply(stage: &Stage<'_>) -> Result<String, End> {
    stage.reset()?;
    let result = stage.result("apply", &stage.params(""))?;
    let kept: Vec<_> = entries(&state_of(&result)?)?.iter().map(key).collect();
    let events = result["events"].as_array().cloned().unwrap_or_default();
    let told: Vec<_> =
        events.iter().filter(|event| event["type"] == "resource").map(|event| key(&event["resource"])).collect();
    let otherwise = || format!("events tell of {told:?}, the state has {kept:?}");
    expect(!kept.is_empty() && are_in_order(&told, &kept), otherwise)?;
    let percents: Vec<_> = events.iter().filter_map(percent).collect();
    expect(percents.is_sorted() && percents.iter().all(|percent| *percent <= 100), || {
        format!("progress goes {percents:?}")
    })?;
    Ok(format!("{} resources", kept.len()))
}

/// Whether events tell of the same resources as the state, type by type. Resources of one type may be written at the same time,
/// and end in any order.
fn are_in_order(told: &[String], kept: &[String]) -> bool {
    let types = |keys: &[String]| keys.iter().map(|key| key.split('/').next().map(str::to_owned)).collect::<Vec<_>>();
    let sorted = |keys: &[String]| BTreeSet::from_iter(keys.iter().cloned());
    types(told) == types(kept) && sorted(told) == sorted(kept)
}

pub(super) fn others(stage: &Stage<'_>) -> Result<String, End> {
    let state = stage.deployed()?;
    let params = stage.params(&state);
    let status = stage.result("status", &params)?;
    let resources = status["resources"].as_array().map_or(0, Vec::len);
    expect(status["status"] == "deployed" && resources > 0, || format!("status: {}", short(&status.to_string())))?;
    let import = stage
        .ask("import", &merged(&params, &json!({"resource_type": "x", "resource_name": "x", "identifier": "x"})))?;
    expect(import["error"]["code"] == -32603, || format!("import of an unknown type: {import}"))?;
    let destroy = stage.result("destroy", &params)?;
    let events = destroy["events"].as_array().map_or(0, Vec::len);
    expect(destroy["status"] == "destroyed" && events > 0, || format!("destroy: {}", short(&destroy.to_string())))?;
    let left = stage.list()?;
    expect(left.is_empty(), || format!("destroy leaves {left:?}"))?;
    Ok(format!("{resources} resources, {events} events"))
}

pub(super) fn merged(params: &Value, more: &Value) -> Value {
    let members = params.as_object().into_iter().chain(more.as_object()).flatten();
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

pub(super) fn large(stage: &Stage<'_>) -> Result<String, End> {
    let padded = merged(&stage.params(""), &json!({"no_such_member": "x".repeat(12 << 20)}));
    let plan = stage.result("plan", &padded)?;
    upheaval(&plan)?;
    let inputs = &stage.profile.inputs;
    let missing = || End::NotPlayed("12 MiB are served; the profile has no inputs.large_pack".to_owned());
    let pack = inputs.large_pack.as_ref().ok_or_else(missing)?;
    stage.reset()?;
    let mut adapter = stage.start()?;
    adapter.send(&request("apply", &stage.params_of(&inputs.config, pack, "")))?;
    let answer = adapter.answer()?;
    adapter.close(EXITS_WITHIN)?;
    let kept = entries(&state_of(&answer["result"])?)?.len();
    let exist = stage.list()?.len();
    expect(kept == exist, || format!("{exist} resources exist, the state has {kept}"))?;
    Ok(format!("{kept} resources in {} bytes", answer.to_string().len()))
}

/// Finds a member that should have been omitted.
fn empty_member(value: &Value) -> Option<String> {
    let optional = ["links", "detail", "message", "warnings", "errors", "events", "resources", "state", "rel"];
    match value {
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let is_empty = value.is_null() || *value == json!([]) || *value == json!("");
            if is_empty && optional.contains(&name.as_str()) { Some(name.clone()) } else { empty_member(value) }
        }),
        Value::Array(items) => items.iter().find_map(empty_member),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

pub(super) fn omitted(stage: &Stage<'_>) -> Result<String, End> {
    let state = stage.deployed()?;
    let params = stage.params(&state);
    let mut answers = vec![("status", stage.result("status", &params)?), ("plan", stage.result("plan", &params)?)];
    answers.push(("apply", stage.result("apply", &params)?));
    answers.push((
        "validate_config",
        stage.result("validate_config", &json!({"config": stage.profile.inputs.config.to_string()}))?,
    ));
    for (method, answer) in answers {
        if let Some(member) = empty_member(&answer) {
            return Err(End::Failed(format!("{method} writes an empty `{member}`")));
        }
    }
    Ok(String::new())
}

pub(super) fn nothing(stage: &Stage<'_>) -> Result<String, End> {
    stage.reset()?;
    let destroy = stage.result("destroy", &stage.params(""))?;
    expect(destroy["status"] == "destroyed", || format!("destroy: {destroy}"))?;
    let status = stage.result("status", &stage.params(""))?;
    expect(status["status"] == "not_deployed", || format!("status: {status}"))?;
    Ok("destroyed, not_deployed".to_owned())
}

pub(super) fn broken_state(stage: &Stage<'_>) -> Result<String, End> {
    let mut seen = String::new();
    for method in ["plan", "apply", "destroy", "status"] {
        seen = stage.refusal(method, &stage.params("{"))?["message"].as_str().unwrap_or_default().to_owned();
    }
    Ok(short(&seen))
}

pub(super) fn settled(stage: &Stage<'_>) -> Result<String, End> {
    let state = stage.deployed()?;
    let changes = upheaval(&stage.result("plan", &stage.params(&state))?)?;
    expect(changes.is_empty(), || format!("plan after apply: {changes:?}"))?;
    Ok(String::new())
}
