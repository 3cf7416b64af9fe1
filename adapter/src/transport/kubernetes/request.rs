//! Builds requests. Pure: no connection, no clock.

use std::collections::BTreeMap;
use std::fmt::Write;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::WriteError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::answer::Wanted;
use super::call::Call;
use super::kinds::ServedKind;
use lifecycle_core::object_ref::ObjectRef;

/// What a path segment or a query value keeps unencoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

const JSON: &str = "application/json";

/// Where the objects of one kind, in one namespace if it has any, are served.
#[derive(Debug)]
pub(super) struct Endpoint {
    collection: String,
    namespaced: bool,
    all_namespaces: bool,
    kind: String,
}

impl Endpoint {
    /// Builds the path of a collection. A namespace is left out if the kind has none.
    pub(super) fn new(kind: &ServedKind, subject: &ObjectRef) -> Result<Self, String> {
        let mut collection = group_version_path(&subject.kind);
        if kind.namespaced
            && let Some(namespace) = &subject.namespace
        {
            let _ = write!(collection, "/namespaces/{}", segment(namespace)?);
        }
        let _ = write!(collection, "/{}", segment(&kind.plural)?);
        let all_namespaces = kind.namespaced && subject.namespace.is_none();
        Ok(Self { collection, namespaced: kind.namespaced, all_namespaces, kind: subject.kind.kind.clone() })
    }

    /// What the answer to a call about `subject` has to be.
    pub(super) fn wanted<'a>(&self, subject: &'a ObjectRef) -> Wanted<'a> {
        Wanted::new(subject, self.namespaced)
    }

    /// The path of the collection, for a list: of all namespaces if none was given.
    pub(super) fn collection(&self) -> &str {
        &self.collection
    }

    /// The path of the collection, for a creation.
    pub(super) fn collection_for_create(&self, call: &Call<'_>) -> Result<&str, WriteError> {
        self.check_namespace(call)?;
        Ok(&self.collection)
    }

    /// The path of the object that the call names.
    pub(super) fn object(&self, call: &Call<'_>) -> Result<String, WriteError> {
        self.check_namespace(call)?;
        let name = &call.subject.name;
        Ok(format!("{}/{}", self.collection, segment(name).map_err(|message| call.invalid(message))?))
    }

    fn check_namespace(&self, call: &Call<'_>) -> Result<(), WriteError> {
        if self.all_namespaces {
            return Err(call.invalid(format!("{} is a namespaced kind: the namespace is missing", self.kind)));
        }
        Ok(())
    }
}

/// The path under which a group and version list their kinds.
pub(super) fn group_version_path(kind: &GroupVersionKind) -> String {
    let version = utf8_percent_encode(&kind.version, ENCODED);
    if kind.group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{}/{version}", utf8_percent_encode(&kind.group, ENCODED))
    }
}

/// A path segment that cannot be taken for another path.
fn segment(text: &str) -> Result<String, String> {
    match text {
        "" => Err("the name is empty".to_owned()),
        "." | ".." => Err(format!("{text:?} cannot be a name")),
        _ if text.contains(['/', '%']) => Err(format!("{text:?} cannot be a name")),
        _ => Ok(utf8_percent_encode(text, ENCODED).to_string()),
    }
}

/// Joins labels to an equality selector, sorted by key.
///
/// A character that could give the selector another meaning is refused. No labels at all would select everything.
pub(super) fn selector(labels: &BTreeMap<String, String>) -> Result<String, String> {
    if labels.is_empty() {
        return Err("the selector has no label".to_owned());
    }
    let mut selector = String::new();
    for (key, value) in labels {
        let plain = |text: &str, extra: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c) || extra.contains(c))
        };
        if key.is_empty() || !plain(key, "/") {
            return Err(format!("{key:?} cannot be a label's key"));
        }
        if !plain(value, "") {
            return Err(format!("{value:?} cannot be the value of label {key}"));
        }
        if !selector.is_empty() {
            selector.push(',');
        }
        let _ = write!(selector, "{key}={value}");
    }
    Ok(selector)
}

/// The object with the UID of the one that it may be applied to, and no other, in the version that was looked at.
pub(super) fn fenced(desired: &Value, uid: &str, resource_version: &str) -> Result<Value, String> {
    if uid.is_empty() {
        return Err("nothing is updated without its UID".to_owned());
    }
    let mut fenced = desired.clone();
    match fenced.get_mut("metadata").and_then(Value::as_object_mut) {
        Some(metadata) => {
            metadata.insert("uid".to_owned(), uid.into());
            if !resource_version.is_empty() {
                metadata.insert("resourceVersion".to_owned(), resource_version.into());
            }
            Ok(fenced)
        }
        None => Err("the manifest has no metadata".to_owned()),
    }
}

pub(super) fn get(path: &str) -> Request<Vec<u8>> {
    request(http::Method::GET, path.to_owned(), None, Vec::new())
}

pub(super) fn list(path: &str, selector: &str, limit: u32, next_page: &str) -> Request<Vec<u8>> {
    let mut uri = format!("{path}?labelSelector={}&limit={limit}", utf8_percent_encode(selector, ENCODED));
    if !next_page.is_empty() {
        let _ = write!(uri, "&continue={}", utf8_percent_encode(next_page, ENCODED));
    }
    request(http::Method::GET, uri, None, Vec::new())
}

pub(super) fn create(path: &str, field_manager: &str, rehearse: bool, object: &Value) -> Request<Vec<u8>> {
    let dry_run = if rehearse { "&dryRun=All" } else { "" };
    let uri = format!("{path}?fieldManager={}{dry_run}", utf8_percent_encode(field_manager, ENCODED));
    request(http::Method::POST, uri, Some(JSON), object.to_string().into_bytes())
}

pub(super) fn apply(path: &str, field_manager: &str, object: &Value) -> Request<Vec<u8>> {
    let uri = format!("{path}?fieldManager={}&force=true", utf8_percent_encode(field_manager, ENCODED));
    // The media type says YAML, of which JSON is a part.
    request(http::Method::PATCH, uri, Some("application/apply-patch+yaml"), object.to_string().into_bytes())
}

pub(super) fn json_patch(path: &str, field_manager: &str, patch: &Value) -> Request<Vec<u8>> {
    let uri = format!("{path}?fieldManager={}", utf8_percent_encode(field_manager, ENCODED));
    request(http::Method::PATCH, uri, Some("application/json-patch+json"), patch.to_string().into_bytes())
}

pub(super) fn merge_patch(path: &str, field_manager: &str, patch: &Value) -> Request<Vec<u8>> {
    let uri = format!("{path}?fieldManager={}", utf8_percent_encode(field_manager, ENCODED));
    request(http::Method::PATCH, uri, Some("application/merge-patch+json"), patch.to_string().into_bytes())
}

/// Without a resource version, any will do.
pub(super) fn delete(
    path: &str,
    uid: &str,
    resource_version: &str,
    propagation: PropagationPolicy,
) -> Request<Vec<u8>> {
    let propagation = match propagation {
        PropagationPolicy::Background => "Background",
        PropagationPolicy::Foreground => "Foreground",
        PropagationPolicy::Orphan => "Orphan",
    };
    let mut preconditions = json!({ "uid": uid });
    if !resource_version.is_empty() {
        preconditions["resourceVersion"] = resource_version.into();
    }
    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": preconditions,
        "propagationPolicy": propagation,
    });
    request(http::Method::DELETE, path.to_owned(), Some(JSON), options.to_string().into_bytes())
}

fn request(method: http::Method, uri: String, content_type: Option<&'static str>, body: Vec<u8>) -> Request<Vec<u8>> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    // Every part that comes from outside was encoded above, so that what is left always parses.
    *request.uri_mut() = uri.parse().unwrap_or_default();
    request.headers_mut().insert(ACCEPT, http::HeaderValue::from_static(JSON));
    if let Some(content_type) = content_type {
        request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    }
    request
}

#[cfg(test)]
mod tests;
