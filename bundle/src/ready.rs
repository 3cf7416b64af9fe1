//! When objects are ready, as whoever wants them says it, in place of the rules of [`readiness`](lifecycle_objects::readiness).
//!
//! In: a live object. Out: its [`Judgement`], which may be any, also that the object failed. Nothing here fails.

use std::fmt;

use jiff::Timestamp;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::readiness::Judgement;
use serde_json::Value;

/// Judges live objects.
pub trait ReadyRules: fmt::Debug + Send + Sync {
    /// The judgement of a live object; none leaves it to the rules of its kind.
    fn judge(&self, identity: &Identity, object: &Value, now: Timestamp) -> Option<Judgement>;
}

/// No rules: those of the kinds judge every object.
impl ReadyRules for () {
    fn judge(&self, _: &Identity, _: &Value, _: Timestamp) -> Option<Judgement> {
        None
    }
}
