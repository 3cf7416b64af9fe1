//! What the other entries of the task render, for a bundle whose objects may move to them or come from them.
//!
//! In: the entries, and the scope at the bundle's turn. Out: [`Siblings`]. Nothing here fails: an entry that does not render is one
//! of which nothing is known. Nothing is read or written for it.

use std::collections::HashSet;

use lifecycle_bundle::siblings::{Sibling, Siblings};
use lifecycle_bundle::table::Intent;
use lifecycle_language::scope::Scope;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::observation::Observation;

use super::Planner;
use super::decide::{Gate, Questions as _};
use super::gates::Examination;
use crate::outcome::GateAnswer;
use crate::task::{Bundle, TransportKind};

impl Planner<'_> {
    /// The other entries of the task, for a bundle that is to become this.
    pub(super) fn siblings(&self, intent: Intent, scope: &Scope) -> Siblings {
        let others = (0..self.task.resources.len()).filter(|index| *index != self.position());
        others.filter_map(|index| self.sibling(index, intent, scope)).collect()
    }

    /// Another entry. To a bundle that is applied, an entry wants all that it renders, unless it is to be deleted: then an object
    /// stays that might be wanted. A bundle that is deleted waits for nobody but a bundle that is applied in the same pass.
    fn sibling(&self, index: usize, intent: Intent, scope: &Scope) -> Option<Sibling> {
        let resource = &self.task.resources[index];
        let is_going = intent == Intent::Delete;
        let wants = match (&resource.bundle, &resource.transport) {
            (Some(bundle), _) => self.identities(index, bundle, scope),
            (None, TransportKind::Kubernetes) if !is_going && !resource.only_reads() => self.identity(index, scope),
            (None, TransportKind::Kubernetes | TransportKind::Maestro { .. }) => return None,
        };
        let none = || Ok(HashSet::new());
        let wants = match wants {
            Ok(wanted) if wanted.is_empty() || self.wants_nothing(index, is_going, scope) => none(),
            Err(_) if is_going => none(),
            Err(cause) => Err(format!("it is not known which objects the entry `{}` renders: {cause}", resource.name)),
            Ok(wanted) => Ok(wanted),
        };
        Some(Sibling { entry: resource.name.clone(), is_bundle: resource.bundle.is_some(), wants })
    }

    /// Whether an entry takes no object over: it is to be deleted, or, if that has to be certain, is not applied in this pass.
    fn wants_nothing(&self, index: usize, has_to_apply: bool, scope: &Scope) -> bool {
        let unknown = self.unknown();
        let mut examination = Examination::new(self.context(index, scope, &unknown), &[], None, None);
        let mut holds = |gate| examination.gate(gate) == GateAnswer::Holds;
        if holds(Gate::Delete) {
            return true;
        }
        let exists =
            || matches!(&self.slots[index].observation, Some(Observation::Found(versions)) if !versions.is_empty());
        has_to_apply
            && (holds(Gate::Orphan) || !holds(Gate::When) || !holds(Gate::Apply) || !exists() && !holds(Gate::Create))
    }

    /// The objects of a bundle.
    fn identities(&self, index: usize, bundle: &Bundle, scope: &Scope) -> Result<HashSet<Identity>, String> {
        let unknown = self.unknown();
        let parent = self.context(index, scope, &unknown).ownership_fields().map_err(|failure| failure.message)?;
        let (namespace, name) = (parent.namespace().to_owned(), parent.name().to_owned());
        let setting = self.setting(index, bundle, (namespace, name), Intent::Apply, scope);
        let rendered = self.rendered(bundle, &setting, scope).map_err(|failure| failure.message)?;
        Ok(rendered.into_iter().map(|rendered| rendered.identity).collect())
    }

    /// The only object of another entry.
    fn identity(&self, index: usize, scope: &Scope) -> Result<HashSet<Identity>, String> {
        let unknown = self.unknown();
        let identity = self.context(index, scope, &unknown).ownership_fields().map_err(|failure| failure.message)?;
        let kind = &self.task.resources[index].kind;
        let namespace = match is_namespaced(kind) {
            Some(false) => "",
            Some(true) if identity.namespace().is_empty() => "default",
            Some(true) | None => identity.namespace(),
        };
        let namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        let kind = GroupKind::new(&kind.group, &kind.kind);
        Ok([Identity { kind, namespace, name: identity.name().to_owned() }].into())
    }
}
