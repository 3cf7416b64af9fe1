//! Answers the decision table's questions about one resource: evaluates its gates, renders its manifest.

use std::collections::BTreeSet;

use super::decide::{Gate, GateAnswer, Questions, Wanted, current};
use super::decision::Failure;
use crate::cel::{Answer, EvaluationError, Expression, ResourceReads};
use crate::manifest::{self, Desired, Stamp};
use crate::observation::Version;
use crate::scope::Scope;
use crate::task::{Recreate, Resource};

/// The gates that were asked, and what the author should know.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Each gate that was asked, with its answer.
    pub(super) gates: Vec<(&'static str, String)>,
    /// Remarks that did not change the outcome.
    pub(super) warnings: Vec<String>,
}

/// The table's questions about one resource, answered at most once each.
pub(super) struct Examination<'a> {
    resource: &'a Resource,
    scope: &'a Scope,
    stamp: &'a Stamp,
    /// The names in `resources` that could not be read.
    unknown: BTreeSet<&'a str>,
    failed_earlier: bool,
    versions: Vec<&'a Version>,
    desired: Option<Result<Desired, Failure>>,
    record: Record,
}

impl<'a> Examination<'a> {
    pub(super) fn new(
        resource: &'a Resource,
        scope: &'a Scope,
        stamp: &'a Stamp,
        unknown: BTreeSet<&'a str>,
        failed_earlier: bool,
    ) -> Self {
        Self {
            resource,
            scope,
            stamp,
            unknown,
            failed_earlier,
            versions: Vec::new(),
            desired: None,
            record: Record::default(),
        }
    }

    /// Tells it what belongs to the resource.
    pub(super) fn with_versions(mut self, versions: &[&'a Version]) -> Self {
        self.versions = versions.to_vec();
        self
    }

    /// The stamped object, rendered on first use.
    pub(super) fn desired(&mut self) -> Result<&Desired, Failure> {
        let rendered = || manifest::desired(self.resource, self.scope, self.stamp);
        self.desired.get_or_insert_with(rendered).as_ref().map_err(Clone::clone)
    }

    pub(super) fn into_parts(self) -> (Option<Desired>, Record) {
        (self.desired.and_then(Result::ok), self.record)
    }

    fn recreate_on_change(&mut self) -> GateAnswer {
        let desired = match self.desired() {
            Ok(desired) => desired.generation,
            Err(failure) => return GateAnswer::Failed(failure.to_string()),
        };
        match current(self.versions.iter().copied(), desired).and_then(Version::generation) {
            Some(live) if live < desired => GateAnswer::Holds,
            Some(_) | None => GateAnswer::DoesNotHold,
        }
    }

    fn evaluate(&mut self, expression: &Expression, lenient: bool) -> GateAnswer {
        if let Some(name) = self.unread_dependency(expression) {
            return GateAnswer::Failed(format!("it reads resources.{name}, which could not be discovered"));
        }
        match expression.evaluate(self.scope) {
            // A gate writes or destroys: no answer must not count as yes.
            Ok(Answer::Absent) => GateAnswer::Failed(format!("`{}` gave no value", expression.source())),
            Ok(answer) if answer.is_truthy() => GateAnswer::Holds,
            Ok(_) => GateAnswer::DoesNotHold,
            Err(error) if lenient && self.is_missing_own_status(&error) => {
                self.record.warnings.push(format!("taken as false: {error}"));
                GateAnswer::DoesNotHold
            }
            Err(error) => GateAnswer::Failed(error.to_string()),
        }
    }

    /// An unread child is not an absent child: a gate that can read one has no answer.
    fn unread_dependency(&self, expression: &Expression) -> Option<&'a str> {
        match expression.resource_reads() {
            ResourceReads::Any => self.unknown.first().copied(),
            ResourceReads::Only(names) => self.unknown.iter().copied().find(|name| names.contains(*name)),
        }
    }

    /// A fresh object has no status yet, so a gate about its conditions simply does not hold.
    fn is_missing_own_status(&self, error: &EvaluationError) -> bool {
        error.is_missing_below(&["resources", &self.resource.name, "status"])
    }
}

impl Questions for Examination<'_> {
    fn gate(&mut self, gate: Gate) -> GateAnswer {
        let gates = &self.resource.gates;
        let (name, answer) = match gate {
            Gate::Create => match &gates.create {
                Some(when) => ("create", self.evaluate(when, false)),
                None => return GateAnswer::Holds,
            },
            Gate::Recreate => match &gates.recreate {
                Some(Recreate::When(when)) => ("recreate", self.evaluate(when, true)),
                Some(Recreate::OnChange) => ("recreate_on_change", self.recreate_on_change()),
                None => return GateAnswer::DoesNotHold,
            },
            Gate::Delete => match &gates.delete {
                Some(delete) => ("delete", self.evaluate(&delete.when, false)),
                None => return GateAnswer::DoesNotHold,
            },
        };
        let told = match &answer {
            GateAnswer::Holds => "holds".to_owned(),
            GateAnswer::DoesNotHold => "does not hold".to_owned(),
            GateAnswer::Failed(cause) => format!("failed: {cause}"),
        };
        self.record.gates.push((name, told));
        match answer {
            GateAnswer::Failed(cause) => GateAnswer::Failed(format!("failed to evaluate the {name} gate: {cause}")),
            GateAnswer::Holds | GateAnswer::DoesNotHold => answer,
        }
    }

    fn wanted(&mut self) -> Result<Wanted, Failure> {
        self.desired().map(|desired| Wanted { generation: desired.generation, name: desired.name.clone() })
    }

    fn failed_earlier(&self) -> bool {
        self.failed_earlier
    }
}
