//! The list of objects that a pass would delete, and its hash.

use lifecycle_objects::proof::{encode, hexadecimal};
use sha2::{Digest, Sha256};

use super::{Candidate, Hold};

/// The beginning of the hashed text; another format needs another tag.
const TAG: &str = "hyperfleet.io/sweep-plan/v1";

/// How many bytes of the SHA-256 hash a plan's name has: enough that two plans never share it by chance, and
/// short enough to copy by hand.
const HASH_BYTES: usize = 16;

/// The objects that a pass would delete, in the order of their identity, and the reasons that speak against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepPlan {
    objects: Vec<Candidate>,
    holds: Vec<Hold>,
    hash: String,
}

impl SweepPlan {
    /// Sorts the objects, and hashes their identities and the labels of the reasons against their deletion.
    #[must_use]
    pub fn new(objects: Vec<Candidate>, holds: Vec<Hold>) -> Self {
        let mut keyed: Vec<_> = objects.into_iter().map(|object| (identity(&object), object)).collect();
        keyed.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut reasons: Vec<_> = holds.iter().map(Hold::label).collect();
        reasons.sort_unstable();
        let mut hash = Sha256::new_with_prefix(encode(&[TAG]));
        hash.update(encode(&[&reasons.join(" ")]));
        for (identity, _) in &keyed {
            hash.update(identity);
        }
        let hash = hexadecimal(&hash.finalize()[..HASH_BYTES]);
        Self { objects: keyed.into_iter().map(|(_, object)| object).collect(), holds, hash }
    }

    /// The objects, in an order that depends on their identities alone.
    #[must_use]
    pub fn objects(&self) -> &[Candidate] {
        &self.objects
    }

    /// The reasons to delete nothing.
    #[must_use]
    pub fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// The name by which a person approves exactly this list, despite exactly these reasons: 32 hexadecimal digits. It
    /// depends on the destination, kind, namespace, name, UID and API resource of each object, on the labels of the
    /// reasons, and on nothing else: neither on their figures nor on which replica leads.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

fn identity(candidate: &Candidate) -> String {
    let Candidate { destination, object, uid, resource_id, .. } = candidate;
    let namespace = object.namespace.as_deref().unwrap_or_default();
    let (group, kind) = (object.kind.group.as_str(), object.kind.kind.as_str());
    encode(&[&destination.to_string(), group, kind, namespace, &object.name, uid, resource_id])
}
