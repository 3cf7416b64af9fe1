//! What is wrong with a set as a whole, found before anything is written.
//!
//! In: the prepared objects. Out: sentences for their author, each with both objects, and the place of one of them in the list.
//! Nothing here fails.
//!
//! | finding | consequence |
//! | --- | --- |
//! | two objects of one identity | each pass would write one over the other: the bundle fails |
//! | an instance or an object in a namespace that is applied before its type or namespace | its wave would wait for ever for what a later wave brings: the bundle fails |
//! | an instance or an object in a namespace that is deleted after it | it goes with it, in whatever state it is: the bundle fails |

use std::collections::{BTreeMap, HashMap};

use lifecycle_objects::identity::Identity;
use lifecycle_objects::type_pattern::TypePattern;
use serde_json::Value;

use super::member::Rendered;

/// Finds objects that are rendered more than once.
#[must_use]
pub fn duplicates(objects: &[Rendered]) -> Vec<(usize, String)> {
    let mut places: HashMap<&Identity, (usize, usize)> = HashMap::with_capacity(objects.len());
    for (index, rendered) in objects.iter().enumerate() {
        let (count, last) = places.entry(&rendered.identity).or_default();
        (*count, *last) = (*count + 1, index);
    }
    // In the order of the identities, whatever the hashes.
    let duplicates: BTreeMap<_, _> = places.into_iter().filter(|(_, (count, _))| *count > 1).collect();
    duplicates
        .into_iter()
        .map(|(identity, (count, last))| (last, format!("{identity} is rendered {count} times; remove all but one")))
        .collect()
}

/// Finds orders by which an object waits for another that comes later, or outlives it.
#[must_use]
pub fn deadlocks(objects: &[Rendered]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for outer in objects {
        let of_outer = &outer.identity;
        let Some(inside) = Inside::of(of_outer, &outer.draft.object) else { continue };
        let inners = objects.iter().enumerate().filter(|(_, inner)| inside.contains(&inner.identity));
        for (place, inner) in inners {
            let of_inner = &inner.identity;
            let (apply, delete) = (inner.draft.settings.apply_order, inner.draft.settings.delete_order);
            if apply < outer.draft.settings.apply_order {
                let fault = format!(
                    "{of_inner} is applied in wave {apply}, before {of_outer} in wave {}, without which it cannot be; give it \
                     an `apply-order` of at least {}, or {of_outer} one of at most {apply}",
                    outer.draft.settings.apply_order, outer.draft.settings.apply_order
                );
                found.push((place, fault));
            }
            if delete > outer.draft.settings.delete_order {
                let fault = format!(
                    "{of_inner} is deleted in wave {delete}, after {of_outer} in wave {}, with which it goes; give it a \
                     `delete-order` of at most {}, or {of_outer} one of at least {delete}",
                    outer.draft.settings.delete_order, outer.draft.settings.delete_order
                );
                found.push((place, fault));
            }
        }
    }
    found
}

/// What goes with an object when it goes.
#[derive(Debug)]
pub(super) enum Inside<'o> {
    /// The instances of these types.
    Instances(TypePattern),
    /// The objects in this namespace.
    Namespace(&'o str),
}

impl<'o> Inside<'o> {
    /// What goes with an object; none if nothing does.
    pub(super) fn of(identity: &'o Identity, object: &Value) -> Option<Self> {
        if identity.kind.is_namespace() {
            return Some(Self::Namespace(&identity.name));
        }
        TypePattern::introduced_by(&identity.kind, object).map(Self::Instances)
    }

    /// Whether an object goes with it.
    pub(super) fn contains(&self, identity: &Identity) -> bool {
        match self {
            Self::Instances(types) => types.matches(&identity.kind),
            Self::Namespace(name) => identity.namespace.as_deref() == Some(*name),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::draft::Draft;
    use crate::policy::{Policies, Settings};
    use lifecycle_objects::object_ref::ObjectRef;

    fn rendered(object: Value, apply_order: i16, delete_order: i16) -> Rendered {
        let policies = Policies::default();
        let settings = Settings { policies, apply_order, delete_order, purge_order: None, status_hint: None };
        let reference = ObjectRef::of(&object);
        let draft = Draft { settings, ..Draft::new(object, "hyperfleet.io", &policies).unwrap() };
        Rendered { identity: reference.into(), digest: String::new(), draft: Arc::new(draft) }
    }

    fn namespace() -> Value {
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } })
    }

    fn map(name: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "team" } })
    }

    fn definition() -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "foos.example.io" },
            "spec": { "group": "example.io", "names": { "kind": "Foo" } },
        })
    }

    fn foo() -> Value {
        json!({ "apiVersion": "example.io/v1", "kind": "Foo", "metadata": { "name": "f", "namespace": "other" } })
    }

    #[test]
    fn object_is_a_duplicate_whatever_its_version() {
        let beta = json!({ "apiVersion": "example.io/v1beta1", "kind": "Foo", "metadata": { "name": "f", "namespace": "other" } });
        let found = duplicates(&[rendered(foo(), 0, 0), rendered(map("f"), 0, 0), rendered(beta, 1, 0)]);
        assert_eq!(found, [(2, "Foo.example.io other/f is rendered 2 times; remove all but one".to_owned())]);
    }

    #[test]
    fn orders_deadlock_where_the_inner_object_comes_first_or_goes_last() {
        let cases = [
            ("an object in a namespace of its wave", namespace(), map("a"), (0, 0), None),
            (
                "an object in a namespace of a later wave",
                namespace(),
                map("a"),
                (-1, 0),
                Some("of at least 0, or Namespace team one of at most -1"),
            ),
            (
                "an object that goes after its namespace",
                namespace(),
                map("a"),
                (0, 1),
                Some("of at most 0, or Namespace team one of at least 1"),
            ),
            ("an object elsewhere", namespace(), foo(), (-1, 1), None),
            ("an instance of a later type", definition(), foo(), (-1, 0), Some("before CustomResourceDefinition")),
            (
                "an instance that goes after its type",
                definition(),
                foo(),
                (0, 1),
                Some("after CustomResourceDefinition"),
            ),
            ("an object that is no instance", definition(), map("a"), (-1, 1), None),
        ];
        for (name, outer, inner, (apply, delete), expected) in cases {
            let found = deadlocks(&[rendered(outer, 0, 0), rendered(inner, apply, delete)]);
            assert_eq!(found.len(), usize::from(expected.is_some()), "{name}: {found:?}");
            assert!(found.iter().all(|(place, _)| *place == 1), "{name}: {found:?}");
            let text = found.first().map(|(_, text)| text.as_str()).unwrap_or_default();
            assert!(text.contains(expected.unwrap_or_default()), "{name}: {text}");
        }
    }
}
