//! What becomes of a member for which its bundle has no use any more, as the member itself says.
//!
//! In: the delete policy and the delete order of a rendered object, and its identity. Out: the text of the annotation
//! [`DELETION`](lifecycle_objects::keys::DELETION), such as `delete,0,ConfigMap team/a`, and back. Fails: with none for a text that says
//! nothing, or something about another object.
//!
//! The annotation is written with the object and counts for its digest. So a default of the bundle that changes later reaches
//! the objects that are still wanted, and not those that have left. It names its object, because operators copy labels and
//! annotations to objects of their own: a copy makes no member.

use lifecycle_objects::identity::Identity;

use super::policy::{Delete, Settings};

/// The policy and the order of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Whether the member is deleted or disowned.
    pub policy: Delete,
    /// The wave in which that happens.
    pub order: i16,
}

impl Departure {
    /// What becomes of an object with these settings.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        Self { policy: settings.policies.delete, order: settings.delete_order }
    }

    /// The annotation's value for the object of this identity.
    #[must_use]
    pub fn to_text(self, identity: &Identity) -> String {
        format!("{},{},{identity}", self.policy.word(), self.order)
    }

    /// Reads the annotation's value from the object of this identity; none if it was changed, or is another object's.
    #[must_use]
    pub fn read(text: &str, identity: &Identity) -> Option<Self> {
        let mut parts = text.splitn(3, ',');
        let (policy, order, of) = (parts.next()?, parts.next()?, parts.next()?);
        let policy = Delete::of_word(policy)?;
        is_named(of, identity).then_some(Self { policy, order: order.parse().ok()? })
    }

    /// Whether the annotation's value was written for the object of this identity; none if it names no object.
    #[must_use]
    pub fn names(text: &str, identity: &Identity) -> Option<bool> {
        text.splitn(3, ',').nth(2).map(|of| is_named(of, identity))
    }
}

/// Whether a text is an identity. The API server drops the namespace that a manifest wrote for a cluster-scoped object.
fn is_named(text: &str, identity: &Identity) -> bool {
    let Identity { kind, namespace, name } = identity;
    let is_dropped = || {
        let rest = text.strip_prefix(&format!("{kind} ")).and_then(|rest| rest.split_once('/'));
        namespace.is_none() && rest.is_some_and(|(_, named)| named == name)
    };
    text == identity.to_string() || is_dropped()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use lifecycle_objects::identity::GroupKind;

    fn identity(name: &str) -> Identity {
        Identity { kind: GroupKind::new("", "ConfigMap"), namespace: Some("team".to_owned()), name: name.to_owned() }
    }

    #[test]
    fn text_names_policy_order_and_object() {
        let departure = Departure { policy: Delete::OrphanOnApply, order: -5 };
        assert_eq!(departure.to_text(&identity("a")), "orphan-on-apply,-5,ConfigMap team/a");
    }

    #[test]
    fn changed_text_and_that_of_another_object_say_nothing() {
        for text in [
            "",
            "delete",
            "delete,0",
            "keep,0,ConfigMap team/a",
            "delete,x,ConfigMap team/a",
            "delete,0,ConfigMap team/b",
        ] {
            assert_eq!(Departure::read(text, &identity("a")), None, "{text}");
        }
    }

    #[test]
    fn namespace_that_the_server_dropped_does_not_count() {
        let live = Identity { namespace: None, ..identity("a") };
        assert!(Departure::read("delete,0,ConfigMap team/a", &live).is_some());
        assert_eq!(Departure::names("delete,0,ConfigMap team/b", &live), Some(false));
        assert_eq!(Departure::names("delete,0", &live), None);
    }

    proptest! {
        #[test]
        fn written_departure_is_read_as_itself(
            policy in select(vec![Delete::Delete, Delete::Orphan, Delete::OrphanOnApply, Delete::OrphanOnDelete]),
            order: i16, name in "[a-z,]{1,8}",
        ) {
            let departure = Departure { policy, order };
            prop_assert_eq!(Departure::read(&departure.to_text(&identity(&name)), &identity(&name)), Some(departure));
        }
    }
}
