//! Classifies requests that did not succeed.
//!
//! In: an HTTP status and the server's `Status` object, or the failure to get them. Out: a [`WriteErrorKind`].
//! Pure. The kind depends on the status code, the reason and the named fields; on the message only where the
//! server has no other sign, see `DENIALS` and `names_field`.

use kube::core::Status;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{WriteError, WriteErrorKind};

use crate::call::Call;
use crate::field_path::FieldPath;

/// How many characters are kept of an error answer that is not a `Status` object: enough to recognise a
/// proxy's page.
const FOREIGN_TEXT: usize = 300;

/// Parts of messages by which admission denies a request: policies, webhooks, quotas and Pod Security. Their
/// status code and reason are those of an invalid or a forbidden request, or what a webhook chose.
const DENIALS: [&str; 4] = ["ValidatingAdmissionPolicy '", "denied the request", " quota: ", "violates PodSecurity "];

/// The beginning of the message with which the server refuses the apply of a field that the kind does not
/// have, or of a list with equal keys. The status is 500, although the cause is in the manifest.
const UNDECLARED: &str = "failed to create typed patch object";

/// The end of the message with which the server refuses an apply if the live object or its managed fields have a field that
/// one of their versions lacks. The status is 500, although the next apply meets the same.
const NOT_IN_VERSION: &str = ": field not declared in schema";

/// What the server says of a live list with equal keys. The status is 500 here, too.
const EQUAL_KEYS: &str = ": duplicate entries for key [";

/// How the server refuses an applied object that its kind cannot hold, such as wrong base64 in a Secret or a quantity that is none:
/// the beginning, which namespace, name and kind follow; the end of that; and the cause. The status is 500 here, too. Where a
/// conversion webhook fails, only the cause is another one, and it quotes the webhook, which may say anything.
const NOT_OF_KIND: [&str; 3] =
    ["failed to convert new object (", ") to proper version: ", "unable to convert unstructured object to "];

/// What the server says of a merge patch that makes an object invalid, before it quotes the whole object: of a Secret, all values.
const QUOTED: &str = "patch: Invalid value: \"";

/// The reason of the cause with which the server refuses a creation in a namespace that is being deleted.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// The reasons of causes that name a field because of its value, and not because it is missing.
const OF_VALUES: [&str; 2] = ["FieldValueForbidden", "FieldValueInvalid"];

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server answered with a status outside of 2xx.
    Answered(Box<Status>),
    /// No answer arrived, or it was cut, too long or not JSON. The server may have carried the request out.
    Lost { status: Option<u16>, message: String },
    /// The answer has a 2xx status, but is not the requested object. The request may have been carried out.
    Foreign { message: String },
}

impl Refusal {
    /// Builds a refusal from an answer with a status outside of 2xx.
    pub(crate) fn answered(status: u16, body: &[u8]) -> Self {
        let said: Status = serde_json::from_slice(body).unwrap_or_else(|_| {
            let text: String = String::from_utf8_lossy(body).trim().chars().take(FOREIGN_TEXT).collect();
            Status::failure(&text, "")
        });
        Self::Answered(Box::new(said.with_code(status)))
    }

    /// Whether the server answers that `object` itself does not exist, while it serves the path.
    pub(crate) fn is_missing_object(&self, object: &ObjectRef) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 404
            && status.details.as_ref().is_some_and(|details| {
                // If the namespace is missing, the 404 names the namespace instead of the object.
                !object.name.is_empty()
                    && details.name == object.name
                    && (details.kind != "namespaces" || object.kind.kind == "Namespace")
            })
    }

    /// Whether the server answers that the namespace of `object` does not exist. Other things are not found either, such as its kind.
    fn is_missing_namespace(&self, object: &ObjectRef) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 404
            && status.details.as_ref().is_some_and(|details| {
                details.kind == "namespaces"
                    && details.group.is_empty()
                    && object.namespace.as_ref() == Some(&details.name)
            })
    }

    /// Whether the server does not serve the path, so that the cached kind is outdated.
    pub(crate) fn is_unserved_path(&self) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 404 && status.details.as_ref().is_none_or(|details| details.name.is_empty())
    }

    /// Whether a `test` operation of a JSON patch failed: the server answers 422 without naming a field.
    pub(crate) fn is_failed_test(&self) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 422 && status.details.as_ref().is_none_or(|details| details.causes.is_empty())
    }

    pub(crate) fn kind(&self) -> WriteErrorKind {
        match self {
            Self::Lost { .. } => WriteErrorKind::Unreachable,
            Self::Foreign { .. } => WriteErrorKind::Unavailable,
            Self::Answered(status) => match status.code {
                400..600 if is_in_terminating_namespace(status) => WriteErrorKind::NamespaceTerminating,
                400..600 if is_denied(status) => WriteErrorKind::Denied,
                404 => WriteErrorKind::NotFound,
                410 => WriteErrorKind::Expired,
                409 if status.is_already_exists() => WriteErrorKind::AlreadyExists,
                409 => WriteErrorKind::Conflict,
                422 if names_uid(status) => WriteErrorKind::Conflict,
                500 if names_field(&status.message) => WriteErrorKind::Invalid,
                401 | 403 => WriteErrorKind::Forbidden,
                429 if is_of_storage(status) => WriteErrorKind::Unavailable,
                429 => WriteErrorKind::TooManyRequests,
                // 408: the server failed to read the request in time. 3xx: an API server sends no redirects,
                // so a proxy did.
                408 | 300..400 => WriteErrorKind::Unavailable,
                400..500 => WriteErrorKind::Invalid,
                _ => WriteErrorKind::Unavailable,
            },
        }
    }

    /// The fields because of whose values the server finds the object invalid.
    pub(crate) fn fields(&self) -> Vec<FieldPath> {
        let Self::Answered(status) = self else { return Vec::new() };
        if status.code != 422 || self.kind() != WriteErrorKind::Invalid {
            return Vec::new();
        }
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let of_values = causes.filter(|cause| OF_VALUES.contains(&cause.reason.as_str()));
        of_values.filter_map(|cause| FieldPath::parse(&cause.field)).collect()
    }

    /// Whether the server cannot read the object, or who set its fields, in one of the versions of these.
    pub(crate) fn is_about_versions(&self) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 500 && status.message.contains(NOT_IN_VERSION) && !status.message.starts_with(UNDECLARED)
    }

    /// The value of the span attribute `error.type`: the status code, or a word if there is none.
    pub(crate) fn error_type(&self) -> String {
        match self {
            Self::Answered(status) => status.code.to_string(),
            Self::Lost { .. } => "unreachable".to_owned(),
            Self::Foreign { .. } => "foreign_answer".to_owned(),
        }
    }

    pub(crate) fn into_error(self, call: &Call<'_>) -> WriteError {
        let kind = self.kind();
        let lacks_namespace = kind == WriteErrorKind::NotFound && self.is_missing_namespace(call.object);
        let kind = if lacks_namespace { WriteErrorKind::NamespaceMissing } else { kind };
        match self {
            Self::Answered(status) => {
                let code = status.code;
                let message = match without_object(status.message) {
                    message if message.is_empty() => format!("HTTP status {code}"),
                    // A gateway's refusal of a read often says nothing but its status, and that in other words.
                    message if call.verb.is_read() => format!("{message} (HTTP status {code})"),
                    message => message,
                };
                call.error(kind, Some(code), message)
            }
            Self::Lost { status, message } => call.error(kind, status, message),
            Self::Foreign { message } => call.error(kind, Some(200), message),
        }
    }
}

/// Whether the message of a 500 names a field of the manifest or of the live object.
fn names_field(message: &str) -> bool {
    message.starts_with(UNDECLARED)
        || [NOT_IN_VERSION, EQUAL_KEYS].iter().any(|part| message.contains(part))
        || is_not_of_kind(message)
}

/// Whether the message of a 500 says that the object's kind cannot hold the object.
fn is_not_of_kind(message: &str) -> bool {
    let [beginning, end, cause] = NOT_OF_KIND;
    let said = message.strip_prefix(beginning).and_then(|rest| rest.split_once(end));
    said.is_some_and(|(_, said)| said.starts_with(cause))
}

/// The message without the object that the server quotes in it.
fn without_object(message: String) -> String {
    let Some((before, quoted)) = message.split_once(QUOTED) else { return message };
    let mut is_escaped = false;
    let end = quoted.find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    let after = end.map_or("", |end| &quoted[end..]);
    format!("{before}{QUOTED}…{after}")
}

/// Whether a 422 is about the UID: the API server reports another UID as a change of an immutable field.
fn names_uid(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.causes.iter().any(|cause| cause.field == "metadata.uid"))
}

/// Whether a 429 is about the objects of a kind, which the server cannot read, as while the kind's conversion webhook does not
/// answer: fewer requests do not help. The server says then in its status when to ask again. It says so in a header alone, with a
/// text that is no status, where it limits requests.
fn is_of_storage(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.retry_after_seconds > 0)
}

/// Whether admission denied the request.
fn is_denied(status: &Status) -> bool {
    DENIALS.iter().any(|denial| status.message.contains(denial))
}

/// Whether the server refused a creation because its namespace is being deleted. Its status says so in a cause.
fn is_in_terminating_namespace(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == NAMESPACE_TERMINATING)
}

#[cfg(test)]
mod tests {
    use lifecycle_objects::id::GroupVersionKind;
    use serde_json::{Value, json};

    use super::*;

    fn refusal(code: u16, reason: &str, details: Value) -> Refusal {
        let body = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "no",
                           "details": details });
        Refusal::answered(code, body.to_string().as_bytes())
    }

    fn said(code: u16, reason: &str, message: &str) -> Refusal {
        let body = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message });
        Refusal::answered(code, body.to_string().as_bytes())
    }

    fn cause(field: &str) -> Value {
        json!({ "causes": [{ "reason": "FieldValueInvalid", "message": "field is immutable", "field": field }] })
    }

    #[test]
    fn each_refusal_has_its_error_kind() {
        use WriteErrorKind as Kind;
        let cases = [
            ("a missing object", refusal(404, "NotFound", json!({ "name": "a" })), Kind::NotFound),
            ("an expired list", refusal(410, "Expired", Value::Null), Kind::Expired),
            ("a taken name", refusal(409, "AlreadyExists", Value::Null), Kind::AlreadyExists),
            ("a stale precondition", refusal(409, "Conflict", Value::Null), Kind::Conflict),
            ("a 409 without a reason", refusal(409, "", Value::Null), Kind::Conflict),
            ("another UID in an apply", refusal(422, "Invalid", cause("metadata.uid")), Kind::Conflict),
            ("another immutable field", refusal(422, "Invalid", cause("spec.selector")), Kind::Invalid),
            ("an invalid object", refusal(422, "Invalid", Value::Null), Kind::Invalid),
            ("what cannot be parsed", refusal(400, "BadRequest", Value::Null), Kind::Invalid),
            ("a method that the path lacks", refusal(405, "MethodNotAllowed", Value::Null), Kind::Invalid),
            ("a body that is too large", refusal(413, "RequestEntityTooLarge", Value::Null), Kind::Invalid),
            (
                "a policy that denies as invalid",
                said(
                    422,
                    "Invalid",
                    "x is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                ),
                Kind::Denied,
            ),
            (
                "a webhook that denies",
                said(403, "Forbidden", "admission webhook \"w.example.com\" denied the request: no"),
                Kind::Denied,
            ),
            (
                "a webhook that denies as it likes",
                said(400, "", "admission webhook \"w\" denied the request: no"),
                Kind::Denied,
            ),
            (
                "an exceeded quota",
                said(403, "Forbidden", "secrets \"a\" is forbidden: exceeded quota: q"),
                Kind::Denied,
            ),
            (
                "Pod Security",
                said(403, "Forbidden", "pods \"a\" is forbidden: violates PodSecurity \"baseline\""),
                Kind::Denied,
            ),
            (
                "a namespace that is terminating",
                refusal(403, "Forbidden", json!({ "causes": [{ "reason": "NamespaceTerminating" }] })),
                Kind::NamespaceTerminating,
            ),
            (
                "text about a namespace that is terminating, without the cause",
                said(403, "Forbidden", "unable to create new content in namespace a because it is being terminated"),
                Kind::Forbidden,
            ),
            (
                "a webhook that fails",
                said(500, "InternalError", "Internal error occurred: failed calling webhook \"w\": refused"),
                Kind::Unavailable,
            ),
            (
                "an apply of a field that the kind lacks",
                said(
                    500,
                    "",
                    "failed to create typed patch object (a/b; v1, Kind=Pod): .spec.x: field not declared in schema",
                ),
                Kind::Invalid,
            ),
            (
                "an apply to an object that one of its versions cannot hold",
                said(500, "", ".spec.b: field not declared in schema"),
                Kind::Invalid,
            ),
            (
                "an apply to a list with equal keys",
                said(500, "", "failed to create manager: .spec.env: duplicate entries for key [name=\"A\"]"),
                Kind::Invalid,
            ),
            (
                "an apply of a text that is no base64",
                said(
                    500,
                    "",
                    "failed to convert new object (a/b; /v1, Kind=Secret) to proper version: unable to convert unstructured \
                     object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 3",
                ),
                Kind::Invalid,
            ),
            (
                "an apply to a kind whose conversion webhook is away",
                said(
                    500,
                    "",
                    "failed to convert new object (a/b; x/v2, Kind=X) to proper version: conversion webhook for x/v1, Kind=X failed",
                ),
                Kind::Unavailable,
            ),
            (
                "an apply to a kind whose conversion webhook fails with the server's words",
                said(
                    500,
                    "",
                    "failed to convert new object (a/b; x/v2, Kind=X) to proper version: conversion webhook for x/v1, Kind=X \
                     failed: unable to convert unstructured object to x/v1, Kind=X: no memory",
                ),
                Kind::Unavailable,
            ),
            (
                "an admission webhook that fails with the server's words",
                said(
                    500,
                    "InternalError",
                    "Internal error occurred: failed calling webhook \"w\": failed to convert new object (a/b; x/v2, Kind=X) to \
                     proper version: unable to convert unstructured object to x/v2, Kind=X: no memory",
                ),
                Kind::Unavailable,
            ),
            ("no credentials", refusal(401, "Unauthorized", Value::Null), Kind::Forbidden),
            ("no permission", refusal(403, "Forbidden", Value::Null), Kind::Forbidden),
            (
                "a kind whose conversion webhook is away",
                refusal(429, "TooManyRequests", json!({ "retryAfterSeconds": 1 })),
                Kind::Unavailable,
            ),
            (
                "a server that limits requests",
                Refusal::answered(429, b"Too many requests, please try again later.\n"),
                Kind::TooManyRequests,
            ),
            ("too many requests", refusal(429, "TooManyRequests", Value::Null), Kind::TooManyRequests),
            ("a failing webhook", refusal(500, "InternalError", Value::Null), Kind::Unavailable),
            ("a server that starts", refusal(503, "ServiceUnavailable", Value::Null), Kind::Unavailable),
            ("a server that is slow", refusal(504, "Timeout", Value::Null), Kind::Unavailable),
            ("a proxy's page", Refusal::answered(502, b"<html>Bad Gateway</html>"), Kind::Unavailable),
            ("a redirect", Refusal::answered(302, b""), Kind::Unavailable),
            ("an answer that is not the object", Refusal::Foreign { message: "{}".into() }, Kind::Unavailable),
            ("no answer", Refusal::Lost { status: None, message: "reset".into() }, Kind::Unreachable),
        ];
        for (name, refusal, expected) in cases {
            assert_eq!(refusal.kind(), expected, "{name}");
        }
    }

    #[test]
    fn object_is_missing_only_if_a_404_names_it() {
        let object = ObjectRef {
            kind: GroupVersionKind::new("v1", "ConfigMap"),
            namespace: Some("team-a".to_owned()),
            name: "settings".to_owned(),
        };
        let cases = [
            ("this object", refusal(404, "NotFound", json!({ "name": "settings", "kind": "configmaps" })), true),
            ("its namespace", refusal(404, "NotFound", json!({ "name": "settings", "kind": "namespaces" })), false),
            ("another object", refusal(404, "NotFound", json!({ "name": "other", "kind": "configmaps" })), false),
            ("a path that is not served", refusal(404, "NotFound", json!({})), false),
            ("a page that is no status", Refusal::answered(404, b"404 page not found\n"), false),
            ("something gone", refusal(410, "Gone", json!({ "name": "settings", "kind": "configmaps" })), false),
        ];
        for (name, refusal, expected) in cases {
            assert_eq!(refusal.is_missing_object(&object), expected, "{name}");
        }
    }

    #[test]
    fn missing_namespace_is_told_from_another_missing_thing() {
        let namespaces = |name: &str| json!({ "name": name, "kind": "namespaces" });
        let inside = ("v1", "Secret", Some("a"));
        let cases = [
            ("the object's namespace", inside, namespaces("a"), WriteErrorKind::NamespaceMissing),
            ("another namespace", inside, namespaces("b"), WriteErrorKind::NotFound),
            ("the object", inside, json!({ "name": "a", "kind": "secrets" }), WriteErrorKind::NotFound),
            ("its kind", inside, Value::Null, WriteErrorKind::NotFound),
            ("a namespace that is the object", ("v1", "Namespace", None), namespaces("a"), WriteErrorKind::NotFound),
            (
                "a custom kind's object",
                ("example.com/v1", "Namespace", Some("a")),
                json!({ "name": "a", "kind": "namespaces", "group": "example.com" }),
                WriteErrorKind::NotFound,
            ),
        ];
        for (name, (version, kind, namespace), details, expected) in cases {
            let namespace = namespace.map(str::to_owned);
            let object = ObjectRef { kind: GroupVersionKind::new(version, kind), namespace, name: "a".to_owned() };
            let call = Call { verb: crate::call::Verb::Create, object: &object };
            assert_eq!(refusal(404, "NotFound", details).into_error(&call).kind, expected, "{name}");
        }
    }

    #[test]
    fn error_has_the_servers_message_and_that_of_a_read_the_status() {
        let object =
            ObjectRef { kind: GroupVersionKind::new("v1", "Secret"), namespace: Some("a".into()), name: "b".into() };
        let call = Call { verb: crate::call::Verb::Apply, object: &object };
        let error = refusal(403, "Forbidden", Value::Null).into_error(&call);
        assert_eq!(error.to_string(), "failed to apply Secret a/b: no");
        assert_eq!(error.status, Some(403));
        let read = Call { verb: crate::call::Verb::List, object: &object };
        let error = refusal(403, "Forbidden", Value::Null).into_error(&read);
        assert_eq!(error.to_string(), "failed to list Secret a/b: no (HTTP status 403)");

        let quoted = r#" "" is invalid: patch: Invalid value: "{\"data\":{\"a\":\"c2VjcmV0\",\"b\":\"\\\\\"}}": illegal base64 data"#;
        let error = said(422, "Invalid", quoted).into_error(&call);
        assert_eq!(error.message, r#" "" is invalid: patch: Invalid value: "…": illegal base64 data"#);

        let error = Refusal::answered(502, &[b'x'; 5000]).into_error(&call);
        assert_eq!(error.message.len(), FOREIGN_TEXT);
        let error = Refusal::answered(502, b"").into_error(&call);
        assert_eq!(error.message, "HTTP status 502");
    }
}
