//! Plays scenarios: sweeps of a cluster and an API in memory.
//!
//! In: a scenario as YAML. Out: what each pass found, deleted and kept, as text. Fails: with a sentence about the scenario.
//! `sweeper demo` plays the built-in one; operators can try their own limits and patterns on another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;
use jiff::Timestamp;
use lifecycle_core::sweep::{Approval, Release, Strikes};
use lifecycle_objects::id::Generation;
use serde::Deserialize;
use serde_json::Value;

use crate::act::{Deleter, Outcomes, Refused};
use crate::args::duration;
use crate::audit::Audit;
use crate::config::{CONFIGURATION, Config, Environment, Flags};
use crate::recheck::PlanEvidence;
use crate::report;
use crate::survey::survey;
use crate::world::World;

/// The scenario that `sweeper demo` plays.
pub const DEMO: &str = include_str!("scenario/demo.yaml");

/// When the first pass begins: a fixed time, so that each run prints the same.
const START: Timestamp = Timestamp::constant(1_767_261_600, 0);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// The configuration, as in the sweeper's file.
    config: Value,
    /// What the cluster has at first.
    objects: Vec<Value>,
    passes: Vec<Pass>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pass {
    /// What the pass shows.
    title: String,
    /// The time since the first pass.
    #[serde(default)]
    after: Option<String>,
    /// The API resources that exist from now on, with their generations.
    #[serde(default)]
    resources: Option<BTreeMap<String, i64>>,
    /// The resources about which a proxy answers with this status.
    #[serde(default)]
    answers: BTreeMap<String, u16>,
    /// Whether a person approves the plan that the pass before held.
    #[serde(default)]
    approved: bool,
}

/// Plays a scenario.
///
/// # Errors
///
/// The text is no scenario, or its configuration is wrong.
pub async fn play(name: &str, text: &str) -> anyhow::Result<String> {
    let scenario: Scenario = serde_saphyr::from_str(text).with_context(|| format!("{name} is no scenario"))?;
    let config = CONFIGURATION.parse(name, &scenario.config.to_string(), &Environment::new(), &Flags::new());
    let (config, _) =
        config.map_err(|diagnostics| anyhow::anyhow!("the configuration in {name} is wrong:\n{diagnostics}"))?;
    let world = World::default();
    for object in scenario.objects {
        world.add(object);
    }
    let mut strikes = Strikes::default();
    let mut held = None;
    let mut out = String::new();
    for (index, pass) in scenario.passes.into_iter().enumerate() {
        let now = START + since(pass.after.as_deref())?;
        if let Some(resources) = pass.resources {
            world.set_resources(resources.into_iter().map(|(id, generation)| (id, Generation(generation))).collect());
        }
        world.set_answers(pass.answers);
        let _ = writeln!(out, "== Pass {} at {now}: {}\n", index + 1, pass.title);
        let approval =
            held.filter(|_| pass.approved).map(|hash| Approval { hash, expires: now + Duration::from_secs(3600) });
        held = play_pass(&world, &config, &mut strikes, approval.as_ref(), now, &mut out).await;
        out.push('\n');
    }
    let left: Vec<_> =
        world.objects().iter().filter(|object| object.kind.kind != "Event").map(ToString::to_string).collect();
    let _ = writeln!(out, "== The cluster has now: {}", left.join(", "));
    Ok(out)
}

/// Plays one pass; returns the plan that it held.
async fn play_pass(
    world: &World,
    config: &Config,
    strikes: &mut Strikes,
    approval: Option<&Approval>,
    now: Timestamp,
    out: &mut String,
) -> Option<String> {
    let policy = (&config.policy, &config.filter);
    let found = survey(world, world, policy, strikes, async || approval.cloned(), || now).await;
    if found.release == Release::Held || config.dry_run {
        out.push_str(&report::text(&found, Some(&Outcomes::new()).filter(|_| !config.dry_run)));
    } else {
        let (audit, refused) = (Audit::to_nowhere(), Refused::default());
        let evidence = PlanEvidence::new(world, &found.plan, async || true);
        let deleter = Deleter {
            objects: world,
            evidence: &evidence,
            permit: || Ok(()),
            call_limit: Duration::MAX,
            refused: &refused,
            audit: &audit,
            policy: &config.policy,
            concurrency: NonZeroUsize::MIN,
            term: 1,
            clock: || START,
        };
        let attempts = deleter.delete_all(&found.plan, strikes);
        let outcomes = attempts.map(|attempt| (attempt.object.uid.clone(), attempt.outcome)).collect::<Vec<_>>().await;
        out.push_str(&report::text(&found, Some(&outcomes.into_iter().collect())));
        strikes.end_doubts(&found.plan, found.release);
    }
    (found.release == Release::Held).then(|| found.plan.hash().to_owned())
}

fn since(text: Option<&str>) -> anyhow::Result<Duration> {
    let Some(text) = text else { return Ok(Duration::ZERO) };
    duration(text).map_err(|error| anyhow::anyhow!("`after: {text}` is no duration: {error}"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn demo_deletes_what_was_force_deleted_and_nothing_else() {
        let trace = play("the built-in scenario", DEMO).await.unwrap();
        insta::assert_snapshot!(trace);
    }

    #[tokio::test]
    async fn scenario_with_a_mistake_names_the_file_and_the_place() {
        let error = play("mine.yaml", "config: {adapters: []}\nobjects: []\npasses: []\n").await.unwrap_err();
        let said = format!("{error:#}");
        assert!(said.contains("mine.yaml") && said.contains("adapters"), "{said}");
        let error = play("mine.yaml", "objects: []\n").await.unwrap_err();
        assert!(format!("{error:#}").contains("mine.yaml"));
    }
}
