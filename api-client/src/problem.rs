//! The API's errors: problem documents (RFC 9457) with a code of the API.
//!
//! In: the body of an answer. Out: the document, or only its code, or nothing where the body is something else. Whether an
//! answer can be believed is decided in [`lookup`](crate::lookup), not here.

use serde::Deserialize;

/// The media type of problem documents.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What the API says went wrong: the part of its codes after `HYPERFLEET-`, as a closed set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Code {
    /// `VAL-…`: the request is not valid.
    Validation,
    /// `AUT-…`: there is no valid token.
    Authentication,
    /// `AUZ-001`: the caller may not do this.
    Permission,
    /// `NTF-000`: the API serves no such URL. The caller's mistake; it says nothing about any resource.
    UnknownEndpoint,
    /// `NTF-001`: the URL is right, and the resource does not exist.
    ResourceNotFound,
    /// `CNF-001`: another resource has that name.
    AlreadyExists,
    /// `CNF-003`: the resource is in no state for this.
    Conflict,
    /// `LMT-001`: too many requests.
    RateLimit,
    /// `INT-…`: the API failed.
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
    /// The code of a body, whatever else the body holds.
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
    /// Which problem it is.
    pub code: Code,
    /// The HTTP status, once more.
    pub status: u16,
    /// The path that was asked for.
    pub instance: String,
    /// The problem in a few words.
    #[serde(default)]
    pub title: String,
    /// What happened this time. Of a failing API it holds text of the database.
    #[serde(default)]
    pub detail: String,
    /// The request's id in the API's logs.
    #[serde(default)]
    pub trace_id: String,
    /// The members of the request that are not valid.
    #[serde(default)]
    pub errors: Vec<InvalidField>,
}

/// A member of a request that the API refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InvalidField {
    /// Its path.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

impl Problem {
    /// Reads a body; none if it is no problem document of the API.
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
    fn codes_are_told_apart() {
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
    fn a_code_is_found_whatever_stands_beside_it() {
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
    fn reads_the_document_of_a_refused_request() {
        let body = r#"{
            "type": "https://api.hyperfleet.io/errors/validation-error", "title": "Validation failed", "status": 400,
            "detail": "spec is required", "instance": "/api/hyperfleet/v1/clusters", "code": "HYPERFLEET-VAL-001",
            "timestamp": "2026-03-01T12:00:00Z", "trace_id": "t-1",
            "errors": [{"field": "spec", "constraint": "required", "message": "is required"}]
        }"#;
        let problem = Problem::parse(body).unwrap();
        assert_eq!((problem.code, problem.status, problem.trace_id.as_str()), (Code::Validation, 400, "t-1"));
        assert_eq!(problem.errors, [InvalidField { field: "spec".to_owned(), message: "is required".to_owned() }]);
        assert_eq!(Problem::parse(&body[..body.len() - 2]), None, "a document that breaks off");
    }
}
