//! A provider that does what its configuration says.

use promptkit_deploy::account::Account;
use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::protocol::{
    Action, Capability, Change, Health, Link, Login, LoginRequest, LoginUrl, LoginUrlRequest, Plan, ProviderInfo,
    ResourceHealth, ResourceStatus,
};
use promptkit_deploy::provider::{Call, Checked, Provider, Status};
use promptkit_deploy::state::Entry;
use serde_json::Value;

/// `{"does": <what>, "scope": <where>}`; no provider with a login unless asked for.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) has_login: bool,
}

pub(crate) struct Config {
    does: String,
    scope: String,
}

impl Provider for Scripted {
    type Config = Config;

    fn info(&self) -> ProviderInfo {
        let login = self.has_login.then_some(Capability::Login);
        let capabilities = [Capability::Plan, Capability::Apply].into_iter().chain(login).collect();
        ProviderInfo { name: "scripted".into(), version: "1.2.3".into(), capabilities, config_schema: String::new() }
    }

    fn read_config(&self, config: &Value) -> Checked<Config> {
        let text = |key: &str| config[key].as_str().map(str::to_owned);
        let errors: Vec<_> =
            ["does", "scope"].iter().filter(|key| text(key).is_none()).map(|key| format!("{key}: missing")).collect();
        let warnings = if text("does").as_deref() == Some("warn") { vec!["be careful".to_owned()] } else { Vec::new() };
        let config = text("scope").map(|scope| Config { does: text("does").unwrap_or_default(), scope });
        Checked { config, errors, warnings }
    }

    fn scope(&self, config: &Config) -> String {
        config.scope.clone()
    }

    async fn plan(&self, call: Call<'_, Config>) -> Result<Plan, DeployError> {
        let wanted = ["a", "b"].iter().filter(|name| call.prior.find("tool", name).is_none());
        let change = |name: &&str| Change {
            kind: "tool".into(),
            name: (*name).into(),
            action: Action::Create,
            detail: String::new(),
        };
        let changes: Vec<_> = wanted.map(change).collect();
        Ok(Plan { summary: format!("{} to create", changes.len()), changes, warnings: vec!["its own".to_owned()] })
    }

    async fn apply(&self, call: Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        account.progress("Creating tool: a", 0.5);
        account.done(Entry::new("tool", "a", ResourceStatus::Created), Action::Create, "id-a");
        let failure = |name: &str| {
            DeployError::new(Category::Permission, "create", "403").of("tool", name).hint("ask for rights")
        };
        match call.config.does.as_str() {
            "link" => {
                let link = Link { label: "Console".into(), url: "http://c".into(), rel: String::new() };
                account.linked(Entry::new("tool", "b", ResourceStatus::Unchanged), Action::NoChange, "", vec![link]);
            }
            "fail one" => account.failed(failure("b")),
            "fail two" => ["b", "c"].iter().for_each(|name| account.failed(failure(name))),
            "abort" => return Err(DeployError::new(Category::Network, "deploy", "no route")),
            "panic" => panic!("index out of range"),
            "plan only" => {
                account.planned("tool", "a", Action::Update);
                account.planned("tool", "z", Action::Create);
            }
            "wait" => {
                call.stop.cancelled().await;
                return Err(DeployError::interrupted("create"));
            }
            "hang" => std::future::pending().await,
            "talk much" => {
                (0..20_000).for_each(|index| account.progress(format!("{index} {}", "x".repeat(1_000)), -1.0))
            }
            "keep much" => account.update_state(|state| state.pack_id = "x".repeat(11 << 20)),
            _ => {}
        }
        Ok(())
    }

    async fn destroy(&self, call: Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        for entry in &call.prior.resources {
            match (call.config.does.as_str(), entry.name.as_str()) {
                ("fail one", "a") => {
                    account
                        .failed(DeployError::new(Category::Permission, "delete", "403").of(&entry.kind, &entry.name));
                }
                ("forget one", "a") => {}
                _ => account.deleted(&entry.kind, &entry.name),
            }
        }
        Ok(())
    }

    async fn status(&self, call: Call<'_, Config>) -> Result<Status, DeployError> {
        let health = |entry: &Entry| {
            let status = if entry.name == "sick" { Health::Unhealthy } else { Health::Healthy };
            ResourceHealth {
                kind: entry.kind.clone(),
                name: entry.name.clone(),
                status,
                detail: String::new(),
                links: Vec::new(),
            }
        };
        Ok(Status { resources: call.prior.resources.iter().map(health).collect(), links: Vec::new() })
    }

    async fn get_login_url(&self, request: LoginUrlRequest) -> Result<LoginUrl, DeployError> {
        Ok(LoginUrl { authorize_url: format!("https://x/?callback={}", request.callback_url) })
    }

    async fn complete_login(&self, request: LoginRequest) -> Result<Login, DeployError> {
        let token = request.params.get("code").cloned().unwrap_or_default();
        Ok(Login { profile: serde_json::Map::new(), token })
    }
}
