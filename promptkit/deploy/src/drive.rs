//! Drives the pass of a set to its end, and accounts for each object as soon as something became of it.
//!
//! In: a [`Pass`], the transport that writes its objects, and a [`Catalog`] that says how objects are called in plans, events and states.
//! Out: the [`Report`] of the pass, and in the account one event for each object. Fails: if members cannot be read, and if a signal
//! stopped the pass; what failed for one object goes to the account, and the pass goes on.
//!
//! A written object may take a while to work. Whoever knows when it does waits in [`Catalog::settle`], so that its event says how that
//! ended.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, ready};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use lifecycle_bundle::need::{Answer, Need, Request, Response};
use lifecycle_bundle::pass::Pass;
use lifecycle_bundle::report::{ObjectReport, Report};
use lifecycle_bundle::siblings::Siblings;
use lifecycle_bundle::table::{Decision, SkipReason};
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, Query, Version};
use lifecycle_objects::write::{Command, Executed, Target, WriteError, WriteErrorKind};
use lifecycle_transport::Transport;
use lifecycle_transport::executor::{execute, inspect_all};
use lifecycle_transport::observe::find_members;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::error::{Category, DeployError};
use crate::protocol::{Action, Link, ResourceStatus};
use crate::state::Entry;

/// The time for all calls of one request of a pass. A client has no limit of its own, and each call has one.
const LIMIT: Duration = Duration::from_secs(3600);

/// How the objects of a provider are called, and what is known of them beside the objects themselves.
pub trait Catalog: Sync {
    /// The type of the objects of a kind, in plans, events and states.
    fn kind<'a>(&'a self, kind: &'a GroupKind) -> &'a str;

    /// How much of the whole is done when an object's turn comes, from 0 to 1.
    fn fraction(&self, identity: &Identity) -> f64;

    /// The entry of an object that the server returned.
    fn entry(&self, object: &Value, status: ResourceStatus) -> Entry;

    /// The pages about a resource.
    fn links(&self, entry: &Entry) -> Vec<Link>;

    /// What the state knows of the objects that a failed read would have found.
    fn remembered(&self, query: &Query) -> Vec<Value>;

    /// The operation as errors name it, such as `create`.
    fn operation(&self, action: Action) -> &'static str;

    /// The failure of an object's read or write.
    fn error(&self, operation: &'static str, error: &WriteError) -> DeployError;

    /// Waits until a written object works, and returns it as it is then.
    fn settle(
        &self,
        object: Value,
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<Value, DeployError>> + Send {
        let _ = stop;
        ready(Ok(object))
    }
}

/// What drives passes.
#[derive(Clone, Copy)]
pub struct Driver<'a, T, C> {
    /// Reads and writes objects.
    pub transport: &'a T,
    /// Knows the objects.
    pub catalog: &'a C,
    /// How many objects are written at the same time.
    pub writes: usize,
    /// Cancelled by a signal.
    pub stop: &'a CancellationToken,
}

/// What a pass would do.
#[derive(Debug)]
pub struct Planned {
    /// The decision about each object.
    pub report: Report,
    /// The objects that were found.
    pub found: Vec<Version>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

impl<T: Transport, C: Catalog> Driver<'_, T, C> {
    /// What a pass would do. Writes nothing.
    ///
    /// # Errors
    /// The members could not be read, and nothing is remembered of them.
    pub async fn plan(&self, mut pass: Pass<'_>) -> Result<Planned, DeployError> {
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        if let Some(Need::Request(Request::Read(queries))) = pass.next_need() {
            let (answers, unread) = self.read(queries).await;
            warnings = unread;
            found = answers.iter().flat_map(versions).cloned().collect();
            pass.answer(Answer::Response(Response::Read(answers)));
        }
        let report = pass.plan().map_err(|failure| DeployError::new(Category::Resource, "plan", failure.message))?;
        Ok(Planned { report, found, warnings })
    }

    /// Drives a pass to its end.
    ///
    /// # Errors
    /// The members could not be read, or a signal stopped the pass.
    pub async fn drive(&self, mut pass: Pass<'_>, account: &Account) -> Result<Report, DeployError> {
        let (mut told, mut deletions) = (BTreeSet::new(), 0);
        while let Some(need) = pass.next_need() {
            if self.stop.is_cancelled() {
                return Err(DeployError::interrupted("deploy"));
            }
            let answer = match need {
                // Sets of deploy adapters have no others beside them, and the state that is answered is their memory.
                Need::Siblings => Answer::Siblings(Siblings::default()),
                Need::Remember(_) => Answer::Remembered(Ok(())),
                Need::Request(Request::Read(queries)) => {
                    let (answers, warnings) = self.read(queries).await;
                    warnings.iter().for_each(|warning| account.warn(warning));
                    Answer::Response(Response::Read(answers))
                }
                Need::Request(Request::Inspect(inspections, members)) => {
                    let found = inspect_all(self.transport, &inspections, &members, Instant::now() + LIMIT).await;
                    Answer::Response(Response::Inspected(found))
                }
                Need::Request(Request::Write(commands)) => {
                    told.extend(commands.iter().map(identity_of));
                    deletions += self.announce(&commands, deletions, account);
                    let written = stream::iter(commands).map(|command| self.write(command, account));
                    Answer::Response(Response::Written(written.buffered(self.writes).collect().await))
                }
            };
            pass.answer(answer);
        }
        if self.stop.is_cancelled() {
            return Err(DeployError::interrupted("deploy"));
        }
        let report =
            pass.report().map_err(|failure| DeployError::new(Category::Resource, "deploy", failure.message))?;
        report.objects.iter().for_each(|object| self.tell(object, told.contains(&object.identity), account));
        Ok(report)
    }

    /// Says which resources are deleted next. Returns how many steps of a deletion that are.
    fn announce(&self, commands: &[Command], before: usize, account: &Account) -> usize {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for command in commands.iter().filter(|command| action_of(command) == Action::Delete) {
            *counts.entry(self.catalog.kind(&identity_of(command).kind).to_owned()).or_default() += 1;
        }
        for ((kind, count), step) in counts.iter().zip(before + 1..) {
            account.progress(format!("Step {step}: deleting {kind} resources ({count})"), -1.0);
        }
        counts.len()
    }

    /// Reads members; where that fails, what the state knows of them stands in, with a warning.
    async fn read(&self, queries: Vec<Query>) -> (Vec<Observation>, Vec<String>) {
        let answers = find_members(self.transport, queries.clone(), Instant::now() + LIMIT).await;
        let mut warnings = Vec::new();
        let answers = queries.iter().zip(answers).map(|(query, answer)| match answer {
            Observation::Found(_) => answer,
            Observation::Unknown(cause) | Observation::Forbidden(cause) => {
                warnings.push(format!("what the state has of {} is used: {cause}", query.kind.kind));
                Observation::Found(self.catalog.remembered(query).into_iter().map(Version::new).collect())
            }
        });
        (answers.collect(), warnings)
    }

    /// Executes a command, and accounts for it.
    async fn write(&self, command: Command, account: &Account) -> Executed {
        if self.stop.is_cancelled() {
            return Executed::Failed(not_started());
        }
        let (identity, action) = (identity_of(&command), action_of(&command));
        let kind = self.catalog.kind(&identity.kind).to_owned();
        let name = identity.name.clone();
        let fraction = self.catalog.fraction(&identity);
        match action {
            Action::Create => {
                account.progress(format!("Creating {kind}: {name}"), fraction);
                if account.state().find(&kind, &name).is_none() {
                    // The answer may get lost, and the object be there.
                    account.record(Entry::new(&kind, &name, ResourceStatus::Failed));
                }
            }
            Action::Update => account.progress(format!("Updating {kind}: {name}"), fraction),
            Action::Delete | Action::NoChange | Action::Drift => {}
        }
        let executed = execute(self.transport, command, Instant::now() + LIMIT).await;
        let operation = self.catalog.operation(action);
        let failed = |error: &WriteError| account.failed(self.catalog.error(operation, error).of(&kind, &name));
        match &executed {
            Executed::Created(object) => self.written(object, ResourceStatus::Created, action, account).await,
            Executed::Updated(object) | Executed::Recreated(object) | Executed::Patched(object) => {
                self.written(object, ResourceStatus::Updated, action, account).await;
            }
            Executed::Deleted => account.deleted(&kind, &name),
            Executed::Failed(error) | Executed::PatchFailed { error, .. } => failed(error),
            Executed::DeleteFailed { failures, .. } | Executed::DisownFailed { failures } => {
                failures.iter().for_each(|(_, error)| failed(error));
            }
            // The pass decides once more about a taken name; what is left of a deletion is told in the end.
            Executed::NameTaken(_) | Executed::DeletedNotCreated(_) | Executed::Deleting(_) | Executed::Disowned(_) => {
            }
        }
        executed
    }

    async fn written(&self, object: &Value, status: ResourceStatus, action: Action, account: &Account) {
        // The object exists from here on, whatever comes of it.
        account.record(self.catalog.entry(object, ResourceStatus::Failed));
        match self.catalog.settle(object.clone(), self.stop).await {
            Ok(object) => {
                let entry = self.catalog.entry(&object, status);
                let detail = if entry.arn.is_empty() { entry.uid.clone() } else { entry.arn.clone() };
                let links = self.catalog.links(&entry);
                account.linked(entry, action, detail, links);
            }
            Err(error) => {
                let Entry { kind, name, .. } = self.catalog.entry(object, ResourceStatus::Failed);
                account.failed(error.of(&kind, &name));
            }
        }
    }

    /// Accounts for what was not written: it is as it should be, or belongs to somebody else.
    fn tell(&self, object: &ObjectReport, is_told: bool, account: &Account) {
        let Identity { kind, name, .. } = &object.identity;
        let kind = self.catalog.kind(kind);
        let is_taken = matches!(object.verdict, Some((_, Decision::Taken(_))));
        match (&object.verdict, object.effect.failure()) {
            (_, Some(failure)) if is_taken || !is_told => {
                let category = if is_taken { Category::Conflict } else { Category::Resource };
                account.failed(DeployError::new(category, "deploy", failure.message.clone()).of(kind, name));
            }
            (Some((_, Decision::Skip(SkipReason::InSync | SkipReason::Once))), None) => {
                let known = account.state().find(kind, name).cloned();
                let entry = known.unwrap_or_else(|| Entry::new(kind, name, ResourceStatus::Unchanged));
                let links = self.catalog.links(&entry);
                account.linked(Entry { status: ResourceStatus::Unchanged, ..entry }, Action::NoChange, "", links);
            }
            (Some((_, Decision::Skip(SkipReason::Gone))), None) => account.deleted(kind, name),
            (Some(_) | None, _) => {}
        }
    }
}

fn versions(answer: &Observation) -> &[Version] {
    if let Observation::Found(versions) = answer { versions } else { &[] }
}

fn action_of(command: &Command) -> Action {
    match command {
        Command::Create { .. } => Action::Create,
        Command::Update { .. } | Command::Recreate { .. } | Command::Patch { .. } | Command::Disown { .. } => {
            Action::Update
        }
        Command::Delete { .. } => Action::Delete,
    }
}

/// The object of a command: a set's commands have one each.
fn identity_of(command: &Command) -> Identity {
    let of_targets = |targets: &[Target]| targets.first().map(|target| Identity::from(ObjectRef::from(target)));
    let found = match command {
        Command::Create { desired, .. } | Command::Update { desired, .. } | Command::Recreate { desired, .. } => {
            Some(ObjectRef::of(desired).into())
        }
        Command::Delete { targets, .. } => of_targets(targets),
        Command::Patch { target, .. } => of_targets(std::slice::from_ref(target)),
        Command::Disown { last, .. } => of_targets(std::slice::from_ref(&last.target)),
    };
    found.unwrap_or_else(|| Identity { kind: GroupKind::new("", ""), namespace: None, name: String::new() })
}

fn not_started() -> WriteError {
    WriteError {
        kind: WriteErrorKind::DeadlineExceeded,
        call: "write".to_owned(),
        status: None,
        message: "a signal came before it was sent".to_owned(),
    }
}
