//! Takes the answers to the commands of a pass, and has namespaces created that members lack.
//!
//! In: the commands that were sent, and what became of them. Out: the members as they are then. Nothing here fails: a refused write is
//! what became of its object.

use lifecycle_objects::failure::Failure;
use lifecycle_objects::write::{Command, Executed, WriteError, WriteErrorKind};
use serde_json::json;

use super::set::Set;
use super::work::{Asked, Work};
use crate::member::Live;
use crate::table::Decision;

impl Work {
    /// The creations of namespaces that members lacked. They are no members: they stay when the bundle goes.
    pub(super) fn missing_namespaces(&mut self, set: &Set<'_>) -> Vec<Command> {
        let missing = std::mem::take(&mut self.missing).into_iter();
        missing
            .map(|name| {
                let desired = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
                self.asked.push(Asked::Namespace(name));
                Command::Create { destination: set.setting.destination.clone(), desired }
            })
            .collect()
    }

    /// Takes the answers to the commands, in the same order.
    pub(super) fn record(&mut self, set: &mut Set<'_>, answers: Vec<Executed>) {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = answers.into_iter();
        for asked in asked {
            let executed = answers.next().unwrap_or_else(unanswered);
            match asked {
                Asked::Namespace(name) => {
                    let failure =
                        if let Executed::Failed(error) = &executed { Some(Failure::from(error)) } else { None };
                    self.tried.insert(name, failure);
                }
                Asked::Member(index) => self.record_one(set, index, executed),
            }
        }
    }

    fn record_one(&mut self, set: &mut Set<'_>, index: usize, executed: Executed) {
        let executed = match set.lacks_namespace(index, &executed).map(|name| (self.tried.get(&name), name)) {
            Some((None, name)) => {
                self.missing.insert(name);
                self.decided.remove(&index);
                return;
            }
            Some((Some(Some(failure)), _)) => {
                set.all[index].fail(failure.clone());
                return;
            }
            Some((Some(None), _)) | None => executed,
        };
        if set.record(index, executed) {
            self.decided.remove(&index);
            let may_be_given_up = set.all[index].holder().is_some_and(|it| set.setting.marks.sibling_of(it).is_some());
            if may_be_given_up {
                set.want_siblings();
            }
        }
    }
}

impl Set<'_> {
    /// Takes the answer to a member's command. Returns whether the member has to be decided about once more.
    fn record(&mut self, index: usize, executed: Executed) -> bool {
        let Self { setting, others, all, .. } = self;
        all[index].record(executed, |holder| Live::of(holder, &*setting.marks, others.known()))
    }

    /// The namespace without which a member could not be created, if the bundle may create it.
    fn lacks_namespace(&self, index: usize, executed: &Executed) -> Option<String> {
        let member = &self.all[index];
        let is_creation = matches!(member.verdict, Some((_, Decision::Create)));
        let namespace = member.identity.namespace.as_ref()?;
        let is_missing = matches!(executed, Executed::Failed(error) if error.kind == WriteErrorKind::NamespaceMissing);
        let is_rendered =
            || self.all.iter().any(|other| other.identity.kind.is_namespace() && other.identity.name == *namespace);
        let may_create = is_creation && is_missing && self.setting.creates_namespaces && !is_rendered();
        may_create.then(|| namespace.clone())
    }
}

/// What became of a command that got no answer: it may have been carried out, or not.
fn unanswered() -> Executed {
    Executed::Failed(WriteError {
        kind: WriteErrorKind::Unreachable,
        call: "write".to_owned(),
        status: None,
        message: "there was no answer".to_owned(),
    })
}
