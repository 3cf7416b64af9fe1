//! Dry runs: what a call would do, without a request.
//!
//! In: a call. Out: a plan, or events of what is planned. Fails: with what is wrong with pack and configuration; a dry run of a deletion
//! always does, because its client forgets what it believes deleted.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_bundle::need::{Answer, Need, Request, Response};
use lifecycle_bundle::table::Intent;
use lifecycle_config::diagnostics::Severity;
use lifecycle_objects::observation::{Observation, Version};
use promptkit_deploy::account::Account;
use promptkit_deploy::drive::Planned;
use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::protocol::{Action, Plan};
use promptkit_deploy::provider::Call;
use promptkit_pack::reader::lines;

use super::prepare::{mistakes, read};
use crate::binding;
use crate::config::{Config, Target};
use crate::desired::{Desired, Inputs, desired};
use crate::engine::Set;
use crate::kinds::Surface;
use crate::plan::Notes;

/// Says what an apply would do, without a request: what the state has is what is there.
///
/// # Errors
/// Pack or configuration has a mistake.
pub fn plan(call: &Call<'_, Config>) -> Result<Plan, DeployError> {
    let (pack, desired) = objects(call)?;
    let (workspace, prior) = (call.config.workspace.as_str(), call.prior);
    let set = Set {
        pack_id: &pack,
        workspace,
        surface: surface(call),
        console: None,
        prior,
        objects: &desired.objects,
        bound: None,
    };
    let (mut pass, names) = set.begin(Intent::Apply)?;
    if let Some(Need::Request(Request::Read(queries))) = pass.next_need() {
        let found = |query| Observation::Found(names.remembered(query).into_iter().map(Version::new).collect());
        pass.answer(Answer::Response(Response::Read(queries.iter().map(found).collect())));
    }
    let report = pass.plan().map_err(|failure| DeployError::new(Category::Resource, "plan", failure.message))?;
    let notes = Notes { drifted: BTreeSet::new(), taken: BTreeMap::new(), surface: surface(call) };
    let planned = Planned { report, found: Vec::new(), warnings: Vec::new() };
    Ok(crate::plan::plan(&planned, &set.wanted(), &notes, lines(&desired.warnings, Severity::Warning)))
}

/// What an apply would write, without a request: nothing is known but the state.
///
/// # Errors
/// Pack or configuration has a mistake.
pub fn apply(call: &Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
    let objects = objects(call)?.1.objects;
    let all = objects.len() + 1;
    for (place, object) in objects.iter().enumerate() {
        let (kind, name) = (object.kind.type_name(), &object.name);
        account.progress(format!("Planned {kind}: {name}"), place as f64 / all as f64);
        let action = if call.prior.find(kind, name).is_some() { Action::Update } else { Action::Create };
        account.planned(kind, name, action);
    }
    Ok(())
}

/// Without a request, nobody knows which API a workspace has: the designed one, which has all kinds, is shown.
fn surface(call: &Call<'_, Config>) -> Surface {
    match call.config.target {
        Target::Workspace { .. } => Surface::Versioned,
        Target::Cluster { .. } => Surface::Cluster,
    }
}

/// The pack's id, and the objects of a deployment of which nothing is asked.
fn objects(call: &Call<'_, Config>) -> Result<(String, Desired), DeployError> {
    let (pack, arena) = read(call)?;
    let surface = surface(call);
    let (binding, _) = binding::decide(surface, &pack, &arena, call.config, &[]);
    let inputs =
        Inputs { pack: &pack, arena: &arena, config: call.config, binding: &binding, surface, in_one_request: false };
    let desired = desired(inputs).map_err(|found| mistakes(&found))?;
    Ok((pack.id.clone(), desired))
}

/// Says what a deletion would delete, and fails: a client that is told of a success removes its state.
///
/// # Errors
/// Always: nothing was deleted.
pub fn destroy(call: &Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
    for entry in &call.prior.resources {
        account.planned(&entry.kind, &entry.name, Action::Delete);
    }
    let error = DeployError::new(Category::Configuration, "delete", "this is a dry run: nothing was deleted");
    Err(error.hint("remove `dry_run` from the configuration"))
}
