//! The end of a pass: what the set remembers of it, what is read once more, and the report.
//!
//! In: the members after the last step. Out: the memory, and the [`Report`]. Nothing here fails.

use std::collections::BTreeSet;

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, Query, Version};

use super::set::{Set, place};
use super::unread_once_more;
use crate::marks::Kinship;
use crate::report::{ObjectReport, Report, Stop, StoppedBy};
use crate::table::Intent;

impl Set<'_> {
    /// Leaves only the places of the manifests and of objects that this pass found, after a complete pass. A place goes if the
    /// complete pass before had no use for it either: another pass that read the memory earlier may still create an object there,
    /// and the next event finds that.
    pub(super) fn shrink(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        let (kinds, namespaces): (_, BTreeSet<_>) = self.all.iter().map(|member| place(&member.identity)).unzip();
        let namespaces = namespaces.into_iter().flatten().collect();
        self.memory.shrink(&kinds, &namespaces);
    }

    /// Whether the pass came to its end, and nothing failed.
    pub(super) fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.all.iter().all(|member| member.failure().is_none())
    }

    /// Takes what was read once more after a deletion or a disowning: a member that was created meanwhile, or a list that failed,
    /// keeps the memory.
    pub(super) fn found_again(&mut self, queries: &[Query], left: Vec<Observation>) {
        let mut stop = (left.len() < queries.len()).then(unread_once_more);
        for observation in left {
            match observation {
                Observation::Unknown(cause) | Observation::Forbidden(cause) => {
                    stop = Some(Stop::by_question(None, Failure::new(FailReason::DiscoveryFailed, cause)));
                    break;
                }
                Observation::Found(versions) => stop = stop.or_else(|| self.created_meanwhile(&versions)),
            }
        }
        self.stopped = stop;
    }

    /// A member among these, none of which should be there any more.
    fn created_meanwhile(&self, versions: &[Version]) -> Option<Stop> {
        // A disowning leaves what is on its way out.
        let stays = |version: &&Version| self.intent == Intent::Disown && version.is_terminating();
        let others = versions.iter().filter(|version| !stays(version));
        let mut others = others.map(|version| (version, ObjectRef::of(version.object()).into()));
        let (_, identity) = others.find(|(it, of)| self.setting.marks.kinship(it, of) != Kinship::Copy)?;
        let why = format!("{identity} was created meanwhile; the next event finds it");
        Some(Stop { step: None, by: StoppedBy::Object(identity), why })
    }

    /// What the pass did. `broken_off` is what keeps it from having come to its end, if its caller does not go on.
    pub(super) fn into_report(self, broken_off: Option<Stop>) -> Report {
        let (rules, now) = (self.setting.ready, self.setting.now);
        let objects = self.all.into_iter().zip(self.handled_in).map(|(mut member, step)| {
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
            steps: self.steps,
            stopped: self.stopped.or(broken_off),
        }
    }
}
