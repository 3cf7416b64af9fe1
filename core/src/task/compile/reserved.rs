//! Finds labels and annotations in manifests that only the adapter writes, where no event decides their values.
//!
//! An error in a task with a lifecycle key, whose gates could delete the object of another API resource. In any other task a
//! warning: what the author wrote stays there, as in the Go adapter.

use lifecycle_language::template::{Part, Tree};
use lifecycle_objects::keys;
use serde_json::Value;

use super::check::{Checker, Place};
use crate::manifest::reserved::{ANNOTATIONS, CURE, annotation_fault};
use crate::task::{Manifest, Resource, Task};

/// Checks the manifests of all entries; `places` has the place of each, by the entry's name.
pub(super) fn check<'d>(checker: &mut Checker<'_>, task: &Task, place: impl Fn(&str) -> Option<Place<'d>>) {
    // The adapter makes the manifest of a bundle's parent itself, and checks those of its objects with the bundle.
    for resource in task.resources.iter().filter(|resource| resource.bundle.is_none()) {
        let (Some(tree), Some(place)) = (resource.manifest.structure(), place(&resource.name)) else { continue };
        let place = place.key("manifest");
        for (part, key, fault) in faults(&tree, resource) {
            let at = match &resource.manifest {
                Manifest::Inline(_) => place.key("metadata").key(part).key(key),
                Manifest::Text(_) => place.clone(),
            };
            if task.has_lifecycle() {
                checker.error_with_help(&at, fault, CURE);
            } else {
                checker.warn(&at, fault, Some(CURE.to_owned()));
            }
        }
    }
}

/// The faults of one manifest: the part of its metadata, the key, and what is wrong.
fn faults(tree: &Tree, resource: &Resource) -> Vec<(&'static str, &'static str, String)> {
    let mut faults = Vec::new();
    for (key, stamped) in [(keys::RESOURCE_ID, None), (keys::RESOURCE, Some(resource.name.as_str()))] {
        let Part::Literal(written) = tree.part(&["metadata", "labels", key]) else { continue };
        if written.as_str() == stamped && stamped.is_some() {
            continue;
        }
        let whose = match stamped {
            Some(stamped) => format!("the adapter stamps \"{stamped}\", the name of the entry"),
            None => "it is the same for all API resources, so that the deletion of one would delete what others use"
                .to_owned(),
        };
        let fault =
            format!("writes {written} as the label `{key}`, by which the adapter tells whose an object is: {whose}");
        faults.push(("labels", key, fault));
    }
    for key in ANNOTATIONS {
        match tree.part(&["metadata", "annotations", key]) {
            Part::Absent | Part::Uncertain | Part::Literal(Value::Null) => {}
            Part::Literal(_) | Part::Template(_) => faults.push(("annotations", key, annotation_fault(key))),
        }
    }
    faults
}
