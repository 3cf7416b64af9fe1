//! Drives the pass of a set to its end, and accounts for each object as soon as something became of it.
//!
//! In: a [`Pass`], the transport that writes its objects, and a [`Catalog`] that says how objects are called in plans, events and states.
//! Out: the [`Report`] of the pass, and in the account one event for each object. Fails: if members cannot be read, and if a signal
//! stopped the pass; what failed for one object goes to the account, and the pass goes on.
//!
//! A written object may take a while to work. Whoever knows when it does waits in [`Catalog::settle`], so that its event says how that
//! ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::{Future, ready};
use std::time::Duration;

use futures::future::join_all;
use futures::{StreamExt as _, stream};
use lifecycle_bundle::need::{Answer, Need, Request, Response};
use lifecycle_bundle::pass::Pass;
use lifecycle_bundle::report::{ObjectReport, Report};
use lifecycle_bundle::siblings::Siblings;
use lifecycle_bundle::table::{Decision, Intent, Row, SkipReason};
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, Query, QueryBy, Version};
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

    /// The objects that a failed list would have found, as the state has them.
    fn remembered(&self, query: &Query) -> Vec<Value>;

    /// Why an object must not be written now, such as for what became of another one.
    fn obstacle(&self, identity: &Identity, account: &Account) -> Option<DeployError> {
        let _ = (identity, account);
        None
    }

    /// What is told in the place of a failure that does not fail the deployment: the object is the operator's; none for any other.
    fn excused(&self, identity: &Identity, error: &WriteError) -> Option<String> {
        let _ = (identity, error);
        None
    }

    /// The operation as errors name it, such as `create`.
    fn operation(&self, action: Action) -> &'static str;

    /// The failure of an object's read or write.
    fn error(&self, operation: &'static str, error: &WriteError) -> DeployError;

    /// Waits until a written object works.
    fn settle(&self, object: Value, stop: &CancellationToken) -> impl Future<Output = Result<(), DeployError>> + Send {
        let _ = (object, stop);
        ready(Ok(()))
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
            warnings.extend(unread.iter().map(Unlisted::to_string));
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
        let (mut told, mut unread, mut deletions) = (BTreeSet::new(), BTreeSet::new(), 0);
        while let Some(need) = pass.next_need() {
            if self.stop.is_cancelled() {
                return Err(DeployError::interrupted("deploy"));
            }
            let answer = match need {
                // Sets of deploy adapters have no others beside them, and the state that is answered is their memory.
                Need::Siblings => Answer::Siblings(Siblings::default()),
                Need::Remember(_) => Answer::Remembered(Ok(())),
                Need::Request(Request::Read(queries)) => {
                    let (answers, unlisted) = self.read(queries).await;
                    for unlisted in unlisted {
                        unread.extend(unlisted.unread.iter().cloned());
                        // What the state does not name would never be found again.
                        match pass.intent() {
                            Intent::Delete => account.failed(unlisted.error()),
                            Intent::Apply | Intent::Disown => account.warn(&unlisted.to_string()),
                        }
                    }
                    Answer::Response(Response::Read(answers))
                }
                Need::Request(Request::Inspect(inspections, members)) => {
                    let found = inspect_all(self.transport, &inspections, &members, Instant::now() + LIMIT).await;
                    Answer::Response(Response::Inspected(found))
                }
                Need::Request(Request::Write(commands)) => {
                    deletions += self.announce(&commands, deletions, account);
                    let written = stream::iter(commands).map(|command| self.write(command, &unread, account));
                    let written: Vec<Written> = written.buffered(self.writes).collect().await;
                    // Nothing waits for a place among the writes while it waits until an object works.
                    let settled = join_all(written.into_iter().map(|written| self.settle(written, account))).await;
                    told.extend(settled.iter().filter(|it| it.is_told).map(|it| it.identity.clone()));
                    Answer::Response(Response::Written(settled.into_iter().map(|it| it.executed).collect()))
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

    /// Reads members. Where a list fails, those that the state names are read one by one.
    async fn read(&self, queries: Vec<Query>) -> (Vec<Observation>, Vec<Unlisted>) {
        let answers = find_members(self.transport, queries.clone(), Instant::now() + LIMIT).await;
        let (mut found, mut unlisted) = (Vec::with_capacity(answers.len()), Vec::new());
        for (query, answer) in queries.iter().zip(answers) {
            match answer {
                Observation::Found(_) => found.push(answer),
                Observation::Unknown(cause) | Observation::Forbidden(cause) => {
                    let remembered: Vec<Version> =
                        self.catalog.remembered(query).into_iter().map(Version::new).collect();
                    let by_name = |version: &Version| QueryBy::Name(version.name().to_owned());
                    let queries = remembered.iter().map(|version| Query { by: by_name(version), ..query.clone() });
                    let looks = find_members(self.transport, queries.collect(), Instant::now() + LIMIT).await;
                    let (mut known, mut unread) = (Vec::new(), BTreeSet::new());
                    for (version, look) in remembered.into_iter().zip(looks) {
                        match look {
                            Observation::Found(versions) => known.extend(versions),
                            Observation::Unknown(_) | Observation::Forbidden(_) => {
                                unread.insert(ObjectRef::of(version.object()).into());
                                known.push(version);
                            }
                        }
                    }
                    let group_kind = GroupKind::new(&query.kind.group, &query.kind.kind);
                    let kind = self.catalog.kind(&group_kind).to_owned();
                    unlisted.push(Unlisted { kind, known: known.len(), unread, cause });
                    found.push(Observation::Found(known));
                }
            }
        }
        (found, unlisted)
    }

    /// Executes a command, and accounts for it if it failed or deleted.
    async fn write(&self, command: Command, unread: &BTreeSet<Identity>, account: &Account) -> Written {
        let (identity, action) = (identity_of(&command), action_of(&command));
        let ended = |executed, is_told| Written { identity: identity.clone(), action, executed, is_told };
        if self.stop.is_cancelled() {
            return ended(Executed::Failed(unsent("a signal came before it was sent")), true);
        }
        let (kind, name) = (self.catalog.kind(&identity.kind).to_owned(), identity.name.clone());
        let is_unread = || {
            let error = DeployError::new(Category::Network, self.catalog.operation(action), "it could not be read");
            unread.contains(&identity).then_some(error)
        };
        let obstacle = || self.catalog.obstacle(&identity, account).filter(|_| action != Action::Delete);
        if let Some(error) = is_unread().or_else(obstacle) {
            let executed = Executed::Failed(unsent(&error.message));
            account.failed(error.of(&kind, &name));
            return ended(executed, true);
        }
        let verb = match action {
            Action::Create => "Creating",
            Action::Update | Action::NoChange | Action::Drift => "Updating",
            Action::Delete => "",
        };
        if !verb.is_empty() {
            account.progress(format!("{verb} {kind}: {name}"), self.catalog.fraction(&identity));
            // The answer may get lost, and the object be written.
            let known = account.entry(&kind, &name);
            let entry = known.unwrap_or_else(|| Entry::new(&kind, &name, ResourceStatus::Failed));
            account.record(Entry { status: ResourceStatus::Failed, ..entry });
        }
        let executed = execute(self.transport, command, Instant::now() + LIMIT).await;
        let errors: Vec<&WriteError> = match &executed {
            Executed::Failed(error) | Executed::PatchFailed { error, .. } => vec![error],
            Executed::DeleteFailed { failures, .. } | Executed::DisownFailed { failures } => {
                failures.iter().map(|(_, error)| error).collect()
            }
            Executed::Deleted => {
                account.deleted(&kind, &name);
                return ended(executed, true);
            }
            Executed::Created(_)
            | Executed::Updated(_)
            | Executed::Recreated(_)
            | Executed::Patched(_)
            | Executed::NameTaken(_)
            | Executed::DeletedNotCreated(_)
            | Executed::Deleting(_)
            | Executed::Disowned(_) => Vec::new(),
        };
        for error in &errors {
            match self.catalog.excused(&identity, error) {
                Some(why) => account.left(&kind, &name, &why),
                None => {
                    account.failed(self.catalog.error(self.catalog.operation(action), error).of(&kind, &name));
                }
            }
        }
        let is_told = !errors.is_empty();
        ended(executed, is_told)
    }

    /// Waits until a written object works, and accounts for it.
    async fn settle(&self, written: Written, account: &Account) -> Written {
        let (object, status) = match &written.executed {
            Executed::Created(object) => (object.clone(), ResourceStatus::Created),
            Executed::Updated(object) | Executed::Recreated(object) | Executed::Patched(object) => {
                (object.clone(), ResourceStatus::Updated)
            }
            Executed::NameTaken(_)
            | Executed::DeletedNotCreated(_)
            | Executed::Deleting(_)
            | Executed::Deleted
            | Executed::DeleteFailed { .. }
            | Executed::PatchFailed { .. }
            | Executed::Disowned(_)
            | Executed::DisownFailed { .. }
            | Executed::Failed(_) => return written,
        };
        // The object exists from here on, whatever comes of it.
        let unready = self.catalog.entry(&object, ResourceStatus::Failed);
        account.record(unready.clone());
        let executed = match self.catalog.settle(object, self.stop).await {
            Ok(()) => {
                let entry = Entry { status, ..unready };
                let detail = if entry.arn.is_empty() { entry.uid.clone() } else { entry.arn.clone() };
                let links = self.catalog.links(&entry);
                account.linked(entry, written.action, detail, links);
                written.executed
            }
            Err(error) => {
                let Entry { kind, name, .. } = unready;
                // To the pass, an object that does not work was not written: nothing is removed after it.
                let executed = Executed::Failed(unsent(&error.message));
                account.failed(error.of(&kind, &name));
                executed
            }
        };
        Written { executed, is_told: true, ..written }
    }

    /// Accounts for what was not written: it is as it should be, or belongs to somebody else.
    fn tell(&self, object: &ObjectReport, is_told: bool, account: &Account) {
        let Identity { kind, name, .. } = &object.identity;
        let kind = self.catalog.kind(kind);
        let is_taken = matches!(object.verdict, Some((_, Decision::Taken(_))));
        match (&object.verdict, object.effect.failure()) {
            (_, Some(failure)) if !is_told => {
                let category = if is_taken { Category::Conflict } else { Category::Resource };
                account.failed(DeployError::new(category, "deploy", failure.message.clone()).of(kind, name));
            }
            (Some((Row::Terminating | Row::NotYet, Decision::Wait(why))), None) => {
                let error = DeployError::new(Category::Conflict, "deploy", why.clone()).of(kind, name);
                account.failed(error.hint("run the command again once that is over"));
            }
            (Some((_, Decision::Skip(SkipReason::InSync | SkipReason::Once))), None) => {
                let known = account.entry(kind, name);
                let entry = known.unwrap_or_else(|| Entry::new(kind, name, ResourceStatus::Unchanged));
                let links = self.catalog.links(&entry);
                account.linked(Entry { status: ResourceStatus::Unchanged, ..entry }, Action::NoChange, "", links);
            }
            (Some((_, Decision::Skip(SkipReason::Gone))), None) => account.deleted(kind, name),
            (Some(_) | None, _) => {}
        }
    }
}

/// What became of a command.
struct Written {
    identity: Identity,
    action: Action,
    executed: Executed,
    /// Whether the account has it.
    is_told: bool,
}

/// The objects of a type that could not be listed.
struct Unlisted {
    kind: String,
    /// How many the state names.
    known: usize,
    /// Those of them that could not be read either. What they are now is not known: nothing is written to them.
    unread: BTreeSet<Identity>,
    cause: String,
}

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, known, cause, .. } = self;
        write!(
            f,
            "the {kind} resources could not be listed, and the {known} that the state names stand for all: {cause}"
        )
    }
}

impl Unlisted {
    fn error(&self) -> DeployError {
        DeployError::new(Category::Resource, "delete", self.to_string()).hint("run the command again")
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

/// What a pass is answered about a command that was not sent, or did not come to its end.
fn unsent(message: &str) -> WriteError {
    WriteError {
        kind: WriteErrorKind::DeadlineExceeded,
        call: "write".to_owned(),
        status: None,
        message: message.to_owned(),
    }
}
