//! plan, apply, deploy, status, destroy: which calls they make, and what they keep.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::files::{Files, PlanFile, StateFile, checksum};
use crate::output;
use crate::project::Project;
use crate::session::Session;

/// A command of `promptarena deploy`; `Deploy` is the one without a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Plans, and saves the plan.
    Plan,
    /// Deploys by the saved plan, or by a new one.
    Apply,
    /// Plans and deploys.
    Deploy,
    /// Tells how the resources are.
    Status,
    /// Deletes all.
    Destroy,
}

/// Where and with what a command runs.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The project, with `arena.yaml`.
    pub project: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// Where programs are searched for, as in `PATH`.
    pub path: String,
    /// The environment: `default` unless named.
    pub environment: String,
    /// The file of the compiled pack.
    pub pack: PathBuf,
    /// Variables of the adapter.
    pub variables: BTreeMap<String, String>,
    /// The time that files get.
    pub now: Timestamp,
}

/// What a command printed, and its exit code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// 0 or 1.
    pub code: u8,
}

impl Invocation {
    /// Runs a command.
    #[must_use]
    pub fn run(&self, command: Command) -> Ran {
        let mut ran = Ran::default();
        if let Err(error) = self.carry_out(command, &mut ran) {
            ran.stderr += &format!("Error: {error:#}\n");
            ran.code = 1;
        }
        ran
    }

    fn carry_out(&self, command: Command, ran: &mut Ran) -> anyhow::Result<()> {
        let files = Files::of(&self.project);
        let is_reading = matches!(command, Command::Plan | Command::Status);
        let _lock = if is_reading { None } else { Some(files.lock()?) };
        let state = files.state()?;
        if state.is_none() && matches!(command, Command::Status | Command::Destroy) {
            ran.stdout += "No deployment found.\n";
            return Ok(());
        }
        let project = Project::read(&self.project, &self.environment)?;
        let program = project.program(&self.project, &self.home, &self.path)?;
        let session = Session::start(&program, &self.project, &self.variables)?;
        let mut run = Run { invocation: self, files, project, session, state: state.unwrap_or_default(), ran };
        let ended = run.carry_out(command);
        run.session.end()?;
        ended
    }
}

struct Run<'a> {
    invocation: &'a Invocation,
    files: Files,
    project: Project,
    session: Session,
    state: StateFile,
    ran: &'a mut Ran,
}

impl Run<'_> {
    fn carry_out(&mut self, command: Command) -> anyhow::Result<()> {
        match command {
            Command::Plan => self.plan(),
            Command::Apply => self.apply(),
            Command::Deploy => self.deploy(),
            Command::Status => self.status(),
            Command::Destroy => self.destroy(),
        }
    }

    fn now(&self) -> String {
        self.invocation.now.to_string()
    }

    fn pack(&self) -> anyhow::Result<String> {
        let path = &self.invocation.pack;
        fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
    }

    fn bare_request(&self) -> Value {
        json!({
            "deploy_config": self.project.config, "environment": self.invocation.environment, "prior_state": self.state.state,
        })
    }

    fn request(&self, pack: &str) -> Value {
        let mut request = self.bare_request();
        request["pack_json"] = pack.into();
        request["arena_config"] = self.project.arena.as_str().into();
        request
    }

    /// Asks for the status first, whose state replaces the stored one; a failure is ignored.
    fn refresh(&mut self) -> anyhow::Result<()> {
        if self.files.state()?.is_none() {
            return Ok(());
        }
        let status = self.session.call("status", &self.bare_request());
        if let Some(state) = status.ok().and_then(|status| status["state"].as_str().map(str::to_owned))
            && !state.is_empty()
        {
            self.state.state = state;
            self.state.last_refreshed = self.now();
            self.files.save_state(&self.state)?;
        }
        Ok(())
    }

    fn plan(&mut self) -> anyhow::Result<()> {
        self.refresh()?;
        let pack = self.pack()?;
        let request = self.request(&pack);
        let plan = self.session.call("plan", &request)?;
        self.ran.stdout += &output::plan(&plan);
        self.ran.stderr += &output::warnings(&plan);
        let (provider, environment) = (self.project.provider.clone(), self.invocation.environment.clone());
        let (created_at, pack_checksum) = (self.now(), checksum(&pack));
        self.files.save_plan(&PlanFile { version: 1, created_at, provider, environment, pack_checksum, plan, request })
    }

    fn deploy(&mut self) -> anyhow::Result<()> {
        self.refresh()?;
        let pack = self.pack()?;
        let request = self.request(&pack);
        let plan = self.session.call("plan", &request)?;
        self.ran.stdout += &output::plan(&plan);
        self.ran.stderr += &output::warnings(&plan);
        self.send(&pack, &request)
    }

    /// Sends the saved request if pack and environment are the same; else an error of the new plan is ignored.
    fn apply(&mut self) -> anyhow::Result<()> {
        let pack = self.pack()?;
        let is_fresh = |saved: &PlanFile| {
            saved.pack_checksum == checksum(&pack) && saved.environment == self.invocation.environment
        };
        if let Some(saved) = self.files.plan()?.filter(is_fresh) {
            return self.send(&pack, &saved.request);
        }
        self.refresh()?;
        let request = self.request(&pack);
        if let Ok(plan) = self.session.call("plan", &request) {
            self.ran.stderr += &output::warnings(&plan);
        }
        self.send(&pack, &request)
    }

    fn send(&mut self, pack: &str, request: &Value) -> anyhow::Result<()> {
        let result = self.session.call("apply", request)?;
        self.ran.stdout += &output::events(&result);
        let info = self.session.call("get_provider_info", &json!({}));
        let version = info.ok().and_then(|info| info["version"].as_str().map(str::to_owned));
        let state = StateFile {
            version: 1,
            provider: self.project.provider.clone(),
            environment: self.invocation.environment.clone(),
            last_deployed: self.now(),
            pack_version: String::new(),
            pack_checksum: checksum(pack),
            adapter_version: version.unwrap_or_default(),
            last_refreshed: String::new(),
            state: result["adapter_state"].as_str().unwrap_or_default().to_owned(),
        };
        self.files.save_state(&state)?;
        self.files.remove_plan()
    }

    fn status(&mut self) -> anyhow::Result<()> {
        let status = self.session.call("status", &self.bare_request())?;
        self.ran.stdout += &output::status(&status);
        Ok(())
    }

    fn destroy(&mut self) -> anyhow::Result<()> {
        let result = self.session.call("destroy", &self.bare_request())?;
        self.ran.stdout += &output::events(&result);
        self.files.remove_state()
    }
}
