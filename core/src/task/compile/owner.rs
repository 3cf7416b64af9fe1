//! Owners: the earlier resource that the objects of another one name in their `ownerReferences`.
//!
//! Kubernetes deletes what has lost its owner, so a reference that can never be right is a mistake, not a detail: the
//! owner must be written first, be one object and not several versions, and live where its dependents may name it.

use std::collections::BTreeMap;

use lifecycle_config::decode::suggest;

use super::check::{Checker, Place};
use super::resources::name_of;
use crate::task::spec::{ClientSpec, ResourceSpec};
use crate::task::{Manifest, Resource, kinds};
use crate::template::Part;

/// Sets the owner of every compiled resource; `resources` are as many as `specs`, below `place`.
pub(super) fn compile(
    checker: &mut Checker<'_>,
    specs: &[ResourceSpec],
    resources: &mut [Option<Resource>],
    place: &Place<'_>,
) {
    let mut places = BTreeMap::new();
    for (index, name) in specs.iter().map(name_of).enumerate() {
        places.entry(name).or_insert(index);
    }
    for (index, spec) in specs.iter().enumerate() {
        let Some(owner) = spec.owner.as_ref().map(|owner| owner.resource.as_str()) else { continue };
        let place = place.index(index).key("owner").key("resource");
        if owner.is_empty() {
            // Reported already.
            continue;
        }
        let Some(owner) = resolve(checker, specs, &places, index, owner, &place) else { continue };
        if let Some(Some(resource)) = resources.get(index)
            && let Some(Some(owner)) = resources.get(owner)
        {
            reach(checker, resource, owner, &place);
        }
        if let Some(Some(resource)) = resources.get_mut(index) {
            resource.owner = Some(owner);
        }
    }
}

fn is_maestro(spec: &ResourceSpec) -> bool {
    spec.transport.as_ref().is_some_and(|transport| transport.client == ClientSpec::Maestro)
}

/// The place of the owner in the list, if it can be one at all.
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
    let own = specs.get(index).and_then(name_of);
    if own == Some(owner) {
        checker.error_with_help(place, format!("`{owner}` cannot own itself"), "name an earlier resource");
        return None;
    }
    let Some(&found) = places.get(&Some(owner)) else {
        missing(checker, specs, index, owner, place);
        return None;
    };
    if found > index {
        let message = format!("`{owner}` comes later: its objects are not there yet when they are to be named");
        let help = format!("move `{owner}` before `{}`", own.unwrap_or("it"));
        checker.error_with_help(place, message, help);
        return None;
    }
    let spec = specs.get(found)?;
    if is_maestro(spec) {
        let message = format!("`{owner}` is applied by maestro: its objects are in another cluster");
        checker.error_with_help(place, message, "name a resource of the kubernetes transport, or remove `owner`");
    }
    if spec.retention.is_some() {
        let message =
            format!("`{owner}` keeps former versions: what one of them owned would go with it when it is pruned");
        let help = format!("name a resource without `retention`, or remove `retention` from `{owner}`");
        checker.error_with_help(place, message, help);
    }
    Some(found)
}

fn missing(checker: &mut Checker<'_>, specs: &[ResourceSpec], index: usize, owner: &str, place: &Place<'_>) {
    let mut around = specs.iter().filter(|spec| spec.nested_discoveries.iter().any(|nested| nested.name == owner));
    if let Some(around) = around.find_map(name_of) {
        let message = format!("`{owner}` is found inside of `{around}`, and so is in no position to own an object");
        return checker.error_with_help(place, message, format!("name `{around}`"));
    }
    let earlier: Vec<&str> = specs.iter().take(index).filter_map(name_of).collect();
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

/// Whether the owner lives where the resource's objects may name it.
fn reach(checker: &mut Checker<'_>, resource: &Resource, owner: &Resource, place: &Place<'_>) {
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

/// Whether its objects are certainly in a namespace.
fn is_namespaced(resource: &Resource) -> bool {
    kinds::is_namespaced(&resource.kind).unwrap_or_else(|| namespace(resource).is_some())
}

/// The namespace of its objects, if it is written down: in the manifest, or where discovery looks for them.
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
