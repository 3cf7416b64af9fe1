//! What it means that Maestro did not do what it was asked.
//!
//! In: the status of a gRPC call, or the status and document of a REST answer. Out: a [`Refusal`], whose kind says what the
//! caller can conclude. Nothing fails here.
//!
//! Over gRPC, Maestro answers nearly every failure with the code `Unknown` and the text `<what failed>: <code>: <reason>`, so
//! code and reason decide. Other texts quote what somebody wrote into a work, so nothing is searched for in the whole text.

use http::StatusCode;
use lifecycle_errors::Chain;
use lifecycle_objects::write::WriteErrorKind;
use serde_json::Value;
use tonic::{Code, Status};

/// Why Maestro did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the refusal means.
    pub kind: WriteErrorKind,
    /// The HTTP status, or for gRPC the one that means the same; `None` if the server did not answer, or was not asked.
    pub status: Option<u16>,
    /// Maestro's text, or that of the network.
    pub message: String,
}

impl Refusal {
    /// The request was not sent.
    pub(crate) fn unsent(kind: WriteErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into() }
    }

    /// No answer came, or not all of it.
    pub(crate) fn silence(message: impl Into<String>) -> Self {
        Self { kind: WriteErrorKind::Unreachable, status: None, message: message.into() }
    }

    /// An answer that need not be Maestro's own.
    pub(crate) fn foreign(status: StatusCode, what: impl std::fmt::Display) -> Self {
        Self {
            kind: WriteErrorKind::Unavailable,
            status: Some(status.as_u16()),
            message: format!("the answer is not Maestro's: {what}"),
        }
    }

    /// Of a gRPC call.
    pub(crate) fn of_grpc(status: &Status) -> Self {
        // A status that the client made of an error of its own has a source.
        if std::error::Error::source(status).is_some() {
            return Self::silence(Chain(status).to_string());
        }
        let kind = match status.code() {
            Code::Unknown => of_text(status.message()),
            Code::Unauthenticated | Code::PermissionDenied | Code::InvalidArgument => WriteErrorKind::Forbidden,
            Code::ResourceExhausted => WriteErrorKind::TooManyRequests,
            _ => WriteErrorKind::Unavailable,
        };
        let code = match (status.code(), kind) {
            // Says that the server, or a proxy before it, takes no calls.
            (Code::Unavailable, _) => StatusCode::SERVICE_UNAVAILABLE,
            (_, WriteErrorKind::AlreadyExists | WriteErrorKind::Conflict) => StatusCode::CONFLICT,
            (_, WriteErrorKind::NotFound) => StatusCode::NOT_FOUND,
            (_, WriteErrorKind::Invalid) => StatusCode::BAD_REQUEST,
            (_, WriteErrorKind::Forbidden) => StatusCode::FORBIDDEN,
            (_, WriteErrorKind::TooManyRequests) => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { kind, status: Some(code.as_u16()), message: status.message().to_owned() }
    }

    /// Of a REST answer.
    pub(crate) fn of_rest(status: StatusCode, answer: &Value) -> Self {
        let kind = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => WriteErrorKind::Forbidden,
            StatusCode::BAD_REQUEST => WriteErrorKind::Invalid,
            StatusCode::TOO_MANY_REQUESTS => WriteErrorKind::TooManyRequests,
            _ => WriteErrorKind::Unavailable,
        };
        match answer["reason"].as_str().filter(|_| answer["kind"] == "Error") {
            Some(reason) => {
                let code = answer["code"].as_str().unwrap_or("an error");
                Self { kind, status: Some(status.as_u16()), message: format!("{code}: {reason}") }
            }
            None => Self { kind, ..Self::foreign(status, format_args!("HTTP status {}", status.as_u16())) },
        }
    }
}

/// What a text of Maestro means that begins so; none of these has a code.
const BEGINNINGS: [(&str, WriteErrorKind); 5] = [
    ("failed to decode", WriteErrorKind::Invalid),
    ("failed to convert", WriteErrorKind::Invalid),
    ("failed to parse", WriteErrorKind::Invalid),
    ("unsupported action", WriteErrorKind::Invalid),
    ("unauthorized to", WriteErrorKind::Forbidden),
];

fn of_text(text: &str) -> WriteErrorKind {
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning)) {
        return *kind;
    }
    let Some((code, reason)) = code_and_reason(text) else { return WriteErrorKind::Unavailable };
    match code {
        6 if reason.ends_with("already exists") => WriteErrorKind::AlreadyExists,
        6 => WriteErrorKind::Conflict,
        7 => WriteErrorKind::NotFound,
        // The database's text: no consumer has this name.
        9 if is_unknown_consumer(reason) => WriteErrorKind::NotFound,
        8 | 17 | 21 => WriteErrorKind::Invalid,
        1 | 4 | 11 | 15 => WriteErrorKind::Forbidden,
        _ => WriteErrorKind::Unavailable,
    }
}

/// Reads a text such as `failed to create resource: maestro-6: This Resource already exists`.
fn code_and_reason(text: &str) -> Option<(u16, &str)> {
    let (_, rest) = text.split_once(": maestro-")?;
    let (code, reason) = rest.split_once(": ")?;
    Some((code.parse().ok()?, reason.trim_end()))
}

/// Whether this is the text of the database for a work of a consumer that nobody registered.
pub(crate) fn is_unknown_consumer(text: &str) -> bool {
    text.contains("fk_resources_consumers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_maestro_decides_what_a_refusal_means() {
        let cases = [
            ("failed to create resource: maestro-6: This Resource already exists", WriteErrorKind::AlreadyExists, 409),
            (
                "failed to create resource: maestro-9: Unable to create Resource: … violates foreign key constraint \
                 \"fk_resources_consumers\"",
                WriteErrorKind::NotFound,
                404,
            ),
            (
                "failed to update resource: maestro-6: the resource version is not the latest, the latest version: 4",
                WriteErrorKind::Conflict,
                409,
            ),
            (
                "failed to update resource: maestro-6: the resource is under deletion, id: x",
                WriteErrorKind::Conflict,
                409,
            ),
            ("failed to get resource: maestro-7: Resource with id='x' not found", WriteErrorKind::NotFound, 404),
            (
                "failed to create resource: maestro-8: the manifest bundle in the resource is invalid, …",
                WriteErrorKind::Invalid,
                400,
            ),
            (
                "failed to create resource: maestro-8: the manifest named `: maestro-6: x already exists` is invalid",
                WriteErrorKind::Invalid,
                400,
            ),
            ("failed to decode cloudevent: failed to get resourceid extension: …", WriteErrorKind::Invalid, 400),
            ("unauthorized to publish the event from source s", WriteErrorKind::Forbidden, 403),
            ("failed to update resource: maestro-26: advisory lock", WriteErrorKind::Unavailable, 500),
            ("something else", WriteErrorKind::Unavailable, 500),
        ];
        for (text, kind, status) in cases {
            let refusal = Refusal::of_grpc(&Status::unknown(text));
            assert_eq!((refusal.kind, refusal.status), (kind, Some(status)), "{text}");
        }
        let refusal = Refusal::of_grpc(&Status::unauthenticated("no certificate"));
        assert_eq!((refusal.kind, refusal.status), (WriteErrorKind::Forbidden, Some(403)));
        let refusal = Refusal::of_grpc(&Status::unavailable("draining"));
        assert_eq!((refusal.kind, refusal.status), (WriteErrorKind::Unavailable, Some(503)));
    }
}
