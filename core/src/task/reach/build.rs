//! The questions of the decision table about one resource, in the order in which `decide` asks them.

use super::answers::{State, answers};
use super::found::Found;
use super::{Asks, End, Question, Step};
use crate::cel::{Expression, Possible};
use crate::id::Generation;
use crate::plan::decision::{
    Decision, FailReason, Failure, OrphanReason, SkipReason, UpdateReason, VersionReason, WaitReason,
};
use crate::plan::row::Row;
use crate::task::prospects::Own;
use crate::task::{Recreate, Resource, Task};

/// What cannot be rendered, or must not be written as it is.
const OF_MANIFEST: [FailReason; 3] =
    [FailReason::RenderFailed, FailReason::InvalidLabel, FailReason::InvalidGeneration];

/// Builds the steps of one resource.
pub(super) struct Builder<'t> {
    own: Own<'t>,
    resource: &'t Resource,
    /// Whether an earlier resource can fail: any can, there need only be one.
    has_earlier: bool,
    found: Found,
    /// Whether it is the owner of something that can be released.
    owns_releasable: bool,
}

/// A gate with an expression, asked by a row.
struct Asked<'t> {
    row: Row,
    name: &'static str,
    expression: Option<&'t Expression>,
    /// The answer that makes the row match.
    matches: bool,
}

fn end<'t>(row: Row, decision: &Decision) -> Step<'t> {
    Step::End(End::of(row, decision))
}

fn fact<'t>(row: Row, asks: &'static str, answers: Vec<(&'static str, Step<'t>)>) -> Step<'t> {
    Step::Question(Question { row, asks: Asks::Fact(asks), answers, failures: Vec::new() })
}

/// A fact without which nothing goes on.
fn prepared<'t>(row: Row, asks: &'static str, failures: &[FailReason], then: Step<'t>) -> Step<'t> {
    Step::Question(Question { row, asks: Asks::Fact(asks), answers: vec![("yes", then)], failures: failures.to_vec() })
}

impl<'t> Builder<'t> {
    pub(super) fn of(task: &'t Task, index: usize, resource: &'t Resource) -> Self {
        let owns_releasable = task.owns_releasable(index);
        let found = Found::of(task, resource);
        Self { own: Own::of(task, resource), resource, has_earlier: index > 0, found, owns_releasable }
    }

    /// Row 1, and what follows.
    pub(super) fn root(&self) -> Step<'t> {
        prepared(Row::Unknown, "can the live objects be read?", &[FailReason::DiscoveryFailed], self.disowned())
    }

    fn disowned(&self) -> Step<'t> {
        let row = Row::Disowned;
        let released = end(row, &Decision::Skip(SkipReason::Disowned));
        let released = if self.found.is_single {
            released
        } else {
            let rest = end(row, &Decision::Orphan(OrphanReason::Disowned));
            fact(row, "are others left that were not?", vec![("yes", rest), ("no", released)])
        };
        let states = [State::Absent, State::Live, State::Terminating].map(|state| (state.name(), self.state(state)));
        let there = fact(Row::Disowned, "what is there?", states.into());
        fact(row, "was a version released?", vec![("yes", released), ("no", there)])
    }

    /// Rows 3 to 9, as far as they are about what is there.
    fn state(&self, state: State) -> Step<'t> {
        let gates = &self.resource.gates;
        let (delete, gone) = match state {
            State::Live => (Row::Delete, Decision::Delete),
            State::Terminating => (Row::Deleting, Decision::Wait(WaitReason::Deleting)),
            State::Absent => (Row::AlreadyAbsent, Decision::Skip(SkipReason::AlreadyAbsent)),
        };
        let when = gates.delete.as_ref().map(|gate| &gate.when);
        let asked = Asked { row: delete, name: "delete", expression: when, matches: true };
        let gone = end(delete, &gone);
        let gone = if state == State::Live { self.unless_release_pending(delete, gone) } else { gone };
        let deleted = || self.gate(state, asked, gone, || self.writable(state));
        let (row, decision) = match state {
            State::Live => (Row::Orphan, Decision::Orphan(OrphanReason::GateHolds)),
            State::Absent => (Row::NothingToOrphan, Decision::Skip(SkipReason::NothingToOrphan)),
            // What is on its way out is not released.
            State::Terminating => return deleted(),
        };
        let asked = Asked { row, name: "orphan", expression: gates.orphan.as_ref(), matches: true };
        self.gate(state, asked, end(row, &decision), deleted)
    }

    /// Rows 7a to 9.
    fn writable(&self, state: State) -> Step<'t> {
        let row = Row::WhenFalse;
        let asked = Asked { row, name: "when", expression: self.resource.gates.when.as_ref(), matches: false };
        let skipped = end(row, &Decision::Skip(SkipReason::WhenFalse));
        let asked = self.gate(state, asked, skipped, || match state {
            State::Absent => self.absent(),
            State::Live => self.live(),
            State::Terminating => end(Row::Terminating, &Decision::Wait(WaitReason::Terminating)),
        });
        if !self.has_earlier {
            return asked;
        }
        let row = Row::EarlierFailure;
        let skipped = end(row, &Decision::Skip(SkipReason::EarlierFailure));
        fact(row, "did an earlier resource fail?", vec![("yes", skipped), ("no", asked)])
    }

    /// Rows 10 to 12.
    fn absent(&self) -> Step<'t> {
        let gates = &self.resource.gates;
        let (create, apply) = (Row::CreateGateFalse, Row::ApplyGateFalseAbsent);
        let asked = Asked { row: create, name: "create", expression: gates.create.as_ref(), matches: false };
        self.gate(State::Absent, asked, end(create, &Decision::Skip(SkipReason::CreateGateFalse)), || {
            let asked = Asked { row: apply, name: "apply", expression: gates.apply.as_ref(), matches: false };
            self.gate(State::Absent, asked, end(apply, &Decision::Skip(SkipReason::ApplyGateFalse)), || {
                let create = end(Row::Absent, &Decision::Create);
                prepared(Row::Absent, "does the manifest render?", &OF_MANIFEST, create)
            })
        })
    }

    /// Row 13, and those after it.
    fn live(&self) -> Step<'t> {
        let row = Row::Stale;
        let none = Generation::default();
        let stale = end(row, &Decision::Skip(SkipReason::StaleEvent { live: none, desired: none }));
        let asks = "has a version a higher generation than the desired one?";
        let asked = fact(row, asks, vec![("yes", stale), ("no", self.recreate())]);
        prepared(row, "does the manifest render?", &OF_MANIFEST, asked)
    }

    /// Row 14.
    fn recreate(&self) -> Step<'t> {
        let row = Row::Recreate;
        match &self.resource.gates.recreate {
            None => self.patch(),
            Some(Recreate::When(when)) => {
                let asked = Asked { row, name: "recreate", expression: Some(when), matches: true };
                self.gate(State::Live, asked, self.recreated(), || self.patch())
            }
            Some(Recreate::OnChange) => Step::Question(Question {
                row,
                asks: Asks::Gates(vec![("recreate_on_change".to_owned(), None)]),
                answers: vec![("holds", self.recreated()), ("does not hold", self.patch())],
                failures: Vec::new(),
            }),
        }
    }

    /// What follows when the recreate gate holds.
    fn recreated(&self) -> Step<'t> {
        let row = Row::Recreate;
        if self.resource.retention.is_some() {
            let taken = Failure::new(FailReason::VersionNameTaken, "");
            let taken = end(row, &Decision::Fail(taken));
            let beside = end(row, &Decision::CreateVersion(VersionReason::RecreateGateHolds));
            return fact(row, "has a version the rendered name?", vec![("yes", taken), ("no", beside)]);
        }
        let create = self.resource.gates.create.as_ref();
        let asked = Asked { row, name: "create", expression: create, matches: false };
        self.gate(State::Live, asked, end(row, &Decision::Skip(SkipReason::CreateGateFalse)), || {
            let recreate = self.unless_release_pending(row, end(row, &Decision::Recreate { from: None }));
            self.unless_terminating(row, recreate)
        })
    }

    /// What goes takes along what names it as its owner.
    fn unless_release_pending(&self, row: Row, then: Step<'t>) -> Step<'t> {
        if !self.owns_releasable {
            return then;
        }
        let wait = end(row, &Decision::Wait(WaitReason::ReleasePending));
        fact(row, "does it own something that is to be released?", vec![("yes", wait), ("no", then)])
    }

    /// The one of the rendered name may be on its way out while others are not.
    fn unless_terminating(&self, row: Row, then: Step<'t>) -> Step<'t> {
        if self.found.is_single {
            return then;
        }
        let wait = end(row, &Decision::Wait(WaitReason::Terminating));
        fact(row, "is the version of the rendered name terminating?", vec![("yes", wait), ("no", then)])
    }

    /// Row 15.
    fn patch(&self) -> Step<'t> {
        let patches = &self.resource.gates.patches;
        if patches.is_empty() {
            return self.apply();
        }
        let gates = patches.iter().enumerate();
        let gates = gates.map(|(place, patch)| (format!("patch[{place}]"), Some(&patch.when))).collect();
        let answers: Vec<Possible> =
            patches.iter().map(|patch| answers(&self.own, State::Live, &patch.when, true)).collect();
        if answers.iter().all(|answers| !answers.holds && !answers.fails) {
            return self.apply();
        }
        let mut led_to = Vec::new();
        let mut failures = Vec::new();
        if answers.iter().any(|answers| answers.fails) {
            failures.push(FailReason::GateFailed);
        }
        if answers.iter().all(|answers| answers.holds || answers.does_not_hold) {
            if answers.iter().any(|answers| answers.holds) {
                led_to.push(("one holds", end(Row::Patch, &Decision::Patch(Vec::new()))));
                failures.push(FailReason::RenderFailed);
            }
            if answers.iter().all(|answers| answers.does_not_hold) {
                led_to.push(("none holds", self.apply()));
            }
        }
        Step::Question(Question { row: Row::Patch, asks: Asks::Gates(gates), answers: led_to, failures })
    }

    /// Row 16.
    fn apply(&self) -> Step<'t> {
        let row = Row::ApplyGateFalse;
        let asked = Asked { row, name: "apply", expression: self.resource.gates.apply.as_ref(), matches: false };
        self.gate(State::Live, asked, end(row, &Decision::Skip(SkipReason::ApplyGateFalse)), || self.settled())
    }

    /// Rows 17 to 19.
    fn settled(&self) -> Step<'t> {
        let row = Row::SameGeneration;
        let same = end(row, &Decision::Skip(SkipReason::SameGeneration(Generation::default())));
        let changed = self.written(UpdateReason::GenerationChanged);
        let asks = "has the current version the desired generation?";
        if self.resource.owner.is_none() {
            return fact(row, asks, vec![("yes", same), ("no", changed)]);
        }
        let owned = Step::Question(Question {
            row,
            asks: Asks::Fact("does it name the owner?"),
            answers: vec![("yes", same), ("no", self.written(UpdateReason::OwnerChanged))],
            failures: vec![FailReason::OwnerUnavailable],
        });
        fact(row, asks, vec![("yes", owned), ("no", changed)])
    }

    /// Rows 18 and 19.
    fn written(&self, because: UpdateReason) -> Step<'t> {
        let update = end(Row::Update, &Decision::Update { from: None, because });
        let update = self.unless_terminating(Row::Update, update);
        if self.found.is_named {
            return update;
        }
        let beside = end(Row::NewName, &Decision::CreateVersion(VersionReason::NewName));
        fact(Row::NewName, "has a version the rendered name?", vec![("yes", update), ("no", beside)])
    }

    /// Asks a gate: the row matches by one answer, and `next` follows on the other. What is not
    /// configured, and what can only let pass, is left out.
    fn gate(&self, state: State, asked: Asked<'t>, matched: Step<'t>, next: impl FnOnce() -> Step<'t>) -> Step<'t> {
        let Some(expression) = asked.expression else { return next() };
        let answers = answers(&self.own, state, expression, asked.row == Row::Recreate && asked.name == "recreate");
        let (matching, other) = match asked.matches {
            true => ((answers.holds, "holds"), (answers.does_not_hold, "does not hold")),
            false => ((answers.does_not_hold, "does not hold"), (answers.holds, "holds")),
        };
        if !matching.0 && !answers.fails {
            return next();
        }
        let mut led_to = Vec::new();
        if matching.0 {
            led_to.push((matching.1, matched));
        }
        if other.0 {
            led_to.push((other.1, next()));
        }
        let gates = vec![(asked.name.to_owned(), Some(expression))];
        let failures = if answers.fails { vec![FailReason::GateFailed] } else { Vec::new() };
        Step::Question(Question { row: asked.row, asks: Asks::Gates(gates), answers: led_to, failures })
    }
}
