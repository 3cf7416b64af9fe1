//! Compiles `owner`: the earlier resource that objects name in their `ownerReferences`.
//!
//! Kubernetes deletes an object whose owner does not exist, so a reference that can never be right is an
//! error: the owner must be an earlier resource, be one object and not several versions, and be
//! cluster-scoped or in the same namespace.

use std::collections::BTreeMap;

use lifecycle_config::decode::suggest;
use lifecycle_language::template::Part;
use lifecycle_objects::kinds;

use super::check::{Checker, Place};
use crate::task::spec::{ClientSpec, ResourceSpec};
use crate::task::{Manifest, Resource};

/// Sets the owner of each compiled resource; `resources` has an element for each of `specs`, which are at
/// `place`.
pub(super) fn compile(
    checker: &mut Checker<'_>,
    specs: &[ResourceSpec],
    resources: &mut [Option<Resource>],
    place: &Place<'_>,
) {
    let mut places = BTreeMap::new();
    for (index, name) in specs.iter().map(ResourceSpec::any_name).enumerate() {
        places.entry(name).or_insert(index);
    }
    for (index, spec) in specs.iter().enumerate() {
        // `bundle::refuse_keys` has refused the owner of a bundle.
        let owner = spec.owner.as_ref().filter(|_| spec.bundle.is_none());
        let Some(owner) = owner.map(|owner| owner.resource.as_str()) else { continue };
        let place = place.index(index).key("owner").key("resource");
        if owner.is_empty() {
            // The decoder has reported the empty name.
            continue;
        }
        let Some(owner) = resolve(checker, specs, &places, index, owner, &place) else { continue };
        if let Some(Some(resource)) = resources.get(index)
            && let Some(Some(owner)) = resources.get(owner)
        {
            check_namespaces(checker, resource, owner, &place);
        }
        if let Some(Some(resource)) = resources.get_mut(index) {
            resource.owner = Some(owner);
        }
    }
}

fn is_maestro(spec: &ResourceSpec) -> bool {
    spec.transport.as_ref().is_some_and(|transport| transport.client == ClientSpec::Maestro)
}

/// Returns the index of the owner in the list, if it can be an owner at all.
fn resolve(
    checker: &mut Checker<'_>,
    specs: &[ResourceSpec],
    places: &BTreeMap<Option<&str>, usize>,
    index: usize,
    owner: &str,
    place: &Place<'_>,
) -> Option<usize> {
    if specs.get(index).is_some_and(is_maestro) {
        let message = "Kubernetes' garbage collection does not reach objects that maestro applies";
        checker.error_with_help(place, message, "remove `owner`, and give the resource a delete gate");
    }
    let own = specs.get(index).and_then(ResourceSpec::any_name);
    if own == Some(owner) {
        checker.error_with_help(place, format!("`{owner}` cannot own itself"), "name an earlier resource");
        return None;
    }
    let Some(&found) = places.get(&Some(owner)) else {
        missing(checker, specs, index, owner, place);
        return None;
    };
    if found > index {
        let message =
            format!("`{owner}` comes later: its objects do not exist yet when the adapter creates this one's");
        let help = format!("move `{owner}` before `{}`", own.unwrap_or("it"));
        checker.error_with_help(place, message, help);
        return None;
    }
    let spec = specs.get(found)?;
    if is_maestro(spec) {
        let message = format!("`{owner}` is applied by maestro: its objects are in another cluster");
        checker.error_with_help(place, message, "name a resource of the kubernetes transport, or remove `owner`");
    }
    if spec.bundle.is_some() {
        let message = format!(
            "`{owner}` is a bundle: its own object comes before and goes after its objects, and is none of them"
        );
        checker.error_with_help(
            place,
            message,
            "name a resource without `bundle`, or write the object into the bundle",
        );
    }
    if spec.retention.is_some() {
        let message = format!(
            "`{owner}` keeps former versions: Kubernetes would delete this one's objects with the version that owns them"
        );
        let help = format!("name a resource without `retention`, or remove `retention` from `{owner}`");
        checker.error_with_help(place, message, help);
    }
    Some(found)
}

fn missing(checker: &mut Checker<'_>, specs: &[ResourceSpec], index: usize, owner: &str, place: &Place<'_>) {
    let mut around = specs.iter().filter(|spec| spec.nested_discoveries.iter().any(|nested| nested.name == owner));
    if let Some(around) = around.find_map(ResourceSpec::any_name) {
        let message = format!("`{owner}` is a nested discovery of `{around}`, which cannot own an object");
        return checker.error_with_help(place, message, format!("name `{around}`"));
    }
    let earlier: Vec<&str> = specs.iter().take(index).filter_map(ResourceSpec::any_name).collect();
    let help = match suggest(owner, &earlier) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None if earlier.is_empty() => "there is no earlier resource; put the owner first".to_owned(),
        None => {
            let names: Vec<_> = earlier.iter().map(|name| format!("`{name}`")).collect();
            format!("name an earlier resource: {}", names.join(", "))
        }
    };
    checker.error_with_help(place, format!("no resource is named `{owner}`"), help);
}

/// Reports an owner in a namespace that the resource's objects cannot refer to.
fn check_namespaces(checker: &mut Checker<'_>, resource: &Resource, owner: &Resource, place: &Place<'_>) {
    if !is_namespaced(owner) {
        return;
    }
    let (name, kind) = (&owner.name, &owner.kind.kind);
    if kinds::is_namespaced(&resource.kind) == Some(false) {
        let message = format!(
            "a {} is in no namespace, and cannot belong to a {kind} (`{name}`), which is in one",
            resource.kind.kind
        );
        checker.error_with_help(place, message, "name a cluster-scoped owner, or remove `owner`");
        return;
    }
    if let (Some(of_owner), Some(of_resource)) = (namespace(owner), namespace(resource))
        && of_owner != of_resource
    {
        let message = format!(
            "`{name}` is in the namespace \"{of_owner}\", but `{}` in \"{of_resource}\": an owner must be in the same namespace, or in none",
            resource.name
        );
        checker.error_with_help(place, message, "name an owner of the same namespace, or a cluster-scoped one");
    }
}

/// Whether the resource's objects are certainly in a namespace.
fn is_namespaced(resource: &Resource) -> bool {
    kinds::is_namespaced(&resource.kind).unwrap_or_else(|| namespace(resource).is_some())
}

/// Returns the namespace of the resource's objects, if the manifest or the discovery writes it literally.
fn namespace(resource: &Resource) -> Option<&str> {
    let in_manifest = match &resource.manifest {
        Manifest::Inline(tree) => match tree.part(&["metadata", "namespace"]) {
            Part::Literal(value) => value.as_str(),
            Part::Template(_) | Part::Absent | Part::Uncertain => None,
        },
        Manifest::Text(_) => None,
    };
    let of_discovery = || resource.discovery.namespace.as_ref().and_then(|namespace| namespace.as_literal());
    in_manifest.or_else(of_discovery).filter(|namespace| !namespace.is_empty())
}
