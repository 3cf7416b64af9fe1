//! Situations for tests of the decision table: live versions, and prepared answers to the table's questions.

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::Generation;
use lifecycle_objects::keys;
use lifecycle_objects::observation::Version;
use serde_json::json;

use crate::decision::{Decision, NotYet, Resent};
use crate::outcome::GateAnswer;
use crate::plan::decide::{Decided, Gate, Questions, Rendered, Seen, decide};

/// The properties of a live version that the table reads.
#[derive(Debug, Clone)]
pub(super) struct Live {
    pub(super) name: &'static str,
    pub(super) generation: Option<i64>,
    pub(super) terminating: bool,
    pub(super) disowned: bool,
    /// The day of January 2026 on which it was created.
    pub(super) day: u32,
}

/// A version of the desired name and generation that is not terminating.
pub(super) const LIVE: Live = Live { name: "a", generation: Some(3), terminating: false, disowned: false, day: 1 };

impl Live {
    pub(super) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(super) fn generation(self, generation: i64) -> Self {
        Self { generation: Some(generation), ..self }
    }

    pub(super) fn terminating(self) -> Self {
        Self { terminating: true, ..self }
    }

    pub(super) fn disowned(self) -> Self {
        Self { disowned: true, ..self }
    }

    pub(super) fn created_on(self, day: u32) -> Self {
        Self { day, ..self }
    }

    pub(super) fn version(&self) -> Version {
        let mut object = json!({
            "metadata": {
                "name": self.name,
                "uid": format!("uid-{}", self.name),
                "creationTimestamp": format!("2026-01-{:02}T00:00:00Z", self.day),
            }
        });
        if let Some(generation) = self.generation {
            object["metadata"]["annotations"] = json!({ keys::GENERATION: generation.to_string() });
        }
        if self.terminating {
            object["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
        }
        if self.disowned {
            object["metadata"]["labels"] = json!({ keys::DISOWNED: "c1" });
        }
        Version::new(object)
    }
}

/// The live versions of a resource, and the answer to each question that the table may ask.
#[derive(Debug, Clone)]
pub(super) struct Situation {
    /// The live versions; none if they could not be read.
    pub(super) versions: Option<Vec<Live>>,
    /// Whether no adapter wrote the versions.
    pub(super) is_foreign: bool,
    pub(super) adopts: bool,
    /// The wait that a false `when` is; none if it does not read the clock.
    pub(super) not_yet: Option<NotYet>,
    /// What is unobserved for too long.
    pub(super) resends: Option<Resent>,
    pub(super) orphan: GateAnswer,
    pub(super) delete: GateAnswer,
    pub(super) when: GateAnswer,
    pub(super) create: GateAnswer,
    pub(super) apply: GateAnswer,
    pub(super) recreate: GateAnswer,
    pub(super) patches: Result<Vec<usize>, Failure>,
    pub(super) rendered: Result<Rendered, Failure>,
    pub(super) has_its_owner: Result<bool, Failure>,
    pub(super) pending_disowning: Option<String>,
    pub(super) retains_versions: bool,
    pub(super) failed_earlier: bool,
}

/// A situation without a live version and without gates, in which the manifest renders to generation 3 of the
/// name `a`.
pub(super) fn nothing() -> Situation {
    Situation {
        versions: Some(Vec::new()),
        is_foreign: false,
        adopts: false,
        not_yet: None,
        resends: None,
        orphan: GateAnswer::DoesNotHold,
        delete: GateAnswer::DoesNotHold,
        when: GateAnswer::Holds,
        create: GateAnswer::Holds,
        apply: GateAnswer::Holds,
        recreate: GateAnswer::DoesNotHold,
        patches: Ok(Vec::new()),
        rendered: Ok(Rendered { generation: Generation(3), namespace: String::new(), name: "a".to_owned() }),
        has_its_owner: Ok(true),
        pending_disowning: None,
        retains_versions: false,
        failed_earlier: false,
    }
}

/// The situation [`nothing`] with these versions.
pub(super) fn found(versions: impl IntoIterator<Item = Live>) -> Situation {
    Situation { versions: Some(versions.into_iter().collect()), ..nothing() }
}

/// The situation [`nothing`] with these versions, none of which an adapter wrote.
pub(super) fn foreign(versions: impl IntoIterator<Item = Live>) -> Situation {
    let versions = versions.into_iter().map(|version| Live { generation: None, ..version });
    Situation { is_foreign: true, ..found(versions) }
}

/// The answer of a gate that failed.
pub(super) fn no_answer() -> GateAnswer {
    GateAnswer::Failed("no such key".to_owned())
}

/// The failure of a decision whose gate has no answer.
pub(super) fn gate_failed() -> Failure {
    Failure::new(FailReason::GateFailed, "no such key")
}

/// The decision of the table in a situation, and the questions that it asked.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) decided: Decided,
    /// The gates and other questions that the table asked, in order.
    pub(super) asked: Vec<&'static str>,
    /// The delete gate's answer in each conflict that the table noted between the orphan and the delete gate.
    pub(super) conflicts: Vec<GateAnswer>,
}

impl Verdict {
    /// The number of the row that decided, and the decision.
    pub(super) fn outcome(&self) -> (&'static str, &Decision) {
        (self.decided.row.number(), &self.decided.decision)
    }

    /// The evaluated gates, in order.
    pub(super) fn gates(&self) -> Vec<&'static str> {
        self.asked.iter().copied().filter(|name| !matches!(*name, "render" | "owner")).collect()
    }
}

impl Situation {
    pub(super) fn decide(&self) -> Verdict {
        let versions: Option<Vec<Version>> =
            self.versions.as_ref().map(|versions| versions.iter().map(Live::version).collect());
        let seen = match &versions {
            None => Seen::Unknown("connection refused"),
            Some(versions) if self.is_foreign => Seen::Foreign(versions.iter().collect()),
            Some(versions) => Seen::Versions(versions.iter().collect()),
        };
        let mut answers = Answers { situation: self, asked: Vec::new(), conflicts: Vec::new() };
        let decided = decide(&seen, &mut answers);
        Verdict { decided, asked: answers.asked, conflicts: answers.conflicts }
    }
}

/// Answers the table's questions from a situation, and records the questions.
struct Answers<'a> {
    situation: &'a Situation,
    asked: Vec<&'static str>,
    conflicts: Vec<GateAnswer>,
}

impl Questions for Answers<'_> {
    fn gate(&mut self, gate: Gate) -> GateAnswer {
        let (name, answer) = match gate {
            Gate::Orphan => ("orphan", &self.situation.orphan),
            Gate::Delete => ("delete", &self.situation.delete),
            Gate::When => ("when", &self.situation.when),
            Gate::Create => ("create", &self.situation.create),
            Gate::Apply => ("apply", &self.situation.apply),
            Gate::Recreate => ("recreate", &self.situation.recreate),
        };
        self.asked.push(name);
        answer.clone()
    }

    fn patches(&mut self) -> Result<Vec<usize>, Failure> {
        self.asked.push("patch");
        self.situation.patches.clone()
    }

    fn rendered(&mut self) -> Result<Rendered, Failure> {
        self.asked.push("render");
        self.situation.rendered.clone()
    }

    fn has_its_owner(&mut self, _: &Version) -> Result<bool, Failure> {
        self.asked.push("owner");
        self.situation.has_its_owner.clone()
    }

    fn pending_disowning(&mut self) -> Option<String> {
        self.situation.pending_disowning.clone()
    }

    fn not_yet(&mut self) -> Option<NotYet> {
        self.situation.not_yet.clone()
    }

    fn resends(&mut self, _: &[&Version]) -> Option<Resent> {
        self.situation.resends
    }

    fn adopts(&self) -> bool {
        self.situation.adopts
    }

    fn keeps_a_set(&self) -> bool {
        false
    }

    fn retains_versions(&self) -> bool {
        self.situation.retains_versions
    }

    fn failed_earlier(&mut self) -> bool {
        self.situation.failed_earlier
    }

    fn note_conflict(&mut self, delete: GateAnswer) {
        self.conflicts.push(delete);
    }
}
