//! Rows about what remains: dry runs, scopes, streams, kills and signals.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::calls::{merged, upheaval};
use super::{End, expect};
use crate::adapter::short;
use crate::profile::FaultName;
use crate::stage::{EXITS_WITHIN, Stage, entries, key, request, state_of};

/// How long an adapter may take after a signal: the client kills it after five seconds.
const STOPS_WITHIN: Duration = Duration::from_secs(4);

/// More writes than any pack of a profile needs.
const MOST_WRITES: u64 = 1_000;

pub(super) fn dry_run(stage: &Stage<'_>) -> Result<String, End> {
    let inputs = &stage.profile.inputs;
    let missing = || End::NotPlayed("the profile has no inputs.dry_run_config".to_owned());
    let config = inputs.dry_run_config.as_ref().ok_or_else(missing)?;
    stage.reset()?;
    let result = stage.result("apply", &stage.params_of(config, &inputs.pack, ""))?;
    let planned = entries(&state_of(&result)?)?;
    expect(planned.iter().all(|entry| entry["status"] == "planned"), || format!("entries of a dry run: {planned:?}"))?;
    expect(stage.writes()? == 0 && stage.list()?.is_empty(), || "a dry run writes".to_owned())?;

    let state = stage.deployed()?;
    let writes = stage.writes()?;
    let result = stage.result("apply", &stage.params_of(config, &inputs.pack, &state))?;
    let (before, after) = (entries(&state)?, entries(&state_of(&result)?)?);
    let lost: Vec<_> = before.iter().filter(|entry| !after.contains(entry)).map(key).collect();
    expect(lost.is_empty(), || format!("a dry run changes the entries {lost:?}"))?;
    expect(stage.writes()? == writes, || "a dry run over a deployment writes".to_owned())?;
    Ok(format!("{} planned", planned.len()))
}

pub(super) fn scope(stage: &Stage<'_>) -> Result<String, End> {
    let inputs = &stage.profile.inputs;
    let missing = || End::NotPlayed("the profile has no inputs.other_scope_config".to_owned());
    let other = inputs.other_scope_config.as_ref().ok_or_else(missing)?;
    let state = stage.deployed()?;
    let status = stage.result("status", &stage.params(&state))?;
    expect(status["status"] == "deployed", || format!("in another process: {}", short(&status.to_string())))?;
    let plan = stage.result("plan", &stage.params_of(other, &inputs.pack, &state))?;
    let changes = upheaval(&plan)?;
    let whole = entries(&state)?.len();
    let creates = changes.iter().filter(|change| change.starts_with("CREATE")).count();
    expect(creates == whole && changes.len() == whole, || format!("plan in another scope: {changes:?}"))?;
    let warning = plan["warnings"][0].as_str().unwrap_or_default();
    expect(!warning.is_empty(), || "plan in another scope warns of nothing".to_owned())?;
    let before = stage.list()?;
    stage.ask("destroy", &stage.params_of(other, &inputs.pack, &state))?;
    expect(stage.list()? == before, || "destroy in another scope deletes".to_owned())?;
    Ok(short(warning))
}

pub(super) fn stream(stage: &Stage<'_>) -> Result<String, End> {
    stage.reset()?;
    let mut adapter = stage.start()?;
    let params = merged(&stage.params(""), &json!({"lifecycle": {"stream": true}}));
    adapter.send(&request("apply", &params))?;
    let mut streamed = Vec::new();
    let answer = loop {
        let line = adapter.answer()?;
        if line["method"] != "event" {
            break line;
        }
        streamed.push(line["params"].clone());
    };
    adapter.close(EXITS_WITHIN)?;
    let events = answer["result"]["events"].as_array().cloned().unwrap_or_default();
    let expected: Vec<_> =
        events.iter().zip(1..).map(|(event, seq)| json!({"id": 1, "seq": seq, "event": event})).collect();
    expect(!streamed.is_empty() && streamed == expected, || {
        format!("{} events are streamed, the answer has {}", streamed.len(), events.len())
    })?;
    // `result` fails on a second line.
    stage.reset()?;
    stage.result("apply", &stage.params(""))?;
    Ok(format!("{} events", streamed.len()))
}

/// Deploys the pack over a state until so many writes were sent since then, and kills the adapter.
fn cut(stage: &Stage<'_>, state: &str, writes: u64) -> Result<(), End> {
    let after = stage.writes()? + writes;
    stage.make(FaultName::HangAfter, Some(after))?;
    let mut adapter = stage.start()?;
    adapter.send(&request("apply", &stage.params(state)))?;
    let is_cut = stage.await_writes(after, || adapter.has_answered())?;
    adapter.kill();
    stage.end_faults()?;
    expect(is_cut, || format!("there was no write {writes} to be killed after"))
}

pub(super) fn killed(stage: &Stage<'_>) -> Result<String, End> {
    let inputs = &stage.profile.inputs;
    stage.deployed()?;
    let (whole, writes) = (stage.list()?, stage.writes()?.min(MOST_WRITES));
    for after in 1..=writes {
        let what = |rest: &[String]| format!("killed after write {after} of {writes}: {rest:?}");
        stage.reset()?;
        cut(stage, "", after)?;
        let state = state_of(&stage.result("apply", &stage.params(""))?)?;
        let exist = stage.list()?;
        expect(exist == whole, || format!("{}, then apply; expected {whole:?}", what(&exist)))?;
        stage.result("destroy", &stage.params(&state))?;
        let left = stage.list()?;
        expect(left.is_empty(), || format!("{}, then apply and destroy", what(&left)))?;
    }
    let Some(smaller) = &inputs.smaller_pack else {
        return Ok(format!("{writes} writes; without inputs.smaller_pack no kill over an older state"));
    };
    // Without a state a destroy does not know the pack: so the kill comes over the state of a smaller one.
    stage.reset()?;
    let older = stage.result("apply", &stage.params_of(&inputs.config, smaller, ""))?;
    let fewer = stage.writes()?;
    stage.result("apply", &stage.params(&state_of(&older)?))?;
    let more = stage.writes()? - fewer;
    for after in 1..=more {
        stage.reset()?;
        let older = state_of(&stage.result("apply", &stage.params_of(&inputs.config, smaller, ""))?)?;
        cut(stage, &older, after)?;
        stage.result("destroy", &stage.params(&older))?;
        let left = stage.list()?;
        expect(left.is_empty(), || {
            format!("killed after write {after} of {more} over an older state: {left:?} after destroy")
        })?;
    }
    Ok(format!("{} kills", writes + more))
}

pub(super) fn terminated(stage: &Stage<'_>) -> Result<String, End> {
    stage.reset()?;
    stage.make(FaultName::NeverReady, None)?;
    let mut adapter = stage.start()?;
    adapter.send(&request("apply", &stage.params("")))?;
    stage.await_writes(1, || false)?;
    adapter.terminate()?;
    let signalled = Instant::now();
    let answer = adapter.answer()?;
    let took = signalled.elapsed();
    expect(took <= STOPS_WITHIN, || format!("the answer came after {took:?}"))?;
    let data: &Value = &answer["error"]["data"];
    let kept = entries(&state_of(data)?)?;
    expect(!kept.is_empty(), || format!("the state has nothing: {}", short(&answer.to_string())))?;
    let status = adapter.exit(STOPS_WITHIN.saturating_sub(took))?;
    expect(status.success(), || format!("the adapter ended with {status}"))?;
    Ok(format!("{} entries after {} ms", kept.len(), took.as_millis()))
}
