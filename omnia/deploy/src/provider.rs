//! The deploy adapter for Omnia behind the protocol.
//!
//! In: calls of the protocol. Out: what a [`Site`] makes of them, wherever the configuration says that objects are written. Fails: with
//! what the site fails with, and if the site cannot be reached.

use std::collections::BTreeMap;
use std::path::Path;

use futures::FutureExt as _;
use lifecycle_config::diagnostics::Severity;
use lifecycle_kube::{Cluster, Settings};
use lifecycle_transport::kubernetes::KubernetesTransport;
use promptkit_deploy::account::Account;
use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::protocol::{Capability, Login, LoginRequest, LoginUrl, LoginUrlRequest, Plan, ProviderInfo};
use promptkit_deploy::provider::{Call, Checked, Provider, Status};
use promptkit_pack::reader::lines;
use serde_json::Value;

use crate::config::{self, Config, SCHEMA, Target};
use crate::deployment::{self, Site, dry};
use crate::errors::deploy_error;
use crate::kinds::Surface;
use crate::login;
use crate::rest::{Sleep, Workspace};
use crate::workspace::WorkspaceTransport;

/// The name of the provider, which is the end of the program's name.
pub const NAME: &str = "omnia";
/// The field manager of writes to Kubernetes itself.
const FIELD_MANAGER: &str = "promptarena-deploy-omnia";

/// The deploy adapter for Omnia.
#[derive(Debug)]
pub struct Omnia {
    /// The variables of the process.
    pub environment: BTreeMap<String, String>,
}

/// Where a configuration deploys to.
enum Reached {
    Workspace(Site<WorkspaceTransport<Sleep>>),
    Cluster(Site<KubernetesTransport>),
}

impl Omnia {
    async fn reach(&self, config: &Config) -> Result<Reached, DeployError> {
        match &config.target {
            Target::Workspace { endpoint, token } => {
                let connected = Workspace::connect(endpoint, &config.workspace, token).await;
                let workspace = connected.map_err(|error| unreachable(&error))?;
                let workspace =
                    workspace.map_err(|failure| deploy_error("connect", &failure.write_error("connect".to_owned())))?;
                let surface = workspace.surface();
                let transport = WorkspaceTransport::new(workspace, &config.workspace, Sleep);
                Ok(Reached::Workspace(Site { transport, surface }))
            }
            Target::Cluster { kubeconfig } => {
                let path = kubeconfig.as_deref().map(Path::new);
                let agent = concat!("promptarena-deploy-omnia/", env!("CARGO_PKG_VERSION"));
                let client = lifecycle_kube::connect(path, agent).await.map_err(|error| unreachable(&error))?;
                let transport = KubernetesTransport::new(Cluster::new(client, FIELD_MANAGER, Settings::default()));
                Ok(Reached::Cluster(Site { transport, surface: Surface::Cluster }))
            }
        }
    }
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> DeployError {
    DeployError::new(Category::Network, "connect", "the target cannot be reached").because(error)
}

impl Provider for Omnia {
    type Config = Config;

    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: vec![
                Capability::Plan,
                Capability::Apply,
                Capability::Destroy,
                Capability::Status,
                Capability::Login,
            ],
            config_schema: SCHEMA.to_owned(),
        }
    }

    fn read_config(&self, config: &Value) -> Checked<Config> {
        let (config, found) = config::check(config, &self.environment);
        Checked { config, errors: lines(&found, Severity::Error), warnings: lines(&found, Severity::Warning) }
    }

    /// The server and the workspace: two servers may have workspaces of one name, and a kubeconfig may name another server tomorrow.
    fn scope(&self, config: &Config) -> String {
        let server = match &config.target {
            Target::Workspace { endpoint, .. } => endpoint.clone(),
            Target::Cluster { kubeconfig } => {
                let path = kubeconfig.as_deref();
                // The file is read at once; a file that cannot be read fails the call later.
                let server = lifecycle_kube::server(path.map(Path::new)).now_or_never().and_then(Result::ok);
                server.unwrap_or_else(|| path.unwrap_or(config::IN_CLUSTER).to_owned())
            }
        };
        format!("{server}/{}", config.workspace)
    }

    async fn plan(&self, call: Call<'_, Config>) -> Result<Plan, DeployError> {
        if call.config.dry_run {
            return dry::plan(&call);
        }
        match self.reach(call.config).await? {
            Reached::Workspace(site) => site.plan(&call).await,
            Reached::Cluster(site) => site.plan(&call).await,
        }
    }

    async fn apply(&self, call: Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        if call.config.dry_run {
            return dry::apply(&call, account);
        }
        match self.reach(call.config).await? {
            Reached::Workspace(site) => site.apply(&call, account).await,
            Reached::Cluster(site) => site.apply(&call, account).await,
        }
    }

    async fn destroy(&self, call: Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        if deployment::has_nothing(&call, account) {
            return Ok(());
        }
        if call.config.dry_run {
            return dry::destroy(&call, account);
        }
        match self.reach(call.config).await? {
            Reached::Workspace(site) => site.destroy(&call, account).await,
            Reached::Cluster(site) => site.destroy(&call, account).await,
        }
    }

    async fn get_login_url(&self, request: LoginUrlRequest) -> Result<LoginUrl, DeployError> {
        login::page(&request, &self.environment)
    }

    async fn complete_login(&self, request: LoginRequest) -> Result<Login, DeployError> {
        login::complete(&request, &self.environment).await
    }

    async fn status(&self, call: Call<'_, Config>) -> Result<Status, DeployError> {
        if call.prior.resources.is_empty() {
            return Ok(Status::default());
        }
        Ok(match self.reach(call.config).await? {
            Reached::Workspace(site) => site.status(&call).await,
            Reached::Cluster(site) => site.status(&call).await,
        })
    }
}
