//! Plans, applies, destroys, looks.

use std::collections::BTreeSet;
use std::time::Duration;

use promptkit_deploy::account::Account;
use promptkit_deploy::error::DeployError;
use promptkit_deploy::protocol::{
    Action, Capability, Change, Health, Plan, ProviderInfo, ResourceHealth, ResourceStatus,
};
use promptkit_deploy::provider::{Call, Checked, Provider, Status};
use promptkit_deploy::state::{Entry, State};
use serde_json::Value;

use crate::config::{self, Config, Desired, desired};
use crate::directory::{Directory, Found};
use crate::sabotage::Sabotage;

/// How often a file is looked at until it is ready.
const EVERY: Duration = Duration::from_millis(20);

pub(crate) struct Files {
    pub(crate) sabotage: Sabotage,
}

type Key = (String, String);

fn keys(state: &State) -> impl Iterator<Item = Key> {
    state.resources.iter().map(|entry| (entry.kind.clone(), entry.name.clone()))
}

/// What of the pack exists, or may exist, and is no longer wanted: agents first.
fn superfluous(prior: &State, directory: &Directory, wanted: &Desired) -> Vec<Key> {
    let deployed = keys(prior).chain(directory.marked(&wanted.pack)).filter(|key| !wanted.resources.contains(key));
    deployed.collect::<BTreeSet<_>>().into_iter().collect()
}

impl Files {
    /// Whether the resource is there, as far as can be told: what cannot be read is.
    fn exists(&self, directory: &Directory, kind: &str, name: &str) -> bool {
        match directory.find(kind, name) {
            Ok(found) => !matches!(found, Found::Missing),
            Err(_) => !self.sabotage.is("takes what cannot be read for gone"),
        }
    }

    async fn write(
        &self,
        call: &Call<'_, Config>,
        pack: &str,
        key: &Key,
        account: &Account,
    ) -> Result<(), DeployError> {
        let (directory, (kind, name)) = (Directory::of(call.config), key);
        let existed = self.exists(&directory, kind, name);
        let entry = account.entry(kind, name);
        account.record(entry.unwrap_or_else(|| Entry::new(kind, name, ResourceStatus::Failed)));
        if self.sabotage.is("makes new names") && call.prior.find(kind, name).is_none() {
            directory.write_another(kind, name).await?;
        } else {
            directory.write(kind, name, pack).await?;
        }
        while let Found::Pending = directory.find(kind, name)? {
            tokio::select! {
                () = call.stop.cancelled() => return Err(DeployError::interrupted("create").of(kind, name)),
                () = tokio::time::sleep(EVERY) => {}
            }
        }
        let (action, status) = match existed {
            true => (Action::Update, ResourceStatus::Updated),
            false => (Action::Create, ResourceStatus::Created),
        };
        let entry = Entry { uid: format!("{kind}-{name}"), ..Entry::new(kind, name, status) };
        if self.sabotage.is("tells nothing") {
            account.record(entry);
        } else {
            account.done(entry, action, format!("{kind}-{name}"));
        }
        Ok(())
    }

    async fn delete(&self, directory: &Directory, (kind, name): &Key, account: &Account) {
        let deleted = directory.delete(kind, name).await;
        match deleted {
            Err(error) if !self.sabotage.is("tells failed deletions as done") => account.failed(error),
            Ok(()) | Err(_) => account.deleted(kind, name),
        }
    }
}

impl Provider for Files {
    type Config = Config;

    fn info(&self) -> ProviderInfo {
        let capabilities = vec![Capability::Plan, Capability::Apply, Capability::Destroy, Capability::Status];
        let schema = match self.sabotage.is("accepts unknown keys") {
            true => config::SCHEMA.replace("\"additionalProperties\": false", "\"additionalProperties\": true"),
            false => config::SCHEMA.to_owned(),
        };
        ProviderInfo { name: "files".into(), version: "0.1.0".into(), capabilities, config_schema: schema }
    }

    fn read_config(&self, config: &Value) -> Checked<Config> {
        let checked = config::read(config);
        let errors = if self.sabotage.is("finds no mistakes") { Vec::new() } else { checked.errors };
        let fallback = || Config { directory: "/nonexistent".into(), workspace: "w".into(), is_dry_run: true };
        let config = if self.sabotage.is("finds no mistakes") {
            checked.config.or_else(|| Some(fallback()))
        } else {
            checked.config
        };
        Checked { config, errors, ..checked }
    }

    fn scope(&self, config: &Config) -> String {
        if self.sabotage.is("uses any state") { String::new() } else { config.workspace.clone() }
    }

    async fn plan(&self, call: Call<'_, Config>) -> Result<Plan, DeployError> {
        let (directory, wanted) = (Directory::of(call.config), desired(call.pack)?);
        let forgets = self.sabotage.is("plans everything anew");
        let is_there = |(kind, name): &Key| {
            let is_known = call.prior.find(kind, name).is_some() || self.sabotage.is("uses any state");
            !forgets && (is_known || call.prior.resources.is_empty()) && self.exists(&directory, kind, name)
        };
        let change = |(kind, name): Key, action| Change { kind, name, action, detail: String::new() };
        let first = wanted.resources.iter().cloned().map(|key| {
            let action = if is_there(&key) { Action::NoChange } else { Action::Create };
            change(key, action)
        });
        let last = superfluous(call.prior, &directory, &wanted).into_iter().map(|key| change(key, Action::Delete));
        let changes: Vec<_> = first.chain(last).collect();
        let count = |action| changes.iter().filter(|change| change.action == action).count();
        let summary = format!("Plan: {} to create, {} to delete", count(Action::Create), count(Action::Delete));
        let summary = if self.sabotage.is("has no summary") { String::new() } else { summary };
        Ok(Plan { changes, summary, warnings: Vec::new() })
    }

    async fn apply(&self, call: Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        let (directory, wanted) = (Directory::of(call.config), desired(call.pack)?);
        account.update_state(|state| (state.pack_id, state.version) = (wanted.pack.clone(), wanted.version.clone()));
        if call.config.is_dry_run {
            wanted.resources.iter().for_each(|(kind, name)| account.planned(kind, name, Action::Create));
            if !self.sabotage.is("writes in a dry run") {
                return Ok(());
            }
        }
        (0..wanted.chatter).for_each(|index| account.progress(format!("{index} {}", "chatter ".repeat(80)), -1.0));
        let whole = wanted.resources.len() as f64;
        for (index, key) in wanted.resources.iter().enumerate() {
            if call.stop.is_cancelled() {
                return Err(DeployError::interrupted("create"));
            }
            account.progress(format!("Writing {}: {}", key.0, key.1), index as f64 / whole);
            if let Err(error) = self.write(&call, &wanted.pack, key, account).await {
                if self.sabotage.is("swallows failures") {
                    continue;
                }
                account.failed(error);
                if self.sabotage.is("stops at the first failure") {
                    return Ok(());
                }
            }
        }
        for key in superfluous(call.prior, &directory, &wanted) {
            if self.sabotage.is("forgets what left the pack") {
                account.update_state(|state| state.forget(&key.0, &key.1));
            } else {
                self.delete(&directory, &key, account).await;
            }
        }
        Ok(())
    }

    async fn destroy(&self, call: Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        let directory = Directory::of(call.config);
        let marked = match call.prior.pack_id.as_str() {
            "" => Vec::new(),
            _ if self.sabotage.is("finds nothing by its mark") => Vec::new(),
            pack => directory.marked(pack),
        };
        for key in keys(call.prior).chain(marked).collect::<BTreeSet<_>>() {
            if call.stop.is_cancelled() {
                return Err(DeployError::interrupted("delete"));
            }
            self.delete(&directory, &key, account).await;
        }
        Ok(())
    }

    async fn status(&self, call: Call<'_, Config>) -> Result<Status, DeployError> {
        let directory = Directory::of(call.config);
        let health = |entry: &Entry| {
            let (status, detail) = match directory.find(&entry.kind, &entry.name) {
                Ok(Found::Ready) => (Health::Healthy, String::new()),
                Ok(Found::Pending | Found::Unhealthy) => (Health::Unhealthy, String::new()),
                Ok(Found::Missing) => (Health::Missing, String::new()),
                Err(_) if self.sabotage.is("takes what cannot be read for healthy") => (Health::Healthy, String::new()),
                Err(error) => (Health::Unhealthy, error.to_string()),
            };
            ResourceHealth { kind: entry.kind.clone(), name: entry.name.clone(), status, detail, links: Vec::new() }
        };
        Ok(Status { resources: call.prior.resources.iter().map(health).collect(), links: Vec::new() })
    }
}
