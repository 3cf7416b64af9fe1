//! What is known of an object of a bundle before there is an event.

use std::collections::BTreeSet;

use lifecycle_bundle::order::webhooks::ServiceName;
use lifecycle_bundle::policy::Settings;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::type_pattern::TypePattern;

/// An object of a bundle whose handling no event decides; its name may hold a template.
#[derive(Debug)]
pub struct KnownObject {
    /// What makes it the object that it is.
    pub identity: Identity,
    /// What its annotations say, the bundle's policies where they say nothing.
    pub settings: Settings,
    /// The types that it introduces; none for an object that is no definition of types.
    pub introduces: Option<TypePattern>,
    /// The services that its webhooks call.
    pub calls: BTreeSet<ServiceName>,
    /// The namespace that the manifest writes although the kind has none.
    pub dropped_namespace: Option<String>,
    /// Where its author wrote it.
    pub origin: Origin,
}

/// Where an object of a bundle is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The place of the manifest in the bundle's list.
    pub manifest: usize,
    /// The line of a manifest that is text, from 1, at which the object's document begins.
    pub line: Option<usize>,
}
