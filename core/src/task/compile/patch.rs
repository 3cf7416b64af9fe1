//! Compiles the entries of `lifecycle.patch`.
//!
//! Checks literal keys only. The planner applies the same rules ([`patch`]) to the rendered document.

use serde_json::Value;

use super::check::{Checker, Key, Place};
use super::manifest;
use super::when::when;
use crate::patch;
use crate::task::Patch;
use crate::task::spec::{PatchSpec, ResourceSpec};

/// Compiles the entries of the list at `place`; `is_owned` says whether the resource has an `owner`.
pub(super) fn compile(checker: &mut Checker<'_>, specs: &[PatchSpec], place: &Place<'_>, is_owned: bool) -> Vec<Patch> {
    let entries = specs.iter().enumerate().filter_map(|(index, spec)| {
        let place = place.index(index);
        let when = when(checker, &spec.when, &place, Key::New);
        let place = place.key("document");
        if spec.document.is_empty() {
            if !checker.is_reported(&place) {
                let help = "name what is to be set, or to be removed with `null`";
                checker.error_with_help(&place, "is empty: there is nothing to write", help);
            }
            return None;
        }
        for fault in patch::faults(&spec.document, is_owned) {
            let place = fault.path.iter().fold(place.clone(), |place, key| place.key(key));
            match fault.help {
                Some(help) => checker.error_with_help(&place, fault.message, help),
                None => checker.error(&place, fault.message),
            }
        }
        let document = manifest::tree(checker, &Value::Object(spec.document.clone()), &place, Key::New);
        Some(Patch { when: when?, document: document? })
    });
    entries.collect()
}

/// Refuses `status` in the patches of a kind whose status is a subresource: the API server accepts such a patch and
/// changes nothing. For kinds that are unknown here, the transport asks the server before it sends the patch.
pub(super) fn refuse_status(checker: &mut Checker<'_>, spec: &ResourceSpec, place: &Place<'_>) {
    let patches = spec.lifecycle.iter().flat_map(|lifecycle| &lifecycle.patch).enumerate();
    for (index, _) in patches.filter(|(_, patch)| patch.document.contains_key("status")) {
        checker.error_with_help(
            &place.key("lifecycle").key("patch").index(index).key("document").key("status"),
            "is ignored by the API server: the status of this kind is a subresource",
            "remove `status`: it belongs to the controller of the object",
        );
    }
}
