//! Builds the HTTP requests of calls to the API server. Pure.

use std::fmt::Write;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::WriteError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::answer::Expected;
use crate::call::Call;
use crate::form::Form;
use crate::served_kind::ServedKind;

/// The characters that are percent-encoded in path segments and query values: all but RFC 3986's unreserved
/// ones and `:`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

const JSON: &str = "application/json";

/// The `Accept` header of a metadata-only list; a server that cannot reduce objects sends full ones instead.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// The URL path of the objects of one kind, in one namespace or in all.
#[derive(Debug)]
pub(crate) struct Endpoint {
    collection: String,
    namespaced: bool,
    all_namespaces: bool,
    has_status: bool,
    kind: String,
}

impl Endpoint {
    /// Builds the path of a collection. Ignores the namespace if the kind is cluster-scoped.
    pub(crate) fn new(kind: &ServedKind, object: &ObjectRef) -> Result<Self, String> {
        let mut collection = group_version_path(&object.kind);
        if kind.namespaced
            && let Some(namespace) = &object.namespace
        {
            let _ = write!(collection, "/namespaces/{}", segment(namespace)?);
        }
        let _ = write!(collection, "/{}", segment(&kind.plural)?);
        let all_namespaces = kind.namespaced && object.namespace.is_none();
        let (namespaced, has_status) = (kind.namespaced, kind.has_status);
        Ok(Self { collection, namespaced, all_namespaces, has_status, kind: object.kind.kind.clone() })
    }

    /// The check that an answer to a call about `object` must pass.
    pub(crate) fn expected<'a>(&self, object: &'a ObjectRef) -> Expected<'a> {
        Expected::new(object, self.namespaced)
    }

    /// The path of the collection for a list; it covers all namespaces if none was given.
    pub(crate) fn collection(&self) -> &str {
        &self.collection
    }

    /// The path of the collection for a creation; an error if a namespace is missing.
    pub(crate) fn collection_for_create(&self, call: &Call<'_>) -> Result<&str, WriteError> {
        self.check_namespace(call)?;
        Ok(&self.collection)
    }

    /// The path of the object that the call names; an error if its name or namespace is missing.
    pub(crate) fn object(&self, call: &Call<'_>) -> Result<String, WriteError> {
        self.check_namespace(call)?;
        let name = segment(&call.object.name).map_err(|message| call.invalid(message))?;
        Ok(format!("{}/{name}", self.collection))
    }

    /// Refuses a patch of the status if it is a subresource: the server would accept the patch and ignore it.
    pub(crate) fn check_patch(&self, call: &Call<'_>, patch: &Value) -> Result<(), WriteError> {
        if self.has_status && patch.get("status").is_some() {
            return Err(call.invalid(format!(
                "the status of {} is a subresource, which this patch cannot change; remove `status` from it",
                self.kind
            )));
        }
        Ok(())
    }

    fn check_namespace(&self, call: &Call<'_>) -> Result<(), WriteError> {
        if self.all_namespaces {
            return Err(call.invalid(format!("{} is a namespaced kind: the namespace is missing", self.kind)));
        }
        Ok(())
    }
}

/// The path under which the server lists the versions of a named group.
pub(crate) fn group_path(group: &str) -> String {
    format!("/apis/{}", utf8_percent_encode(group, ENCODED))
}

/// The path under which the server lists the kinds of a group and version.
pub(crate) fn group_version_path(kind: &GroupVersionKind) -> String {
    let version = utf8_percent_encode(&kind.version, ENCODED);
    if kind.group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{}/{version}", utf8_percent_encode(&kind.group, ENCODED))
    }
}

/// Encodes a name as one path segment, and refuses names that would change the path's structure.
fn segment(text: &str) -> Result<String, String> {
    match text {
        "" => Err("the name is empty".to_owned()),
        "." | ".." => Err(format!("{text:?} cannot be a name")),
        _ if text.contains(['/', '%']) => Err(format!("{text:?} cannot be a name")),
        _ => Ok(utf8_percent_encode(text, ENCODED).to_string()),
    }
}

pub(crate) fn get(path: &str) -> Request<Vec<u8>> {
    request(http::Method::GET, path.to_owned(), None, Vec::new())
}

/// Requests a page of a list; with an empty token, the first page.
pub(crate) fn list(path: &str, selector: &str, limit: u32, token: &str, form: Form) -> Request<Vec<u8>> {
    let mut uri = format!("{path}?labelSelector={}&limit={limit}", utf8_percent_encode(selector, ENCODED));
    if !token.is_empty() {
        let _ = write!(uri, "&continue={}", utf8_percent_encode(token, ENCODED));
    }
    let mut request = request(http::Method::GET, uri, None, Vec::new());
    if form == Form::MetadataOnly {
        request.headers_mut().insert(ACCEPT, http::HeaderValue::from_static(METADATA_ONLY));
    }
    request
}

pub(crate) fn create(path: &str, field_manager: &str, is_dry_run: bool, object: &Value) -> Request<Vec<u8>> {
    let dry_run = if is_dry_run { "&dryRun=All" } else { "" };
    let uri = format!("{path}?{}{dry_run}", strict(field_manager));
    request(http::Method::POST, uri, Some(JSON), object.to_string().into_bytes())
}

pub(crate) fn apply(path: &str, field_manager: &str, object: &Value) -> Request<Vec<u8>> {
    let uri = format!("{path}?{}&force=true", strict(field_manager));
    // The API server accepts applies as YAML only; JSON is a subset of YAML.
    request(http::Method::PATCH, uri, Some("application/apply-patch+yaml"), object.to_string().into_bytes())
}

pub(crate) fn replace(path: &str, field_manager: &str, object: &Value) -> Request<Vec<u8>> {
    let uri = format!("{path}?{}", strict(field_manager));
    request(http::Method::PUT, uri, Some(JSON), object.to_string().into_bytes())
}

pub(crate) fn json_patch(path: &str, field_manager: &str, patch: &Value) -> Request<Vec<u8>> {
    let uri = format!("{path}?fieldManager={}", utf8_percent_encode(field_manager, ENCODED));
    request(http::Method::PATCH, uri, Some("application/json-patch+json"), patch.to_string().into_bytes())
}

pub(crate) fn merge_patch(path: &str, field_manager: &str, patch: &Value) -> Request<Vec<u8>> {
    let uri = format!("{path}?{}", strict(field_manager));
    request(http::Method::PATCH, uri, Some("application/merge-patch+json"), patch.to_string().into_bytes())
}

pub(crate) fn delete(path: &str, options: &Value) -> Request<Vec<u8>> {
    request(http::Method::DELETE, path.to_owned(), Some(JSON), options.to_string().into_bytes())
}

/// The parameters of a write of an object's fields: the field manager, and that the server refuses fields that
/// the kind does not have. By default the server drops such fields, and only warns.
fn strict(field_manager: &str) -> String {
    format!("fieldManager={}&fieldValidation=Strict", utf8_percent_encode(field_manager, ENCODED))
}

fn request(method: http::Method, uri: String, content_type: Option<&'static str>, body: Vec<u8>) -> Request<Vec<u8>> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    // Cannot fail: every part that comes from outside was percent-encoded above.
    *request.uri_mut() = uri.parse().unwrap_or_default();
    request.headers_mut().insert(ACCEPT, http::HeaderValue::from_static(JSON));
    if let Some(content_type) = content_type {
        request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    }
    request
}

#[cfg(test)]
mod tests;
