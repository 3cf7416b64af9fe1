//! Rows about calls that meet a fault.

use serde_json::{Value, json};

use super::calls::upheaval;
use super::{End, expect};
use crate::adapter::short;
use crate::profile::FaultName;
use crate::stage::{Stage, entries, key, state_of};

fn message(error: &Value) -> String {
    short(error["message"].as_str().unwrap_or_default())
}

pub(super) fn fails(stage: &Stage<'_>) -> Result<String, End> {
    stage.reset()?;
    stage.make(FaultName::WriteFails, None)?;
    let error = stage.refusal("apply", &stage.params(""))?;
    expect(!message(&error).is_empty(), || format!("no text: {error}"))?;
    Ok(message(&error))
}

pub(super) fn one_fails(stage: &Stage<'_>) -> Result<String, End> {
    let whole = entries(&stage.deployed()?)?.len();
    stage.reset()?;
    let fault = stage.make(FaultName::WriteFails, None)?;
    let error = stage.refusal("apply", &stage.params(""))?;
    let exist = stage.list()?.len();
    expect(exist + 1 == whole, || format!("{exist} of {whole} resources exist, expected all but one"))?;
    let kept = entries(&state_of(&error["data"])?)?;
    expect(kept.len() == whole, || format!("the state has {} of {whole} resources", kept.len()))?;
    let failed = kept.iter().filter(|entry| entry["status"] == "failed").count();
    expect(failed == 1, || format!("{failed} entries of the state are failed, expected one"))?;
    let category = error["data"]["errors"][0]["category"].as_str().unwrap_or_default();
    let expected = fault.category.as_deref().unwrap_or(category);
    expect(!category.is_empty() && category == expected, || format!("category `{category}`, expected `{expected}`"))?;
    Ok(format!("{category}: {}", message(&error)))
}

pub(super) fn lost_state(stage: &Stage<'_>) -> Result<String, End> {
    let whole = entries(&stage.deployed()?)?.len();
    stage.reset()?;
    stage.make(FaultName::WriteFails, None)?;
    stage.refusal("apply", &stage.params(""))?;
    stage.end_faults()?;
    let state = state_of(&stage.result("apply", &stage.params(""))?)?;
    let exist = stage.list()?;
    expect(exist.len() == whole, || format!("{exist:?} exist, expected {whole}"))?;
    let status = stage.result("status", &stage.params(&state))?;
    expect(status["status"] == "deployed", || format!("status: {}", short(&status.to_string())))?;
    Ok(format!("{whole} resources"))
}

pub(super) fn dropped(stage: &Stage<'_>) -> Result<String, End> {
    let inputs = &stage.profile.inputs;
    let missing = || End::NotPlayed("the profile has no inputs.smaller_pack".to_owned());
    let smaller = inputs.smaller_pack.as_ref().ok_or_else(missing)?;
    let state = stage.deployed()?;
    let whole = stage.list()?.len();
    stage.make(FaultName::DeleteFails, None)?;
    let error = stage.refusal("apply", &stage.params_of(&inputs.config, smaller, &state))?;
    let state = state_of(&error["data"])?;
    let kept = entries(&state)?.len();
    expect(kept == whole, || format!("{kept} of {whole} resources are in the state after a deletion that failed"))?;
    stage.end_faults()?;
    let state = state_of(&stage.result("apply", &stage.params_of(&inputs.config, smaller, &state))?)?;
    let (kept, exist) = (entries(&state)?.len(), stage.list()?.len());
    expect(exist < whole && kept == exist, || {
        format!("of {whole} resources {exist} exist, and {kept} are in the state")
    })?;
    Ok(message(&error))
}

pub(super) fn destroy(stage: &Stage<'_>) -> Result<String, End> {
    let state = stage.deployed()?;
    let mut with_unknown: Value = serde_json::from_str(&state).map_err(|error| End::Failed(error.to_string()))?;
    let unknown = json!({"type": "no_such_type", "name": "no_such_name", "status": "created"});
    if let Some(list) = with_unknown["resources"].as_array_mut() {
        list.push(unknown);
    }
    stage.make(FaultName::DeleteRefused, None)?;
    stage.make_too(FaultName::Gone)?;
    let error = stage.refusal("destroy", &stage.params(&with_unknown.to_string()))?;
    let exist = stage.list()?;
    expect(exist.len() == 1, || format!("{exist:?} are left, expected the one that may not be deleted"))?;
    let rest = state_of(&error["data"])?;
    let kept: Vec<_> = entries(&rest)?.iter().map(key).collect();
    expect(kept.len() == 1, || format!("the state has {kept:?}, expected what is left"))?;
    stage.end_faults()?;
    let ended = stage.result("destroy", &stage.params(&rest))?;
    let exist = stage.list()?;
    expect(ended["status"] == "destroyed" && exist.is_empty(), || {
        format!("the second destroy leaves {exist:?}: {ended}")
    })?;
    Ok(message(&error))
}

pub(super) fn unreadable(stage: &Stage<'_>) -> Result<String, End> {
    let state = stage.deployed()?;
    stage.make(FaultName::CheckFails, None)?;
    let status = stage.result("status", &stage.params(&state))?;
    expect(status["status"] == "degraded", || format!("status: {}", short(&status.to_string())))?;
    let missing = status["resources"].as_array().into_iter().flatten().filter(|it| it["status"] == "missing").count();
    expect(missing == 0, || format!("{missing} resources are missing, and it is not known"))?;
    Ok(String::new())
}

pub(super) fn drift(stage: &Stage<'_>) -> Result<String, End> {
    let state = stage.deployed()?;
    for fault in [FaultName::CheckFails, FaultName::Unhealthy] {
        stage.make(fault, None)?;
        let changes = upheaval(&stage.result("plan", &stage.params(&state))?)?;
        expect(changes.is_empty(), || format!("with the fault {}: {changes:?}", fault.text()))?;
    }
    stage.make(FaultName::Gone, None)?;
    let changes = upheaval(&stage.result("plan", &stage.params(&state))?)?;
    let is_right = changes.len() == 1 && changes.iter().all(|change| change.starts_with("CREATE"));
    expect(is_right, || format!("with one resource gone: {changes:?}"))?;
    Ok(changes.concat())
}
