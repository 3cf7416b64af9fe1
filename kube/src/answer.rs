//! Checks that the JSON of a successful answer is the object, or the list, that the request named.
//!
//! In: the JSON of an answer with a 2xx status. Out: the same JSON, or a [`Refusal`] if it is something else.
//! Pure.
//!
//! A proxy, a gateway or a wrong backend may answer every request with `200 {}`. Without this check, such an
//! answer to a read would count as an object without a name, or as an empty list; such an answer to a write
//! would count as a success. The check compares the answer's kind, namespace and name with those of the
//! request's path, and its UID with the UID of the request, if the request names one.

use lifecycle_objects::object_ref::ObjectRef;
use serde_json::{Value, json};

use crate::form::Form;
use crate::refusal::Refusal;

/// The identity that the object in an answer must have.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    object: &'a ObjectRef,
    namespaced: bool,
    uid: Option<&'a str>,
}

impl<'a> Expected<'a> {
    /// Expects the object that the call names, or a list of objects of the kind that it names.
    pub(crate) fn new(object: &'a ObjectRef, namespaced: bool) -> Self {
        Self { object, namespaced, uid: None }
    }

    /// Expects the object with this UID, and no other of the same name.
    pub(crate) fn with_uid(self, uid: &'a str) -> Self {
        Self { uid: Some(uid), ..self }
    }

    /// Returns the answer if it is the expected object.
    pub(crate) fn object(&self, answer: Value) -> Result<Value, Refusal> {
        self.check("apiVersion", answer.get("apiVersion"), Some(&self.object.kind.api_version()))?;
        self.check("kind", answer.get("kind"), Some(&self.object.kind.kind))?;
        self.check_metadata(&answer)?;
        Ok(answer)
    }

    /// Returns the answer to a DELETE if it is a `Status` of success, or the expected object in its last state.
    pub(crate) fn deletion(&self, answer: Value) -> Result<Value, Refusal> {
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        if text("kind") == Some("Status") && text("apiVersion") == Some("v1") && text("status") == Some("Success") {
            return Ok(answer);
        }
        self.object(answer)
    }

    /// Reads one page of a list: its items, each with `apiVersion` and `kind`, and the token of the next
    /// page, if any.
    ///
    /// A server that cannot reduce objects to their metadata answers with a full list; then this function
    /// reduces the items.
    pub(crate) fn page(&self, mut answer: Value, form: Form) -> Result<(Vec<Value>, Option<String>), Refusal> {
        let is_reduced = form == Form::MetadataOnly
            && answer.get("kind").and_then(Value::as_str) == Some("PartialObjectMetadataList")
            && answer.get("apiVersion").and_then(Value::as_str) == Some("meta.k8s.io/v1");
        if !is_reduced {
            let kind = &self.object.kind;
            self.check("apiVersion", answer.get("apiVersion"), Some(&kind.api_version()))?;
            // The definition of a custom resource chooses the kind of its list, so only the core group's is
            // checked.
            let expected = kind.group.is_empty().then(|| format!("{}List", kind.kind));
            self.check("kind", answer.get("kind"), expected.as_deref())?;
        }
        let version =
            answer.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        let token = answer.pointer("/metadata/continue").and_then(Value::as_str);
        let token = token.filter(|token| !token.is_empty()).map(str::to_owned);
        let items = match answer.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            // Go encodes a nil slice as `null`, so a server written in Go may send an empty list as `null`.
            Some(Value::Null) => Vec::new(),
            _ => return Err(foreign("it has no list of items")),
        };
        // An empty list says that objects are absent, so it has to be the server's own.
        if items.is_empty() && version.is_empty() {
            return Err(foreign("it is an empty list without metadata.resourceVersion"));
        }
        let items: Result<_, _> = items
            .into_iter()
            .map(|item| match form {
                Form::MetadataOnly if is_reduced => self.object(self.reduced(item)),
                Form::MetadataOnly => self.item(item).map(|item| self.reduced(item)),
                Form::Full => self.item(item),
            })
            .collect();
        Ok((items?, token))
    }

    /// Returns an item if it is an expected object, after adding `apiVersion` and `kind`: API servers leave
    /// them out in lists.
    fn item(&self, mut item: Value) -> Result<Value, Refusal> {
        if let Value::Object(fields) = &mut item {
            fields.entry("apiVersion").or_insert_with(|| self.object.kind.api_version().into());
            fields.entry("kind").or_insert_with(|| self.object.kind.kind.clone().into());
        }
        self.object(item)
    }

    /// Keeps an item's metadata, and replaces its kind `PartialObjectMetadata` by the kind of the object.
    fn reduced(&self, mut item: Value) -> Value {
        let metadata = item.get_mut("metadata").map(Value::take);
        json!({ "apiVersion": self.object.kind.api_version(), "kind": self.object.kind.kind, "metadata": metadata })
    }

    fn check_metadata(&self, answer: &Value) -> Result<(), Refusal> {
        let metadata = |key: &str| answer.get("metadata").and_then(|metadata| metadata.get(key));
        self.check("metadata.name", metadata("name"), Some(self.object.name.as_str()).filter(|name| !name.is_empty()))?;
        if self.namespaced {
            self.check("metadata.namespace", metadata("namespace"), self.object.namespace.as_deref())?;
        }
        // Without a UID, nothing was stored.
        self.check("metadata.uid", metadata("uid"), self.uid)
    }

    /// Checks that a field is a non-empty string and, where `expected` is given, equal to it.
    fn check(&self, field: &str, found: Option<&Value>, expected: Option<&str>) -> Result<(), Refusal> {
        match (found.and_then(Value::as_str).filter(|text| !text.is_empty()), expected) {
            (Some(found), Some(expected)) if found != expected => {
                Err(foreign(&format!("its {field} is {found:?} instead of {expected:?}")))
            }
            (Some(_), _) => Ok(()),
            (None, _) => Err(foreign(&format!("it has no {field}"))),
        }
    }
}

pub(crate) fn foreign(difference: &str) -> Refusal {
    let message = format!(
        "the answer is not the requested object: {difference}; check the proxies between here and the API server"
    );
    Refusal::Foreign { message }
}

#[cfg(test)]
mod tests {
    use lifecycle_objects::id::GroupVersionKind;
    use serde_json::json;

    use super::*;

    fn reference(api_version: &str, kind: &str, namespace: Option<&str>, name: Option<&str>) -> ObjectRef {
        ObjectRef {
            name: name.unwrap_or_default().to_owned(),
            ..ObjectRef::all(GroupVersionKind::new(api_version, kind), namespace)
        }
    }

    fn settings() -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team", "uid": "u1" } })
    }

    /// `settings` with the field at `pointer` replaced by `value`.
    fn changed(pointer: &str, value: Value) -> Value {
        let mut object = settings();
        if let Some(place) = object.pointer_mut(pointer) {
            *place = value;
        }
        object
    }

    #[test]
    fn answer_must_be_the_requested_object() {
        let named = reference("v1", "ConfigMap", Some("team"), Some("a"));
        let cases = [
            ("the object", settings(), true),
            ("nothing", json!({}), false),
            ("null", Value::Null, false),
            ("text", json!("ok"), false),
            ("a status", json!({ "apiVersion": "v1", "kind": "Status", "status": "Success" }), false),
            ("another version", changed("/apiVersion", "v2".into()), false),
            ("another kind", changed("/kind", "Secret".into()), false),
            ("another name", changed("/metadata/name", "b".into()), false),
            ("another namespace", changed("/metadata/namespace", "other".into()), false),
            ("another UID", changed("/metadata/uid", "u2".into()), false),
            ("no UID", changed("/metadata/uid", Value::Null), false),
            ("an empty name", changed("/metadata/name", "".into()), false),
            ("no metadata", changed("/metadata", Value::Null), false),
        ];
        for (name, answer, expected) in cases {
            let named_object = Expected::new(&named, true).with_uid("u1");
            assert_eq!(named_object.object(answer.clone()).is_ok(), expected, "{name}");
            let deleted = expected || name == "a status";
            assert_eq!(named_object.deletion(answer).is_ok(), deleted, "deletion: {name}");
        }
    }

    #[test]
    fn only_fields_of_the_request_are_compared() {
        let anywhere = reference("v1", "ConfigMap", None, None);
        assert!(Expected::new(&anywhere, true).object(settings()).is_ok(), "a name that the server chose");
        let cluster = reference("v1", "Namespace", Some("ignored"), Some("a"));
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a", "uid": "u" } });
        assert!(Expected::new(&cluster, false).object(namespace).is_ok(), "an object without a namespace");
    }

    #[test]
    fn list_must_have_the_requested_kind() {
        let page = |api_version: &str, kind: &str, items: Value| json!({ "apiVersion": api_version, "kind": kind, "metadata": { "resourceVersion": "7" }, "items": items });
        let item = |namespace: &str| json!([{ "metadata": { "name": "a", "namespace": namespace, "uid": "u" } }]);
        let core = reference("v1", "ConfigMap", Some("team"), None);
        let custom = reference("example.com/v1", "Widget", Some("team"), None);
        let cases = [
            ("a list", &core, page("v1", "ConfigMapList", item("team")), true),
            ("an empty list", &core, page("v1", "ConfigMapList", json!([])), true),
            ("an empty list as null", &core, page("v1", "ConfigMapList", Value::Null), true),
            (
                "an empty list that is of no time",
                &core,
                json!({ "apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}, "items": [] }),
                false,
            ),
            ("a list of another kind as null", &core, page("v1", "SecretList", Value::Null), false),
            ("a custom list", &custom, page("example.com/v1", "WidgetList", item("team")), true),
            ("a custom list with a name of its own", &custom, page("example.com/v1", "Gadgets", item("team")), true),
            ("nothing", &core, json!({}), false),
            ("items without a kind", &core, json!({ "items": [] }), false),
            ("a list without items", &core, json!({ "apiVersion": "v1", "kind": "ConfigMapList" }), false),
            ("a list of another kind", &core, page("v1", "SecretList", json!([])), false),
            ("a list of another group", &custom, page("v1", "WidgetList", json!([])), false),
            ("an item of another namespace", &core, page("v1", "ConfigMapList", item("other")), false),
            ("an item without a name", &core, page("v1", "ConfigMapList", json!([{}])), false),
            ("an item that is no object", &core, page("v1", "ConfigMapList", json!([null])), false),
            (
                "an item of another kind",
                &core,
                page(
                    "v1",
                    "ConfigMapList",
                    json!([{ "kind": "Secret", "metadata": { "name": "a", "namespace": "team" } }]),
                ),
                false,
            ),
        ];
        for (name, object, answer, expected) in cases {
            assert_eq!(Expected::new(object, true).page(answer, Form::Full).is_ok(), expected, "{name}");
        }
    }

    #[test]
    fn metadata_only_items_name_their_kind_and_nothing_but_metadata() {
        let widgets = reference("example.com/v1", "Widget", None, None);
        let metadata = json!({ "name": "a", "namespace": "team", "uid": "u1" });
        let expected = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata });
        let partial = json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata });
        let full = json!({ "metadata": metadata, "spec": { "size": 1 } });
        let list = |api_version: &str, kind: &str, item: &Value| json!({ "apiVersion": api_version, "kind": kind, "metadata": { "continue": "t" }, "items": [item] });
        let cases = [
            ("reduced by the server", list("meta.k8s.io/v1", "PartialObjectMetadataList", &partial), true),
            ("reduced here", list("example.com/v1", "WidgetList", &full), true),
            ("another kind", list("example.com/v2", "WidgetList", &full), false),
            ("no metadata", list("meta.k8s.io/v1", "PartialObjectMetadataList", &json!({})), false),
        ];
        for (name, answer, is_accepted) in cases {
            let page = Expected::new(&widgets, true).page(answer, Form::MetadataOnly).ok();
            assert_eq!(page, is_accepted.then(|| (vec![expected.clone()], Some("t".to_owned()))), "{name}");
        }
        let reduced = list("meta.k8s.io/v1", "PartialObjectMetadataList", &partial);
        assert!(Expected::new(&widgets, true).page(reduced, Form::Full).is_err(), "the request was for a full list");
    }
}
