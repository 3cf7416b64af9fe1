//! What a scenario works with: processes, requests, the backend.
//!
//! In: the profile. Out: answers, and what the backend has. Whatever the profile lacks ends the row as not played.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::adapter::{Adapter, short};
use crate::profile::{Fault, FaultName, Profile};
use crate::rows::End;

/// How often the backend is asked while a row waits for it.
const EVERY: Duration = Duration::from_millis(10);

/// How long an adapter may take to end after the end of its input.
pub(crate) const EXITS_WITHIN: Duration = Duration::from_secs(1);

pub(crate) struct Stage<'a> {
    pub(crate) profile: &'a Profile,
}

impl Stage<'_> {
    pub(crate) fn start(&self) -> Result<Adapter, End> {
        Adapter::start(&self.profile.adapter)
    }

    /// Sends bytes to a new process, and returns its answers, of which there must be `count`.
    pub(crate) fn talk(&self, bytes: &[u8], count: usize) -> Result<Vec<Value>, End> {
        let mut adapter = self.start()?;
        adapter.send(bytes)?;
        let answers = (0..count).map(|_| adapter.answer()).collect::<Result<_, _>>()?;
        adapter.close(EXITS_WITHIN)?;
        Ok(answers)
    }

    /// Asks a new process once, and returns its answer; any other line is a failure.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Result<Value, End> {
        let mut answers = self.talk(&request(method, params), 1)?;
        answers.pop().ok_or_else(|| End::failed("no answer"))
    }

    /// Asks once, and returns the result; an error is a failure.
    pub(crate) fn result(&self, method: &str, params: &Value) -> Result<Value, End> {
        let mut answer = self.ask(method, params)?;
        match answer.get_mut("result").map(Value::take) {
            Some(result) => Ok(result),
            None => Err(End::Failed(format!("{method} answers {}", short(&answer.to_string())))),
        }
    }

    /// Asks once, and returns the error of the provider; a result is a failure.
    pub(crate) fn refusal(&self, method: &str, params: &Value) -> Result<Value, End> {
        let mut answer = self.ask(method, params)?;
        match answer.get_mut("error").map(Value::take) {
            Some(error) if error["code"] == -32603 => Ok(error),
            Some(_) | None => Err(End::Failed(format!("{method} answers {}, not -32603", short(&answer.to_string())))),
        }
    }

    /// Params of every method, for the good deployment.
    pub(crate) fn params(&self, state: &str) -> Value {
        self.params_of(&self.profile.inputs.config, &self.profile.inputs.pack, state)
    }

    pub(crate) fn params_of(&self, config: &Value, pack: &Value, state: &str) -> Value {
        let inputs = &self.profile.inputs;
        let mut params = json!({
            "pack_json": pack.to_string(), "deploy_config": config.to_string(), "environment": inputs.environment, "prior_state": state,
        });
        if let Some(arena) = &inputs.arena_config {
            params["arena_config"] = arena.to_string().into();
        }
        params
    }

    /// Deploys the good pack on an empty backend, and returns the state.
    pub(crate) fn deployed(&self) -> Result<String, End> {
        self.reset()?;
        state_of(&self.result("apply", &self.params(""))?)
    }

    pub(crate) fn reset(&self) -> Result<(), End> {
        self.command("backend.reset", self.profile.backend.reset.as_deref(), None).map(drop)
    }

    /// Ends all faults, if the profile can make any.
    pub(crate) fn end_faults(&self) -> Result<(), End> {
        match &self.profile.backend.clear {
            Some(command) => self.command("backend.clear", Some(command), None).map(drop),
            None => Ok(()),
        }
    }

    /// Lists what exists.
    pub(crate) fn list(&self) -> Result<Vec<String>, End> {
        let listed = self.command("backend.list", self.profile.backend.list.as_deref(), None)?;
        Ok(listed.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
    }

    pub(crate) fn writes(&self) -> Result<u64, End> {
        let printed = self.command("backend.writes", self.profile.backend.writes.as_deref(), None)?;
        let not_a_number = |_| End::Failed(format!("backend.writes prints {printed:?}, expected a number"));
        printed.trim().parse().map_err(not_a_number)
    }

    /// Waits until there were so many writes; `false` if `is_over` comes first.
    pub(crate) fn await_writes(&self, count: u64, mut is_over: impl FnMut() -> bool) -> Result<bool, End> {
        let (started, patience) = (Instant::now(), self.profile.adapter.patience());
        while self.writes()? < count {
            if is_over() {
                return Ok(self.writes()? >= count);
            }
            if started.elapsed() > patience {
                return Err(End::Failed(format!("fewer than {count} writes within {patience:?}")));
            }
            thread::sleep(EVERY);
        }
        Ok(true)
    }

    /// Makes a fault; a profile that cannot make it ends the row as not played.
    pub(crate) fn make(&self, name: FaultName, number: Option<u64>) -> Result<&Fault, End> {
        self.end_faults_required()?;
        let fault = self.fault(name)?;
        self.command(name.text(), Some(&fault.make), number)?;
        Ok(fault)
    }

    /// Makes another fault beside those that are.
    pub(crate) fn make_too(&self, name: FaultName) -> Result<(), End> {
        self.command(name.text(), Some(&self.fault(name)?.make), None).map(drop)
    }

    fn fault(&self, name: FaultName) -> Result<&Fault, End> {
        let missing = || End::NotPlayed(format!("the profile cannot make the fault `{}`", name.text()));
        self.profile.faults.get(&name).ok_or_else(missing)
    }

    fn end_faults_required(&self) -> Result<(), End> {
        self.command("backend.clear", self.profile.backend.clear.as_deref(), None).map(drop)
    }

    /// Runs a command of the profile, and returns what it prints.
    fn command(&self, name: &str, command: Option<&[String]>, number: Option<u64>) -> Result<String, End> {
        let missing = || End::NotPlayed(format!("the profile has no command `{name}`"));
        let (program, arguments) = command.and_then(<[String]>::split_first).ok_or_else(missing)?;
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let arguments = arguments.iter().map(|argument| argument.replace("{n}", &number));
        let mut process = Command::new(program);
        process.args(arguments).envs(&self.profile.adapter.environment).stdin(Stdio::null());
        let output =
            process.output().map_err(|error| End::Failed(format!("{name}: failed to run {program}: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(End::Failed(format!("{name} ended with {}: {said}", output.status)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The line of a request.
pub(crate) fn request(method: &str, params: &Value) -> Vec<u8> {
    let mut line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The state in the result of `apply`, or in the data of its error.
pub(crate) fn state_of(result: &Value) -> Result<String, End> {
    let missing = || End::Failed(format!("no adapter_state in {}", short(&result.to_string())));
    result["adapter_state"].as_str().map(str::to_owned).ok_or_else(missing)
}

/// The entries of a state.
pub(crate) fn entries(state: &str) -> Result<Vec<Value>, End> {
    let failed = |reason: &str| End::Failed(format!("the state {reason}: {}", short(state)));
    let state: Value = serde_json::from_str(state).map_err(|_| failed("is no JSON"))?;
    match &state["resources"] {
        Value::Array(entries) => Ok(entries.clone()),
        _ => Err(failed("has no list of resources")),
    }
}

/// Type and name of an entry, a change, or a resource.
pub(crate) fn key(entry: &Value) -> String {
    let text = |member: &str| entry[member].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("type"), text("name"))
}
