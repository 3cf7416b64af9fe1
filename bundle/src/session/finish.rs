//! The end of a pass: what the parent remembers of it, what is read once more, and the report.
//!
//! In: the members after the last step. Out: a write of the parent if it has changed, and the [`Report`]. Nothing here fails.

use std::collections::BTreeSet;

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, Version};

use super::{Next, Session, place};
use crate::report::{ObjectReport, Report};
use crate::setting::Kinship;
use crate::table::Intent;

impl Session<'_> {
    /// Leaves only the places of the manifests and of objects that this pass found, after a complete pass. A place goes if the
    /// complete pass before had no use for it either: another pass that read the parent earlier may still create an object there,
    /// and the next event finds that.
    pub(super) fn end(&mut self) -> Next {
        if self.is_over || self.intent != Intent::Apply {
            return Next::Done;
        }
        if self.stopped.is_none() {
            let (kinds, namespaces): (_, BTreeSet<_>) =
                self.members.iter().map(|member| place(&member.identity)).unzip();
            let namespaces = namespaces.into_iter().flatten().collect();
            self.parent.shrink(&kinds, &namespaces);
        }
        self.is_over = true;
        if self.parent.is_changed() { Next::WriteParent } else { Next::Done }
    }

    /// Whether the pass came to its end, and nothing failed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let has_failed = self.members.iter().any(|member| member.failure().is_some());
        self.stopped.is_none() && self.failure.is_none() && !has_failed
    }

    /// Counts the pass as failed until [`Session::found_again`] is called.
    pub fn expect_to_find_nothing(&mut self) {
        self.failure = Some(Failure::new(FailReason::DiscoveryFailed, "the members were not read once more"));
    }

    /// Takes what was read once more after a deletion or a disowning: a member that was created meanwhile, or a list that failed,
    /// keeps the parent.
    pub fn found_again(&mut self, left: Vec<Observation>) {
        self.failure = None;
        for observation in left {
            match observation {
                Observation::Unknown(cause) | Observation::Forbidden(cause) => {
                    self.failure = Some(Failure::new(FailReason::DiscoveryFailed, cause))
                }
                Observation::Found(versions) => {
                    // A disowning leaves what is on its way out.
                    let stays = |version: &&Version| self.intent == Intent::Disown && version.is_terminating();
                    let others = versions.iter().filter(|version| !stays(version));
                    let mut others = others.map(|version| (version, ObjectRef::of(version.object()).into()));
                    let member = others.find(|(it, of)| self.setting.kinship(it, of) != Kinship::Copy);
                    if let Some((_, identity)) = member {
                        self.stopped = Some(format!("{identity} was created meanwhile; the next event finds it"));
                    }
                }
            }
        }
    }

    /// What the pass did.
    #[must_use]
    pub fn into_report(self) -> Report {
        let (rules, now) = (self.setting.ready, self.setting.now);
        let objects = self.members.into_iter().zip(self.handled_in).map(|(mut member, step)| {
            let judgement = member.take_judgement(rules, now);
            ObjectReport {
                identity: member.identity,
                step: step.unwrap_or_default(),
                verdict: member.verdict,
                effect: member.effect,
                judgement,
            }
        });
        Report {
            intent: self.intent,
            objects: objects.collect(),
            steps: self.names,
            stopped: self.stopped,
            blocked_by: self.blocked_by,
            failure: self.failure,
            lacks_parent: self.lacks_parent,
        }
    }
}
