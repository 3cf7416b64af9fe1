//! Decides whether a URL names the event's own API resource.
//!
//! In: an event, and a URL as the client resolved it. Out: whether a 404 at that URL means that the event's
//! resource does not exist. In doubt the answer is no, so that the 404 of another resource never ends the pass.

use std::borrow::Cow;

use lifecycle_core::event::{LifecycleEvent, OwnerReference};
use percent_encoding::percent_decode_str;

use super::origin::is_api_path;

/// The last path segment of the URL to which an adapter reports conditions.
const STATUSES: &str = "statuses";

/// Whether a resolved URL names the event's own API resource, or its statuses.
pub fn names_resource_of(event: &LifecycleEvent, resolved: &str) -> bool {
    let path = resolved.split(['?', '#']).next().unwrap_or_default();
    // The client resolves the API's own URLs to paths, so an absolute URL is on another host.
    if event.resource_id.is_empty() || path.contains("://") {
        return false;
    }
    let is_resource = |segments: &[Cow<'_, str>]| match segments {
        [.., collection, id] => *id == event.resource_id && is_collection_of(event, collection),
        [] | [_] => false,
    };
    match segments(path).as_slice() {
        [above @ .., last] if last == STATUSES && is_resource(above) => true,
        segments => is_resource(segments),
    }
}

/// Whether a resolved URL names the owner of the event's resource, as far as the path's end tells.
pub(super) fn names_owner_of(owner: &OwnerReference, resolved: &str) -> bool {
    let path = resolved.split(['?', '#']).next().unwrap_or_default();
    !owner.id.is_empty() && segments(path).last().is_some_and(|last| *last == owner.id)
}

/// Whether a resolved URL is one to which adapters report conditions.
pub fn is_report(resolved: &str) -> bool {
    let path = resolved.split(['?', '#']).next().unwrap_or_default();
    path.trim_end_matches('/').rsplit('/').next() == Some(STATUSES)
}

/// Whether a resolved URL is one of the HyperFleet API to which adapters report conditions.
pub fn is_api_report(resolved: &str) -> bool {
    is_api_path(resolved) && is_report(resolved)
}

/// Whether the event's resource is in the collection: the collection in the event's `href`, else the plural of
/// its kind.
fn is_collection_of(event: &LifecycleEvent, collection: &str) -> bool {
    if let [.., own, id] = segments(&event.href).as_slice()
        && *id == event.resource_id
    {
        return own == collection;
    }
    let (collection, kind) = (collection.to_lowercase(), event.kind.to_lowercase());
    let plural = |ending: &str, plural: &str| {
        kind.strip_suffix(ending).is_some_and(|stem| collection.strip_prefix(stem) == Some(plural))
    };
    !kind.is_empty() && (plural("", "s") || plural("", "es") || plural("y", "ies"))
}

/// The percent-decoded segments of a path.
fn segments(path: &str) -> Vec<Cow<'_, str>> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    segments.map(|segment| percent_decode_str(segment).decode_utf8_lossy()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use lifecycle_objects::id::Generation;
    use serde_json::Value;

    use super::*;

    pub(in crate::api) fn event(id: &str, kind: &str, href: &str) -> LifecycleEvent {
        LifecycleEvent {
            event_id: "e".to_owned(),
            source: "test".to_owned(),
            event_type: "test".to_owned(),
            time: None,
            traceparent: None,
            tracestate: None,
            resource_id: id.to_owned(),
            kind: kind.to_owned(),
            href: href.to_owned(),
            generation: Generation(1),
            owner: None,
            data: Value::Null,
        }
    }

    #[test]
    fn only_the_events_resource_and_its_statuses_are_its_own() {
        let cluster = || event("c-1", "Cluster", "/api/hyperfleet/v1/clusters/c-1");
        let pool = || event("n-1", "NodePool", "/api/hyperfleet/v1/clusters/c-1/nodepools/n-1");
        let bare = |kind: &str| event("c-1", kind, "");
        let cases = [
            ("the resource", cluster(), "/api/hyperfleet/v1/clusters/c-1", true),
            ("its statuses", cluster(), "/api/hyperfleet/v1/clusters/c-1/statuses", true),
            ("with a query", cluster(), "/api/hyperfleet/v1/clusters/c-1?fields=id", true),
            ("another resource", cluster(), "/api/hyperfleet/v1/clusters/c-2", false),
            ("a namesake of another kind", cluster(), "/api/hyperfleet/v1/channels/c-1", false),
            ("below it", cluster(), "/api/hyperfleet/v1/clusters/c-1/nodepools", false),
            ("a child of its own name", cluster(), "/api/hyperfleet/v1/clusters/c-1/nodepools/c-1", false),
            ("its collection", cluster(), "/api/hyperfleet/v1/clusters", false),
            ("the id in a query alone", cluster(), "/api/hyperfleet/v1/x?y=/clusters/c-1", false),
            ("another host", cluster(), "https://else.example/clusters/c-1", false),
            ("the event of a child, at its parent", pool(), "/api/hyperfleet/v1/clusters/c-1", false),
            ("the event of a child, by another path", pool(), "/api/hyperfleet/v1/nodepools/n-1", true),
            ("without href, by the kind", bare("Cluster"), "/api/hyperfleet/v1/clusters/c-1/statuses", true),
            ("without href, a plural in -es", bare("Box"), "/boxes/c-1", true),
            ("without href, a plural in -ies", bare("Policy"), "/policies/c-1", true),
            ("without href, another kind", bare("Channel"), "/clusters/c-1", false),
            ("without href and kind", bare(""), "/clusters/c-1", false),
            ("without id", event("", "Cluster", ""), "/clusters/", false),
            ("an id that has to be escaped", event("a b%", "Cluster", ""), "/clusters/a%20b%25", true),
            ("an id like the word for reports", event("statuses", "Cluster", ""), "/clusters/statuses", true),
        ];
        for (name, event, url, expected) in cases {
            assert_eq!(names_resource_of(&event, url), expected, "{name}");
        }
    }
}
