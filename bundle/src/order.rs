//! Sorts the objects of a bundle into the waves in which they are applied or deleted.
//!
//! In: objects with their orders, and the types that the set manages. Out: [`Wave`]s, ascending by order. Inside a wave,
//! objects are sorted by stage, then by the priority of their kind, then as their author wrote them. Fails never.
//!
//! A stage is a barrier: its objects are ready, or gone, before the next stage begins. A priority is none: the requests for the
//! objects of one priority are answered before those of the next are sent, so that a namespace is there before what is in it,
//! and a role before what binds it. Who sends them heeds both; nothing here knows what is ready.

pub mod managed;
mod priority;
pub mod webhooks;

use std::collections::BTreeMap;

use lifecycle_objects::identity::GroupKind;
use managed::ManagedTypes;

/// A part of a wave while objects are applied, in the order of the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApplyStage {
    /// Objects that need nothing else of the wave, custom resource definitions among them.
    Regular,
    /// API services, whose servers are among the regular objects.
    Late,
    /// The configurations of webhooks that a service of the wave serves: what they judge is refused before the service answers.
    Webhooks,
    /// Objects of the types that the set manages, which exist once the types do.
    Instance,
}

impl ApplyStage {
    /// The name of the stage in the wave of this order, as reports write it.
    #[must_use]
    pub fn of_wave(self, order: i16) -> String {
        match self {
            Self::Regular => format!("wave {order}"),
            Self::Late => format!("wave {order}, API services"),
            Self::Webhooks => format!("wave {order}, webhooks"),
            Self::Instance => format!("wave {order}, instances"),
        }
    }
}

/// A part of a wave while objects are deleted, in the order of the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeleteStage {
    /// Objects of the types that the set manages: they go while their controller still runs and removes its finalizers.
    Instance,
    /// The types themselves. Objects that members control go with them, some by the same controller: so it goes after them.
    Types,
    /// The configurations of webhooks that a service of the wave serves: they go before it, as long as it answers.
    Webhooks,
    /// All other objects.
    Rest,
}

impl DeleteStage {
    /// The name of the stage in the deletion wave of this order, as reports write it; namespaces have waves of their own.
    #[must_use]
    pub fn of_wave(self, order: i16, are_namespaces: bool) -> String {
        match self {
            Self::Rest if are_namespaces => format!("deletion wave {order}, namespaces"),
            Self::Rest => format!("deletion wave {order}"),
            Self::Instance => format!("deletion wave {order}, instances"),
            Self::Types => format!("deletion wave {order}, types"),
            Self::Webhooks => format!("deletion wave {order}, webhooks"),
        }
    }
}

/// Where an object stands among the objects of its bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place<S> {
    order: i16,
    stage: S,
    priority: i8,
}

impl Place<ApplyStage> {
    /// Returns where an object with this apply order is applied.
    #[must_use]
    pub fn to_apply(kind: &GroupKind, order: i16, managed: &ManagedTypes) -> Self {
        let stage = if managed.includes(kind) {
            ApplyStage::Instance
        } else if kind.is_api_service() {
            ApplyStage::Late
        } else {
            ApplyStage::Regular
        };
        Self { order, stage, priority: priority::to_apply(kind) }
    }

    /// The place of a configuration of webhooks, if a service of its own wave serves them.
    #[must_use]
    pub fn after_its_server(self, is_served: bool) -> Self {
        if is_served { Self { stage: ApplyStage::Webhooks, ..self } } else { self }
    }
}

impl Place<DeleteStage> {
    /// Returns where an object with this delete order is deleted.
    #[must_use]
    pub fn to_delete(kind: &GroupKind, order: i16, managed: &ManagedTypes) -> Self {
        let stage = if managed.includes(kind) {
            DeleteStage::Instance
        } else if kind.is_custom_resource_definition() || kind.is_api_service() {
            DeleteStage::Types
        } else {
            DeleteStage::Rest
        };
        Self { order, stage, priority: priority::to_delete(kind) }
    }

    /// The place of a configuration of webhooks, if a service of its own wave serves them.
    #[must_use]
    pub fn before_its_server(self, is_served: bool) -> Self {
        if is_served { Self { stage: DeleteStage::Webhooks, ..self } } else { self }
    }
}

/// The objects of one order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave<T, S> {
    /// The order that all objects of the wave have.
    pub order: i16,
    /// The objects with their stages and priorities, in the order in which requests are sent.
    pub objects: Vec<(S, i8, T)>,
}

/// Sorts objects into waves; `place` is asked once for each object.
#[must_use]
pub fn waves<T, S: Copy + Ord>(
    objects: impl IntoIterator<Item = T>,
    mut place: impl FnMut(&T) -> Place<S>,
) -> Vec<Wave<T, S>> {
    let mut sorted: Vec<(Place<S>, T)> = objects.into_iter().map(|object| (place(&object), object)).collect();
    // A stable sort, so that objects with equal places stay as their author wrote them.
    sorted.sort_by_key(|(place, _)| *place);
    let mut waves: BTreeMap<i16, Vec<(S, i8, T)>> = BTreeMap::new();
    for (place, object) in sorted {
        waves.entry(place.order).or_default().push((place.stage, place.priority, object));
    }
    waves.into_iter().map(|(order, objects)| Wave { order, objects }).collect()
}

#[cfg(test)]
mod tests;
