//! Every label, annotation and field-manager name, once.
//!
//! The adapter writes them, the sweeper selects on them, and people read them: a change here is a
//! change of an interface.

/// What every key of ours begins with.
pub const PREFIX: &str = "hyperfleet.io/";
/// Label: the name of the adapter that manages the object.
pub const ADAPTER: &str = "hyperfleet.io/adapter";
/// Label: the id of the API resource that the object was made for.
pub const RESOURCE_ID: &str = "hyperfleet.io/resource-id";
/// Label: the name of the entry in the task's `resources` that made the object.
pub const RESOURCE: &str = "hyperfleet.io/resource";
/// The labels that tell whose an object is. A stamped object has a value for each.
pub const OWNERSHIP_LABELS: [&str; 3] = [ADAPTER, RESOURCE_ID, RESOURCE];
/// Annotation: the generation last applied. Missing or unreadable means "older than any".
pub const GENERATION: &str = "hyperfleet.io/generation";
/// Label: the object was released on purpose; its value is the resource id it belonged to.
pub const DISOWNED: &str = "hyperfleet.io/disowned";
/// Annotation: which adapter and which entry of its task released the object, as `adapter/resource`.
pub const DISOWNED_BY: &str = "hyperfleet.io/disowned-by";
/// Annotation: proof that a holder of the signing key stamped the object's labels.
pub const OWNERSHIP_PROOF: &str = "hyperfleet.io/ownership-proof";
