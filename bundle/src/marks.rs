//! Marks: by what a live object is known as a member of its set.
//!
//! In: a live object, or one that is about to be written. Out: whose it is, what it says of itself, and the object with its marks. Fails:
//! only where an object cannot be marked.
//!
//! Marks may stand on the object, such as [`OwnershipLabels`](ownership_labels::OwnershipLabels), or elsewhere, such as in a list of
//! what was created. What a pass decides does not depend on that.

pub mod ownership_labels;

use std::collections::BTreeMap;
use std::fmt;

use lifecycle_objects::failure::Failure;
use lifecycle_objects::id::Generation;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::observation::Version;
use serde_json::Value;

use super::departure::Departure;
use super::siblings::Siblings;

/// By what the members of one set are known.
pub trait Marks: fmt::Debug + Send + Sync {
    /// The labels by which members are listed, and without which no object is one.
    fn selector(&self) -> &BTreeMap<String, String>;

    /// Whose the live object of a rendered one is.
    fn owner_of(&self, version: &Version, siblings: Option<&Siblings>) -> Owner;

    /// What an object that was listed is, if no manifest renders it. Operators and people copy labels and annotations.
    fn kinship(&self, version: &Version, identity: &Identity) -> Kinship;

    /// The digest that was written with a member; none if it is lost.
    fn digest<'v>(&'v self, version: &'v Version) -> Option<&'v str>;

    /// What becomes of a member for which the set has no use any more, as it was when the member was written; none if that is lost.
    fn departure(&self, version: &Version, identity: &Identity) -> Option<Departure>;

    /// The generation for which a member was written; none where that does not count.
    fn generation(&self, version: &Version) -> Option<Generation>;

    /// Why no object of the set can be marked, before the first one is written.
    ///
    /// # Errors
    /// The failure that [`mark`](Self::mark) would have.
    fn check(&self) -> Result<(), Failure>;

    /// Why this object cannot be one of the set, each with its cure.
    fn faults(&self, object: &Value, identity: &Identity) -> Vec<String>;

    /// Marks an object that is about to be written.
    ///
    /// # Errors
    /// The object has no place for a mark, or its author wrote something there that cannot stay.
    fn mark(&self, object: &mut Value, written: &Written<'_>) -> Result<(), Failure>;

    /// The merge patch after which a member says something else of its departure; none if that is not kept on the object.
    fn departing(&self, departure: Departure, identity: &Identity) -> Option<Value>;

    /// The merge patch that makes a member an object of nobody.
    fn strip(&self, version: &Version) -> Value;

    /// The annotation that says what becomes of a member, as messages name it.
    fn departure_key(&self) -> &'static str;

    /// What to do about an object of others that has a wanted name.
    fn cure_of_taken(&self) -> &'static str {
        "give the object another name, or the adoption policy `always` if the bundle is to take it over"
    }

    /// The other entry for the same API resource to which an object belongs; none if it belongs to somebody else, and where a set has no
    /// other beside it.
    fn sibling_of<'v>(&self, version: &'v Version) -> Option<&'v str> {
        let _ = version;
        None
    }
}

/// What is written with an object beside what its author wants.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// What makes it the object that it is.
    pub identity: &'a Identity,
    /// By what a later pass notices that it is to be written again.
    pub digest: &'a str,
    /// What becomes of it when the set has no use for it.
    pub departure: Departure,
}

/// Whose a live object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The set's: it is a member.
    Set,
    /// Nobody's.
    Nobody,
    /// Nobody's, because a person disowned it: no policy adopts it. Who, or how, in words.
    Disowned(String),
    /// Somebody else's, in words.
    Others(String),
    /// That of another set of the task, in words, which renders the object no longer.
    GivenUpBy(String),
}

/// What an object with the labels of a set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinship {
    /// A member.
    Member,
    /// A member that lost this mark.
    Lost(&'static str),
    /// An object of others: labels and annotations are copied.
    Copy,
}
