//! Compiles resources: names, transports and discovery here; manifests, gates, owners and retention in
//! modules of their own.

use std::collections::BTreeMap;

use lifecycle_language::template::Template;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::kinds;
use lifecycle_objects::labels;

use super::check::{Checker, Place};
use super::{bundle, gates, manifest, owner, patch, retention};
use crate::task::spec::{
    BundleSpec, ClientSpec, DeleteSpec, DiscoverySpec, ManifestSpec, PropagationSpec, ResourceSpec, TransportSpec,
};
use crate::task::{DiscoverBy, Discovery, NestedDiscovery, Resource, TransportKind};

pub(super) fn compile(checker: &mut Checker<'_>, specs: &[ResourceSpec], place: &Place<'_>) -> Vec<Resource> {
    let mut taken = BTreeMap::new();
    let mut resources = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let place = place.index(index);
        let name = name(checker, spec, &place);
        if let Some((name, at_name)) = &name {
            match taken.get(name) {
                Some(first) => {
                    let message = format!("duplicate name values: `{name}` is already the name of resources[{first}]");
                    checker.error(at_name, message);
                }
                None => {
                    taken.insert(name.clone(), index);
                }
            }
        }
        let name = name.map(|(name, _)| name).unwrap_or_default();
        resources.push(resource(checker, spec, name, &place));
    }
    owner::compile(checker, specs, &mut resources, place);
    warn_about_collisions(checker, specs, &taken, place);
    resources.into_iter().flatten().collect()
}

fn name<'d>(checker: &mut Checker<'_>, spec: &ResourceSpec, place: &Place<'d>) -> Option<(String, Place<'d>)> {
    let name = spec.name.as_deref().filter(|name| !name.is_empty());
    let alias = spec.alias.as_deref().filter(|name| !name.is_empty());
    let (name, key) = match (name, alias) {
        (Some(name), None) => (name, "name"),
        (None, Some(alias)) => (alias, "alias"),
        (Some(_), Some(_)) => {
            checker.error_with_help(
                &place.key("alias"),
                "is a synonym of `name`, which is set, too",
                "remove one of the two",
            );
            return None;
        }
        (None, None) => {
            if !checker.is_reported(&place.key("name")) && !checker.is_reported(&place.key("alias")) {
                checker.error(&place.key("name"), "is required");
            }
            return None;
        }
    };
    let place = place.key(key);
    checker.name(&place, name);
    Some((name.to_owned(), place))
}

fn warn_about_collisions(
    checker: &mut Checker<'_>,
    specs: &[ResourceSpec],
    taken: &BTreeMap<String, usize>,
    place: &Place<'_>,
) {
    let mut nested_names: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (index, spec) in specs.iter().enumerate() {
        for (nested_index, nested) in spec.nested_discoveries.iter().enumerate() {
            let place = place.index(index).key("nested_discoveries").index(nested_index).key("name");
            let first = *nested_names.entry(&nested.name).or_insert((index, nested_index));
            if first != (index, nested_index) && !nested.name.is_empty() {
                let (other, nested_other) = first;
                let message = format!(
                    "`{}` is also the name of resources[{other}].nested_discoveries[{nested_other}]: the resource will fail where both exist",
                    nested.name
                );
                checker.warn(&place, message, Some("give each nested discovery a name of its own".to_owned()));
            }
            let Some(other) = taken.get(&nested.name) else { continue };
            let effect = if *other == index { "it is skipped" } else { "the resource will fail where both exist" };
            checker.warn(&place, format!("`{}` is also the name of resources[{other}]: {effect}", nested.name), None);
        }
    }
}

fn resource(checker: &mut Checker<'_>, spec: &ResourceSpec, name: String, place: &Place<'_>) -> Option<Resource> {
    if let Some(written) = &spec.bundle {
        return bundle_resource(checker, spec, written, name, place);
    }
    let transport = transport(checker, spec.transport.as_ref(), &place.key("transport"));
    // The decoder has reported a missing manifest or discovery.
    let manifest = spec.manifest.as_ref().and_then(|it| manifest::compile(checker, it, &place.key("manifest")));
    let discovery = spec.discovery.as_ref().and_then(|it| discovery(checker, it, &place.key("discovery")));
    let nested = spec.nested_discoveries.iter().enumerate().filter_map(|(index, nested)| {
        let place = place.key("nested_discoveries").index(index);
        checker.name(&place.key("name"), &nested.name);
        let discovery = self::discovery(checker, &nested.discovery, &place.key("discovery"))?;
        Some(NestedDiscovery { name: nested.name.clone(), discovery })
    });
    let nested = nested.collect();
    let gates = gates::compile(checker, spec, place);
    let retention = spec.retention.as_ref();
    let retention =
        retention.map(|it| retention::compile(checker, it, spec.discovery.as_ref(), &place.key("retention")));
    let (manifest, kind) = manifest?;
    if kinds::has_status_subresource(&kind) {
        patch::refuse_status(checker, spec, place);
    }
    if matches!(transport, Some(TransportKind::Maestro { .. })) {
        work(checker, spec, &kind, place);
    }
    Some(Resource {
        name,
        transport: transport?,
        kind,
        manifest,
        discovery: discovery?,
        nested,
        gates,
        // `owner::compile` sets the owner once all resources are compiled.
        owner: None,
        retention: retention.flatten(),
        adopt: spec.adopt,
        bundle: None,
    })
}

/// Compiles an entry with a bundle: its own object is the bundle's parent.
fn bundle_resource(
    checker: &mut Checker<'_>,
    spec: &ResourceSpec,
    written: &BundleSpec,
    name: String,
    place: &Place<'_>,
) -> Option<Resource> {
    bundle::refuse_keys(checker, spec, place);
    let gates = gates::compile(checker, spec, place);
    let (parent, bundle) = bundle::compile(checker, written, &name, &place.key("bundle"))?;
    Some(Resource {
        name,
        transport: TransportKind::Kubernetes,
        kind: parent.kind,
        manifest: parent.manifest,
        discovery: parent.discovery,
        nested: Vec::new(),
        gates,
        owner: None,
        retention: None,
        adopt: false,
        bundle: Some(bundle),
    })
}

fn transport(checker: &mut Checker<'_>, spec: Option<&TransportSpec>, place: &Place<'_>) -> Option<TransportKind> {
    match spec {
        Some(spec) if spec.client == ClientSpec::Maestro => {
            let known = checker.known;
            let Some(maestro) = &spec.maestro else {
                checker.error(place, "maestro transport config is required when client is \"maestro\"");
                return None;
            };
            let target = checker.template(&place.key("maestro").key("target_cluster"), &maestro.target_cluster, known);
            target.map(|target_cluster| TransportKind::Maestro { target_cluster })
        }
        Some(_) | None => Some(TransportKind::Kubernetes),
    }
}

/// Refuses what Maestro cannot apply, or would apply in part.
fn work(checker: &mut Checker<'_>, spec: &ResourceSpec, kind: &GroupVersionKind, place: &Place<'_>) {
    if (kind.group.as_str(), kind.kind.as_str()) != ("work.open-cluster-management.io", "ManifestWork") {
        checker.error_with_help(
            &place.key("manifest"),
            format!("is of kind {kind}, and Maestro applies only ManifestWorks"),
            "write the object into `spec.workload.manifests` of a ManifestWork (`work.open-cluster-management.io/v1`)",
        );
    }
    let keeps_objects = |gate: &DeleteSpec| matches!(gate.propagation_policy, Some(PropagationSpec::Orphan));
    let changes_a_part = spec.lifecycle.as_ref().is_some_and(|it| {
        let disowns = it.orphan.is_some() || it.detach.is_some();
        !it.patch.is_empty() || disowns || it.delete.as_ref().is_some_and(keeps_objects)
    });
    let Some(ManifestSpec::Inline(written)) = &spec.manifest else { return };
    if changes_a_part && written.get("spec").is_some_and(|spec| spec.get("executor").is_some()) {
        checker.error_with_help(
            &place.key("manifest").key("spec").key("executor"),
            "would be lost by `lifecycle.patch`, `lifecycle.orphan` and `propagationPolicy: Orphan`: Maestro replaces a work as a whole, and does not show its executor",
            "remove `executor`, or these gates",
        );
    }
}

fn discovery(checker: &mut Checker<'_>, spec: &DiscoverySpec, place: &Place<'_>) -> Option<Discovery> {
    let known = checker.known;
    let namespace = spec.namespace.as_deref().filter(|text| !text.is_empty());
    let namespace = namespace.map(|text| checker.template(&place.key("namespace"), text, known));
    let by_name = spec.by_name.as_deref().filter(|text| !text.is_empty());
    let by = match (by_name, &spec.by_selectors) {
        (Some(name), None) => checker.template(&place.key("by_name"), name, known).map(DiscoverBy::Name),
        (None, Some(selectors)) => {
            let place = place.key("by_selectors").key("label_selector");
            selector(checker, &selectors.label_selector, &place).map(DiscoverBy::Labels)
        }
        (Some(_), Some(_)) => {
            checker.error(place, "'by_name' and 'by_selectors' are mutually exclusive");
            None
        }
        (None, None) => {
            let keys = [place.clone(), place.key("by_name"), place.key("by_selectors")];
            if !keys.iter().any(|key| checker.is_reported(key)) {
                checker.error(place, "must have either 'by_name' or 'by_selectors' set");
            }
            None
        }
    };
    let namespace = match namespace {
        None => None,
        Some(namespace) => Some(namespace?),
    };
    Some(Discovery { namespace, by: by? })
}

fn selector(
    checker: &mut Checker<'_>,
    labels: &BTreeMap<String, String>,
    place: &Place<'_>,
) -> Option<Vec<(Template, Template)>> {
    let known = checker.known;
    if labels.is_empty() {
        if !checker.is_reported(place) {
            checker.error(place, "must have at least 1 element(s)");
        }
        return None;
    }
    let mut templates = Vec::new();
    for (key, value) in labels {
        let place = place.key(key);
        if let Some(fault) = labels::key_fault(key).filter(|_| !key.contains("{{")) {
            checker.warn(&place, format!("`{key}` is not a label key: {fault}"), None);
        }
        if let Some(fault) = labels::value_fault(value).filter(|_| !value.contains("{{")) {
            checker.warn(&place, format!("`{value}` is not a label value: {fault}"), None);
        }
        let key = checker.template(&place, key, known);
        let value = checker.template(&place, value, known);
        templates.push((key?, value?));
    }
    Some(templates)
}
