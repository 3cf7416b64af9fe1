//! What stays the same while a bundle is reconciled.

use jiff::Timestamp;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::Generation;
use lifecycle_objects::type_pattern::TypePattern;

use super::marks::Marks;
use super::policy::Policies;
use super::ready::ReadyRules;

/// What stays the same while a bundle is reconciled.
#[derive(Debug)]
pub struct Setting<'t> {
    /// By what members are known.
    pub marks: Box<dyn Marks + 't>,
    /// The generation for which objects are written. What a newer one wrote is left alone.
    pub generation: Generation,
    /// The cluster.
    pub destination: Destination,
    /// The namespace of namespaced objects that name none, where members can be in any case.
    pub namespace: String,
    /// The prefix of the policies' annotations.
    pub prefix: &'t str,
    /// The policies of objects that say nothing else.
    pub defaults: Policies,
    /// When the objects of the next step have their turn.
    pub barrier: Barrier,
    /// Whether namespaces that are missing are created.
    pub creates_namespaces: bool,
    /// The types that the author names beside those of the set's own objects.
    pub managed_types: &'t [TypePattern],
    /// When objects are ready, where the author says so.
    pub ready: &'t dyn ReadyRules,
    /// The time of the event.
    pub now: Timestamp,
}

/// When the objects of the next step have their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Barrier {
    /// Once each object of the step is ready, or gone.
    #[default]
    Ready,
    /// Once each object of the step was attempted, ready or not. What failed is collected, and nothing that is wanted no longer is removed
    /// after it.
    Attempted,
}
