//! Everything that has to be right before the first write.
//!
//! In: a call, and where its objects are written. Out: [`Prepared`]: the wanted objects, and warnings. Fails: with what is wrong with pack,
//! arena configuration or configuration, and if the workspace lacks what they name.

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::observation::{QueryBy, Version};
use lifecycle_transport::Transport;
use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::provider::Call;
use promptkit_deploy::state::State;
use promptkit_pack::arena::{self, Arena};
use promptkit_pack::pack::{self, Pack};
use promptkit_pack::reader::lines;
use serde_json::Value;

use super::{Site, query};
use crate::binding::{self, Binding, Registry};
use crate::config::Config;
use crate::desired::{Desired, Inputs, desired};
use crate::errors::deploy_error;
use crate::kinds::{Kind, OMNIA, PROVIDER, SKILL_SOURCE, Surface};
use crate::labels;
use crate::readiness;

/// A deployment that can be written.
pub(super) struct Prepared {
    pub(super) pack_id: String,
    pub(super) version: String,
    pub(super) desired: Desired,
    /// The existing registry to which the agents are bound.
    pub(super) bound: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl<T: Transport> Site<T> {
    /// Everything that has to be right before the first write.
    pub(super) async fn prepare(&self, call: &Call<'_, Config>) -> Result<Prepared, DeployError> {
        let (pack, arena) = read(call)?;
        other_pack(call.prior, &pack.id)?;
        let registries = self.registries(call.config).await?;
        let (binding, mut warnings) = binding::decide(self.surface, &pack, &arena, call.config, &registries);
        warnings.extend(self.check_providers(call.config).await?);
        self.check_skills(call.config).await?;
        let inputs = Inputs {
            pack: &pack,
            arena: &arena,
            config: call.config,
            binding: &binding,
            surface: self.surface,
            in_one_request: false,
        };
        let desired = desired(inputs).map_err(|found| mistakes(&found))?;
        warnings.extend(lines(&desired.warnings, Severity::Warning));
        if !desired.variables.is_empty() {
            warnings.push(format!(
                "create the Secret `{}` with the keys {}: tools read the values of their headers from it",
                desired.names.credentials,
                desired.variables.join(", ")
            ));
        }
        let bound = if let Binding::Bind(name) = binding { Some(name) } else { None };
        Ok(Prepared { pack_id: pack.id.clone(), version: pack.version.clone(), desired, bound, warnings })
    }

    /// The registries of tools that exist; only today's API is asked.
    async fn registries(&self, config: &Config) -> Result<Vec<Registry>, DeployError> {
        if self.surface != Surface::Current {
            return Ok(Vec::new());
        }
        let by = QueryBy::Labels(labels::Labels::new());
        let found = self.transport.find(&query(Kind::ToolRegistry.version_kind(), &config.workspace, by)).await;
        let found = found.map_err(|error| deploy_error("plan", &error))?;
        Ok(found.iter().filter_map(Registry::of).collect())
    }

    /// Each provider has to exist; one that is not ready is a warning.
    async fn check_providers(&self, config: &Config) -> Result<Vec<String>, DeployError> {
        let mut warnings = Vec::new();
        let kind = || GroupVersionKind::new(OMNIA, PROVIDER);
        for provider in &config.providers {
            let by = QueryBy::Name(provider.reference.clone());
            let found = self.transport.find(&query(kind(), &config.workspace, by)).await;
            let found = found.map_err(|error| deploy_error("plan", &error))?.into_iter().next();
            let Some(found) = found else {
                let all = query(kind(), &config.workspace, QueryBy::Labels(labels::Labels::new()));
                let all = self.transport.find(&all).await.unwrap_or_default();
                let names: Vec<_> = all.into_iter().map(|it| Version::new(it).name().to_owned()).collect();
                let there = if names.is_empty() {
                    "there is none".to_owned()
                } else {
                    format!("there are: {}", names.join(", "))
                };
                let message = format!("the workspace has no provider `{}`; {there}", provider.reference);
                return Err(DeployError::new(Category::Configuration, "plan", message)
                    .hint(format!("write one of them as `providers.{}`", provider.name)));
            };
            let phase = found.pointer("/status/phase").and_then(Value::as_str).filter(|phase| *phase != "Ready");
            warnings.extend(phase.map(|phase| format!("the provider `{}` is not ready: {phase}", provider.reference)));
        }
        Ok(warnings)
    }

    /// Each source of skills has to exist and to be ready; only today's API has them.
    async fn check_skills(&self, config: &Config) -> Result<(), DeployError> {
        let sources = config.skills.iter().filter_map(|skill| skill.get("source")?.as_str());
        for source in sources.filter(|_| self.surface == Surface::Current) {
            let kind = GroupVersionKind::new(OMNIA, SKILL_SOURCE);
            let found = self.transport.find(&query(kind, &config.workspace, QueryBy::Name(source.to_owned()))).await;
            let found = found.map_err(|error| deploy_error("plan", &error))?.into_iter().next();
            let fault = match found.as_ref().map(|found| readiness::health(found, false)) {
                None => "does not exist in the workspace".to_owned(),
                Some(readiness::Health::Unhealthy(why)) => format!("is not ready: {why}"),
                Some(readiness::Health::Healthy) => continue,
            };
            let message = format!("the source of skills `{source}` {fault}");
            return Err(
                DeployError::new(Category::Configuration, "plan", message).hint("mend it, or remove it from `skills`")
            );
        }
        Ok(())
    }
}

/// A state has one pack: what another one deployed would be found by nobody.
fn other_pack(prior: &State, pack_id: &str) -> Result<(), DeployError> {
    let State { pack_id: known, resources, .. } = prior;
    if known.is_empty() || known == pack_id || resources.is_empty() {
        return Ok(());
    }
    let message = format!("the state is that of the pack `{known}`, and this is `{pack_id}`");
    let hint = format!("destroy `{known}` first, or deploy `{pack_id}` from a project of its own");
    Err(DeployError::new(Category::Configuration, "plan", message).hint(hint))
}

/// Pack and arena configuration of a call.
pub(super) fn read(call: &Call<'_, Config>) -> Result<(Pack, Arena), DeployError> {
    let pack = pack::read(call.pack).map_err(|found| mistakes(&found))?;
    let arena = match call.arena_config {
        "" => Arena::default(),
        text => arena::read(text).map_err(|found| mistakes(&found))?,
    };
    Ok((pack, arena))
}

pub(super) fn mistakes(found: &Diagnostics) -> DeployError {
    DeployError::new(Category::Configuration, "build", lines(found, Severity::Error).join("\n"))
}
