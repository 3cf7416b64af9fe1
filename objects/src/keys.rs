//! The labels and annotations that the adapter sets on objects.
//!
//! The sweeper selects objects by them and people read them, so renaming one breaks both.

/// The prefix of all labels and annotations of HyperFleet.
pub const PREFIX: &str = "hyperfleet.io/";
/// Label: the name of the adapter that manages the object.
pub const ADAPTER: &str = "hyperfleet.io/adapter";
/// Label: the id of the API resource that the object was made for.
pub const RESOURCE_ID: &str = "hyperfleet.io/resource-id";
/// Label: the name of the entry in the task's `resources` that made the object.
pub const RESOURCE: &str = "hyperfleet.io/resource";
/// The labels that name an object's owner: adapter, API resource and task entry. A stamped object has all
/// three.
pub const OWNERSHIP_LABELS: [&str; 3] = [ADAPTER, RESOURCE_ID, RESOURCE];
/// Annotation: the generation last applied. Missing or unreadable means "older than any".
pub const GENERATION: &str = "hyperfleet.io/generation";
/// Label: the adapter disowned the object; the value is the id of the API resource that had owned it.
pub const DISOWNED: &str = "hyperfleet.io/disowned";
/// Annotation: the adapter and task entry that disowned the object, as `adapter/resource`.
pub const DISOWNED_BY: &str = "hyperfleet.io/disowned-by";
/// Annotation: proof that a holder of the signing key stamped the object's labels.
pub const OWNERSHIP_PROOF: &str = "hyperfleet.io/ownership-proof";
/// Annotation: what becomes of an object of a bundle that has no use for it any more, such as `delete,0,ConfigMap team/a`.
pub const DELETION: &str = "hyperfleet.io/deletion";
/// Annotation: the digest of the rendered object from which an object of a bundle was last written.
pub const DIGEST: &str = "hyperfleet.io/digest";
/// The annotations that the adapter writes on an object of a bundle.
pub const MEMBER_ANNOTATIONS: [&str; 4] = [GENERATION, OWNERSHIP_PROOF, DIGEST, DELETION];
/// Annotation: since when no agent has observed the content, of a work that was published again. Every other write drops it,
/// because a work is shown without it.
pub const UNOBSERVED_SINCE: &str = "hyperfleet.io/unobserved-since";
/// Annotation of the sweeper's Lease: the plan that a person approved, and until when.
pub const SWEEP_APPROVAL: &str = "hyperfleet.io/sweep-approval";
/// Annotation of the sweeper's Lease: the plan that its holder holds, and that a person may approve.
pub const SWEEP_HELD: &str = "hyperfleet.io/sweep-held-plan";
/// Annotation of the sweeper's Lease: the adapters for which its holder sweeps, sorted, with commas between them.
pub const SWEEP_ADAPTERS: &str = "hyperfleet.io/sweep-adapters";
/// Annotation of the sweeper's Lease: the doubts about the API's memory that no person has ended, for the next leader.
pub const SWEEP_DOUBTS: &str = "hyperfleet.io/sweep-doubts";
/// Annotation of `kubectl apply`: the fields that it sent; of a Secret, each value in clear.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
