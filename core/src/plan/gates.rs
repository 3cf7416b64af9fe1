//! Answers the decision table's questions about one resource: evaluates its gates, renders its manifest and patches.

use std::collections::BTreeSet;
use std::time::Duration;

use lifecycle_language::cel::{EvaluationError, Expression, Reading};
use lifecycle_language::scope::Scope;
use lifecycle_language::value::Type;
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::Generation;
use lifecycle_objects::observation::Version;
use lifecycle_objects::secret::{encode_patch, is_kind_of_secrets, lacks_text};
use lifecycle_objects::stamp::Stamp;
use serde_json::Value;

use super::decide::{Gate, Questions, Rendered, current};
use super::owner::OwnerStatus;
use super::{reads, unobserved};
use crate::decision::{NotYet, Resent};
use crate::manifest::reserved::Reserved;
use crate::manifest::{self, Desired, OwnershipFields};
use crate::outcome::GateAnswer;
use crate::outcome::GateRecord;
use crate::patch;
use crate::task::{Gates, Recreate, Resource};
use crate::warning::{Warning, WarningReason};

/// The gates that were evaluated for one resource, and their warnings.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Each evaluated gate with its result, in order.
    pub(super) gates: Vec<GateRecord>,
    /// Warnings that did not change the decision.
    pub(super) warnings: Vec<Warning>,
}

/// Whether an object of another resource has to be disowned before an object is deleted.
#[derive(Debug, Default)]
pub(super) struct PendingDisowning {
    /// Why a deletion has to wait, with the other resource and its object; none if nothing has to be disowned first.
    pub(super) because: Option<String>,
    /// The orphan gates that were evaluated to find out.
    pub(super) gates: Vec<GateRecord>,
}

/// The values from which the questions about a resource are answered.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) resource: &'a Resource,
    pub(super) scope: &'a Scope,
    pub(super) stamp: &'a Stamp,
    /// The names in `resources` that could not be read.
    pub(super) unknown: &'a BTreeSet<&'a str>,
    pub(super) failed_earlier: bool,
    /// Finds the object of another resource that has to be disowned first. Called only by rows that delete, because it
    /// evaluates the other resources' orphan gates.
    pub(super) pending_disowning: &'a dyn Fn() -> PendingDisowning,
    /// How long a write to a remote cluster may stay unobserved; none if the resource is not on one.
    pub(super) resend_after: Option<Duration>,
    /// Whether to record the values that each gate reads, for traces and dry runs.
    pub(super) keeps_readings: bool,
    /// What becomes of a manifest that writes labels of the adapter.
    pub(super) reserved: Reserved,
}

impl Context<'_> {
    /// Renders and stamps the manifest.
    pub(super) fn render(&self) -> Result<Desired, Failure> {
        reads::check(&reads::of_manifests(self.resource), self.unknown).map_err(render_failed)?;
        manifest::desired(self.resource, self.scope, self.stamp, self.reserved)
    }

    /// Renders only what decides ownership: the manifest's name, namespace and ownership labels.
    pub(super) fn ownership_fields(&self) -> Result<OwnershipFields, Failure> {
        let manifest = OwnershipFields::part_of(&self.resource.manifest);
        reads::check(&reads::of_manifest(&manifest), self.unknown).map_err(render_failed)?;
        let identity = OwnershipFields::render(&manifest, &self.resource.transport, self.scope)?;
        match (self.reserved, identity.fault(&self.resource.name, self.stamp)) {
            (Reserved::Refused, Some(failure)) => Err(failure),
            (Reserved::Refused | Reserved::Kept, _) => Ok(identity),
        }
    }
}

/// Answers the table's questions about one resource, and evaluates each gate at most once.
pub(super) struct Examination<'a> {
    context: Context<'a>,
    /// The versions that the resource owns.
    versions: &'a [&'a Version],
    /// The status of the owner that the resource's objects reference; `None` if the task names no owner.
    owner: Option<&'a OwnerStatus>,
    desired: Option<Result<Desired, Failure>>,
    /// The rendered documents of the patches whose gates are true.
    documents: Vec<Value>,
    record: Record,
}

/// The manifest and patches that were rendered while the table decided, and the record of the gates.
pub(super) struct Examined {
    /// The stamped object, if it was rendered.
    pub(super) desired: Option<Desired>,
    /// The documents of the patches whose gates hold.
    pub(super) documents: Vec<Value>,
    pub(super) record: Record,
}

/// What counts as an answer of a gate.
#[derive(Clone, Copy)]
struct Asks {
    /// See [`Gate::is_strict`].
    is_strict: bool,
    /// See [`Gate::is_lenient`].
    is_lenient: bool,
}

impl<'a> Examination<'a> {
    /// `desired` is the rendered manifest, if the caller rendered it already.
    pub(super) fn new(
        context: Context<'a>,
        versions: &'a [&'a Version],
        owner: Option<&'a OwnerStatus>,
        desired: Option<Result<Desired, Failure>>,
    ) -> Self {
        Self { context, versions, owner, desired, documents: Vec::new(), record: Record::default() }
    }

    /// The rendered and stamped manifest; rendered at the first call.
    fn desired(&mut self) -> Result<&Desired, Failure> {
        let context = self.context;
        self.desired.get_or_insert_with(|| context.render()).as_ref().map_err(Clone::clone)
    }

    pub(super) fn into_parts(self) -> Examined {
        let desired = self.desired.and_then(Result::ok);
        Examined { desired, documents: self.documents, record: self.record }
    }

    fn recreate_on_change(&mut self) -> GateAnswer {
        match self.desired().map(|desired| desired.generation) {
            Ok(desired) => GateAnswer::of(is_behind(self.versions, desired)),
            Err(failure) => GateAnswer::Failed(failure.to_string()),
        }
    }

    /// Whether the resource has no live object of the desired generation, and would get one if `when` were true.
    fn holds_back(&mut self) -> bool {
        let Context { resource, stamp, .. } = self.context;
        let is_foreign = |version: &&Version| !version.is_written_by(&stamp.adapter);
        let never_applies = resource.gates.apply.as_ref().is_some_and(|apply| apply.source() == "false");
        let has_foreign = !self.versions.is_empty() && self.versions.iter().all(is_foreign);
        if never_applies || has_foreign && !resource.adopt {
            return false;
        }
        // The manifest's author may have written the generation; a manifest that does not render tells none.
        let desired = self.desired().map_or(stamp.generation, |desired| desired.generation);
        let live = current(self.versions.iter().copied(), desired).filter(|version| !version.is_terminating());
        live.and_then(Version::generation).is_none_or(|live| live < desired)
    }

    fn evaluate(&mut self, name: &str, expression: &Expression, asks: Asks) -> GateAnswer {
        if let Err(cause) = reads::check(expression.resource_reads(), self.context.unknown) {
            return GateAnswer::Failed(cause);
        }
        match expression.evaluate_typed(self.context.scope) {
            // A gate without a value counts as failed, never as true: gates decide about writes and deletions.
            Ok(None) => GateAnswer::Failed(format!("`{}` gave no value", expression.source())),
            Ok(Some(answer)) if asks.is_strict && answer.type_of() != Type::Boolean => {
                GateAnswer::Failed(not_boolean(expression, answer.type_of()))
            }
            Ok(Some(answer)) if answer.is_truthy() => GateAnswer::Holds,
            Ok(Some(_)) => GateAnswer::DoesNotHold,
            Err(error) if asks.is_lenient && self.is_missing_own_status(&error) => {
                let message = format!("the {name} gate was taken as false: {error}");
                self.record.warnings.push(Warning::new(WarningReason::StatusMissing, message));
                GateAnswer::DoesNotHold
            }
            Err(error) => GateAnswer::Failed(error.to_string()),
        }
    }

    /// Whether a gate failed because its own object has no `status` yet. A new object has none, so the gate
    /// counts as false.
    fn is_missing_own_status(&self, error: &EvaluationError) -> bool {
        error.is_missing_below(&["resources", &self.context.resource.name, "status"])
    }

    /// Evaluates a gate, and records its result.
    fn ask(&mut self, name: String, expression: &Expression, asks: Asks) -> GateAnswer {
        let answer = self.evaluate(&name, expression, asks);
        let Context { scope, resource, keeps_readings, .. } = self.context;
        let readings = if keeps_readings { expression.readings(scope) } else { Vec::new() };
        let is_explained = keeps_readings && answer == GateAnswer::DoesNotHold;
        let awaits = if is_explained { expression.awaits(&resource.name, scope) } else { BTreeSet::new() };
        self.note(name, answer, readings, awaits)
    }

    fn note(
        &mut self,
        name: String,
        answer: GateAnswer,
        readings: Vec<Reading>,
        awaits: BTreeSet<String>,
    ) -> GateAnswer {
        let told = match &answer {
            GateAnswer::Failed(cause) => GateAnswer::Failed(format!("failed to evaluate the {name} gate: {cause}")),
            GateAnswer::Holds | GateAnswer::DoesNotHold => answer.clone(),
        };
        self.record.gates.push(GateRecord { resource: None, name, answer, readings, awaits });
        told
    }
}

impl Questions for Examination<'_> {
    fn gate(&mut self, gate: Gate) -> GateAnswer {
        match configured(&self.context.resource.gates, gate) {
            Configured::Never(answer) => answer,
            Configured::When(name, expression) => {
                let asks = Asks { is_strict: gate.is_strict(), is_lenient: gate.is_lenient() };
                self.ask(name.to_owned(), expression, asks)
            }
            Configured::OnChange(name) => {
                let answer = self.recreate_on_change();
                self.note(name.to_owned(), answer, Vec::new(), BTreeSet::new())
            }
        }
    }

    fn patches(&mut self) -> Result<Vec<usize>, Failure> {
        let context = self.context;
        let mut holding = Vec::new();
        for (place, patch) in context.resource.gates.patches.iter().enumerate() {
            match self.ask(format!("patch[{place}]"), &patch.when, Asks { is_strict: false, is_lenient: true }) {
                GateAnswer::Holds => holding.push(place),
                GateAnswer::DoesNotHold => {}
                GateAnswer::Failed(cause) => return Err(Failure::new(FailReason::GateFailed, cause)),
            }
        }
        self.documents.clear();
        for &place in &holding {
            let failed = |cause: String| render_failed(format!("the document of patch[{place}]: {cause}"));
            let document = &context.resource.gates.patches[place].document;
            reads::check(&reads::of_tree(document), context.unknown).map_err(failed)?;
            let mut document = document.render(context.scope).map_err(|error| failed(error.to_string()))?;
            if is_kind_of_secrets(&context.resource.kind) {
                if let Some(fault) = lacks_text(&document) {
                    return Err(failed(fault));
                }
                encode_patch(&mut document);
            }
            // Loading a task checks the literal keys of a patch; keys that are templates can be checked only
            // here.
            let fault = document.as_object().map(|document| patch::faults(document, context.resource.owner.is_some()));
            if let Some(fault) = fault.iter().flatten().next() {
                return Err(failed(fault.to_string()));
            }
            self.documents.push(document);
        }
        Ok(holding)
    }

    fn rendered(&mut self) -> Result<Rendered, Failure> {
        self.desired().map(|desired| Rendered {
            generation: desired.generation,
            namespace: desired.namespace.clone().unwrap_or_default(),
            name: desired.name.clone(),
        })
    }

    fn has_its_owner(&mut self, version: &Version) -> Result<bool, Failure> {
        self.owner.map_or(Ok(true), |owner| owner.owns(version))
    }

    fn pending_disowning(&mut self) -> Option<String> {
        let PendingDisowning { because, gates } = (self.context.pending_disowning)();
        self.record.gates.extend(gates);
        because
    }

    fn not_yet(&mut self) -> Option<NotYet> {
        let resource = self.context.resource;
        let gate = resource.gates.when.as_ref().filter(|_| resource.gates.reads_clock)?;
        Some(NotYet { gate: gate.one_line().to_string(), holds_back: self.holds_back() })
    }

    fn resends(&mut self, versions: &[&Version]) -> Option<Resent> {
        let (limit, now) = (self.context.resend_after?, self.context.scope.now());
        let late = |version: &&&Version| unobserved::since(version, limit, now, |it| it.sent).is_some();
        let (terminating, live): (Vec<&Version>, Vec<&Version>) =
            versions.iter().filter(late).copied().partition(|version| version.is_terminating());
        // Maestro shows no `spec.executor`, so only the manifest tells it; without it, the agent would apply with its own rights.
        if !live.is_empty() && self.desired().is_ok() {
            return Some(Resent::Content);
        }
        (!terminating.is_empty()).then_some(Resent::Deletion)
    }

    fn adopts(&self) -> bool {
        self.context.resource.adopt
    }

    fn keeps_a_set(&self) -> bool {
        self.context.resource.bundle.is_some()
    }

    fn retains_versions(&self) -> bool {
        self.context.resource.retention.is_some()
    }

    fn failed_earlier(&mut self) -> bool {
        self.context.failed_earlier
    }

    fn note_conflict(&mut self, delete: GateAnswer) {
        let told = match delete {
            GateAnswer::Failed(cause) => format!("has no answer ({cause})"),
            GateAnswer::Holds | GateAnswer::DoesNotHold => "holds, too".to_owned(),
        };
        let message = format!("the orphan gate holds, and the delete gate {told}: the object is disowned, not deleted");
        self.record.warnings.push(Warning::new(WarningReason::GateConflict, message));
    }
}

/// How a task configures a gate.
pub enum Configured<'g> {
    /// The task does not configure the gate, which always has this result.
    Never(GateAnswer),
    /// An expression, with the key that holds it.
    When(&'static str, &'g Expression),
    /// The comparison of generations that `recreate_on_change` stands for, with the key's name.
    OnChange(&'static str),
}

/// How the task configures a gate, with the name by which traces call the gate.
#[must_use]
pub fn configured(gates: &Gates, gate: Gate) -> Configured<'_> {
    let (name, expression, unless_configured) = match gate {
        Gate::Orphan => ("orphan", gates.orphan.as_ref(), GateAnswer::DoesNotHold),
        Gate::Delete => ("delete", gates.delete.as_ref().map(|gate| &gate.when), GateAnswer::DoesNotHold),
        Gate::When => ("when", gates.when.as_ref(), GateAnswer::Holds),
        Gate::Create => ("create", gates.create.as_ref(), GateAnswer::Holds),
        Gate::Apply => ("apply", gates.apply.as_ref(), GateAnswer::Holds),
        Gate::Recreate => match &gates.recreate {
            Some(Recreate::When(when)) => ("recreate", Some(when), GateAnswer::DoesNotHold),
            Some(Recreate::OnChange) => return Configured::OnChange("recreate_on_change"),
            None => ("recreate", None, GateAnswer::DoesNotHold),
        },
    };
    expression.map_or(Configured::Never(unless_configured), |expression| Configured::When(name, expression))
}

/// The value of `recreate_on_change`: whether the current version was written for an older generation than the
/// desired one.
#[must_use]
pub fn is_behind(versions: &[&Version], desired: Generation) -> bool {
    let live = current(versions.iter().copied(), desired).and_then(Version::generation);
    live.is_some_and(|live| live < desired)
}

/// Why a gate that takes away an object has no answer: the type of its value, never the value, which may be secret.
fn not_boolean(expression: &Expression, found: Type) -> String {
    let source = expression.one_line();
    let cure = found.compared(source);
    format!("`{source}` gave {found}, and this gate takes `true` or `false` alone: write a test, such as `{cure}`")
}

fn render_failed(cause: String) -> Failure {
    Failure::new(FailReason::RenderFailed, cause)
}
