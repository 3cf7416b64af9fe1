//! A request that did not succeed, and what kind of refusal it is.
//!
//! Pure: the HTTP status and the server's `Status` object go in, an [`ErrorKind`] comes out. The kind is read
//! from the code, the reason and the fields, never from the text.

use kube::core::Status;
use lifecycle_core::object_ref::ObjectRef;

use crate::call::Call;
use crate::error::{Error, ErrorKind};

/// How much of an answer that is no `Status` object is kept: enough to recognise a proxy's page.
const FOREIGN_TEXT: usize = 300;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server said no.
    Answered(Box<Status>),
    /// No answer came, or one that broke off or cannot be read. The request may have been carried out.
    Lost { status: Option<u16>, message: String },
    /// The answer says success, but is not what was asked for. The request may have been carried out.
    Foreign { message: String },
}

impl Refusal {
    /// Reads an answer outside of 2xx.
    pub(crate) fn answered(status: u16, body: &[u8]) -> Self {
        let said: Status = serde_json::from_slice(body).unwrap_or_else(|_| {
            let text: String = String::from_utf8_lossy(body).trim().chars().take(FOREIGN_TEXT).collect();
            Status::failure(&text, "")
        });
        Self::Answered(Box::new(said.with_code(status)))
    }

    /// Whether the server knows the path, and says that this very object is not there.
    pub(crate) fn is_missing_object(&self, object: &ObjectRef) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 404
            && status.details.as_ref().is_some_and(|details| {
                // A missing namespace is a 404 that names another kind of object.
                !object.name.is_empty()
                    && details.name == object.name
                    && (details.kind != "namespaces" || object.kind.kind == "Namespace")
            })
    }

    /// Whether the server does not know the path, so that what is remembered of the kind is no longer true.
    pub(crate) fn is_unserved_path(&self) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 404 && status.details.as_ref().is_none_or(|details| details.name.is_empty())
    }

    /// Whether a `test` of a JSON patch did not hold: the 422 that names no field.
    pub(crate) fn is_failed_test(&self) -> bool {
        let Self::Answered(status) = self else { return false };
        status.code == 422 && status.details.as_ref().is_none_or(|details| details.causes.is_empty())
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Lost { .. } => ErrorKind::Unreachable,
            Self::Foreign { .. } => ErrorKind::Unavailable,
            Self::Answered(status) => match status.code {
                404 => ErrorKind::NotFound,
                410 => ErrorKind::Expired,
                409 if status.is_already_exists() => ErrorKind::AlreadyExists,
                409 => ErrorKind::Conflict,
                422 if names_uid(status) => ErrorKind::Conflict,
                401 | 403 => ErrorKind::Forbidden,
                429 => ErrorKind::TooManyRequests,
                // A 408 is the server's failure to read in time, and a redirect is none that an API server sends.
                408 | 300..400 => ErrorKind::Unavailable,
                400..500 => ErrorKind::Invalid,
                _ => ErrorKind::Unavailable,
            },
        }
    }

    /// A word for traces: the status code, or that there was none.
    pub(crate) fn error_type(&self) -> String {
        match self {
            Self::Answered(status) => status.code.to_string(),
            Self::Lost { .. } => "unreachable".to_owned(),
            Self::Foreign { .. } => "foreign_answer".to_owned(),
        }
    }

    pub(crate) fn into_error(self, call: &Call<'_>) -> Error {
        let kind = self.kind();
        match self {
            Self::Answered(status) => {
                let message =
                    if status.message.is_empty() { format!("HTTP status {}", status.code) } else { status.message };
                call.error(kind, Some(status.code), message)
            }
            Self::Lost { status, message } => call.error(kind, status, message),
            Self::Foreign { message } => call.error(kind, Some(200), message),
        }
    }
}

/// The server reports another UID as an attempt to change an immutable field.
fn names_uid(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.causes.iter().any(|cause| cause.field == "metadata.uid"))
}

#[cfg(test)]
mod tests {
    use lifecycle_core::id::GroupVersionKind;
    use serde_json::{Value, json};

    use super::*;

    fn refusal(code: u16, reason: &str, details: Value) -> Refusal {
        let body = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "no",
                           "details": details });
        Refusal::answered(code, body.to_string().as_bytes())
    }

    fn cause(field: &str) -> Value {
        json!({ "causes": [{ "reason": "FieldValueInvalid", "message": "field is immutable", "field": field }] })
    }

    #[test]
    fn every_answer_has_its_kind() {
        use ErrorKind as Kind;
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
            ("no credentials", refusal(401, "Unauthorized", Value::Null), Kind::Forbidden),
            ("no permission", refusal(403, "Forbidden", Value::Null), Kind::Forbidden),
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
    fn only_the_servers_word_about_this_object_is_an_absence() {
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
    fn a_status_keeps_the_servers_words_and_a_foreign_page_its_beginning() {
        let object =
            ObjectRef { kind: GroupVersionKind::new("v1", "Secret"), namespace: Some("a".into()), name: "b".into() };
        let call = Call { verb: crate::call::Verb::Apply, object: &object };
        let error = refusal(403, "Forbidden", Value::Null).into_error(&call);
        assert_eq!(error.to_string(), "failed to apply Secret a/b: no");
        assert_eq!(error.status, Some(403));

        let error = Refusal::answered(502, &[b'x'; 5000]).into_error(&call);
        assert_eq!(error.message.len(), FOREIGN_TEXT);
        let error = Refusal::answered(502, b"").into_error(&call);
        assert_eq!(error.message, "HTTP status 502");
    }
}
