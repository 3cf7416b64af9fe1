//! Parses the API's errors: problem documents (RFC 9457) with a code of the API.
//!
//! In: the body of an answer. Out: the document, its code alone, or `None` if the body is something else.
//! Pure. [`lookup`](crate::lookup) decides whether to trust a document.

use serde::Deserialize;

/// The media type of problem documents.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// The API's error codes, as a closed set. A code is `HYPERFLEET-` and the part that each variant names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Code {
    /// `VAL-…`: the request is invalid.
    Validation,
    /// `AUT-…`: the request has no valid token.
    Authentication,
    /// `AUZ-001`: the caller lacks the permission.
    Permission,
    /// `NTF-000`: the API does not serve this URL, so the code proves nothing about a resource.
    UnknownEndpoint,
    /// `NTF-001`: the API serves this URL, and the resource does not exist.
    ResourceNotFound,
    /// `CNF-001`: another resource has the name.
    AlreadyExists,
    /// `CNF-003`: the resource's state does not allow the request.
    Conflict,
    /// `LMT-001`: the client has sent too many requests.
    RateLimit,
    /// `INT-…`: an internal error of the API.
    Internal,
    /// `SVC-…`: the API cannot reach its database.
    Unavailable,
    /// A code that this client does not know.
    Other(String),
}

impl From<String> for Code {
    fn from(code: String) -> Self {
        match code.strip_prefix("HYPERFLEET-") {
            Some("NTF-000") => Self::UnknownEndpoint,
            Some("NTF-001") => Self::ResourceNotFound,
            Some("AUZ-001") => Self::Permission,
            Some("CNF-001") => Self::AlreadyExists,
            Some("CNF-003") => Self::Conflict,
            Some("LMT-001") => Self::RateLimit,
            Some(own) => match own.get(..4) {
                Some("VAL-") => Self::Validation,
                Some("AUT-") => Self::Authentication,
                Some("INT-") => Self::Internal,
                Some("SVC-") => Self::Unavailable,
                Some(_) | None => Self::Other(code),
            },
            None => Self::Other(code),
        }
    }
}

impl Code {
    /// Reads the member `code` of a JSON body, which may lack the other members of a problem document.
    #[must_use]
    pub fn of(body: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Coded {
            code: Code,
        }
        serde_json::from_str(body).ok().map(|Coded { code }| code)
    }
}

/// A problem document of the API.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Problem {
    /// The API's own code of the error, such as `CNF-001`.
    pub code: Code,
    /// The HTTP status, repeated in the document.
    pub status: u16,
    /// The path of the request.
    pub instance: String,
    /// A short description of the problem.
    #[serde(default)]
    pub title: String,
    /// The cause in this request. An internal error may quote the database's message.
    #[serde(default)]
    pub detail: String,
    /// The id of the request in the API's logs.
    #[serde(default)]
    pub trace_id: String,
    /// The invalid members of the request.
    #[serde(default)]
    pub errors: Vec<InvalidField>,
}

/// An invalid member of a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InvalidField {
    /// The path of the member.
    pub field: String,
    /// Why the member is invalid.
    pub message: String,
}

impl Problem {
    /// Parses a body; `None` if it is not a problem document of the API.
    #[must_use]
    pub fn parse(body: &str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn code_is_parsed_by_prefix_or_number() {
        let cases = [
            ("HYPERFLEET-VAL-000", Code::Validation),
            ("HYPERFLEET-VAL-006", Code::Validation),
            ("HYPERFLEET-AUT-002", Code::Authentication),
            ("HYPERFLEET-AUZ-001", Code::Permission),
            ("HYPERFLEET-NTF-000", Code::UnknownEndpoint),
            ("HYPERFLEET-NTF-001", Code::ResourceNotFound),
            ("HYPERFLEET-CNF-001", Code::AlreadyExists),
            ("HYPERFLEET-CNF-003", Code::Conflict),
            ("HYPERFLEET-LMT-001", Code::RateLimit),
            ("HYPERFLEET-INT-003", Code::Internal),
            ("HYPERFLEET-SVC-001", Code::Unavailable),
            ("HYPERFLEET-NTF-002", Code::Other("HYPERFLEET-NTF-002".to_owned())),
            ("HYPERFLEET-NTF-0011", Code::Other("HYPERFLEET-NTF-0011".to_owned())),
            ("NTF-001", Code::Other("NTF-001".to_owned())),
            ("HYPERFLEET-äää", Code::Other("HYPERFLEET-äää".to_owned())),
            ("", Code::Other(String::new())),
        ];
        for (text, expected) in cases {
            assert_eq!(Code::from(text.to_owned()), expected, "{text}");
        }
    }

    #[test]
    fn code_is_read_from_incomplete_documents() {
        let cases = [
            (r#"{"code":"HYPERFLEET-NTF-000"}"#, Some(Code::UnknownEndpoint)),
            (r#"{"status":"404","code":"HYPERFLEET-NTF-000"}"#, Some(Code::UnknownEndpoint)),
            (r#"{"code":404}"#, None),
            (r#"{"detail":"gone"}"#, None),
            ("[]", None),
            ("<html>", None),
            ("", None),
        ];
        for (body, expected) in cases {
            assert_eq!(Code::of(body), expected, "{body}");
        }
    }

    #[test]
    fn problem_document_of_an_invalid_request_is_parsed() {
        let body = r#"{
            "type": "https://api.hyperfleet.io/errors/validation-error", "title": "Validation failed", "status": 400,
            "detail": "spec is required", "instance": "/api/hyperfleet/v1/clusters", "code": "HYPERFLEET-VAL-001",
            "timestamp": "2026-03-01T12:00:00Z", "trace_id": "t-1",
            "errors": [{"field": "spec", "constraint": "required", "message": "is required"}]
        }"#;
        let problem = Problem::parse(body).unwrap();
        assert_eq!((problem.code, problem.status, problem.trace_id.as_str()), (Code::Validation, 400, "t-1"));
        assert_eq!(problem.errors, [InvalidField { field: "spec".to_owned(), message: "is required".to_owned() }]);
        assert_eq!(Problem::parse(&body[..body.len() - 2]), None, "a truncated document");
    }
}
