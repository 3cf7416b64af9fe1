//! What a refused request is to the person who deploys: a category, and a cure.
//!
//! In: the error of a request. Out: a [`DeployError`]. Fails never. The status decides, and the kind where there is none.

use lifecycle_objects::write::{WriteError, WriteErrorKind};
use promptkit_deploy::error::{Category, DeployError};

/// The error of a request as an error of the protocol.
#[must_use]
pub fn deploy_error(operation: &'static str, error: &WriteError) -> DeployError {
    let category = category(error);
    DeployError::new(category, operation, error.message.clone()).hint(hint(category))
}

fn category(error: &WriteError) -> Category {
    match error.status {
        Some(401 | 403) => Category::Permission,
        Some(404) => Category::NotFound,
        Some(409) => Category::Conflict,
        Some(422) => Category::Configuration,
        Some(status) if status >= 500 => Category::Network,
        Some(_) => Category::Resource,
        None => match error.kind {
            WriteErrorKind::Forbidden => Category::Permission,
            WriteErrorKind::NotFound | WriteErrorKind::NamespaceMissing => Category::NotFound,
            WriteErrorKind::AlreadyExists | WriteErrorKind::Conflict => Category::Conflict,
            WriteErrorKind::Invalid => Category::Configuration,
            WriteErrorKind::Unavailable | WriteErrorKind::Unreachable => Category::Network,
            WriteErrorKind::DeadlineExceeded => Category::Timeout,
            WriteErrorKind::Denied
            | WriteErrorKind::NamespaceTerminating
            | WriteErrorKind::Expired
            | WriteErrorKind::TooManyRequests => Category::Resource,
        },
    }
}

fn hint(category: Category) -> &'static str {
    match category {
        Category::Permission => "check what the token may do in the workspace",
        Category::NotFound => "check the workspace, and the names that the object refers to",
        Category::Conflict => "it exists already or was changed meanwhile: run the command again",
        Category::Configuration => "check the values of the deploy config and of the pack",
        Category::Network => "check api_endpoint and the connection, and run the command again",
        Category::Timeout => "it may still become ready: look at its status, or run the command again",
        Category::Resource => "",
    }
}

/// Whether the same request may succeed later: nothing is known of the object.
#[must_use]
pub fn is_passing(error: &WriteError) -> bool {
    match error.kind {
        WriteErrorKind::TooManyRequests
        | WriteErrorKind::Unavailable
        | WriteErrorKind::Unreachable
        | WriteErrorKind::DeadlineExceeded => true,
        WriteErrorKind::NotFound
        | WriteErrorKind::NamespaceMissing
        | WriteErrorKind::Expired
        | WriteErrorKind::AlreadyExists
        | WriteErrorKind::Conflict
        | WriteErrorKind::Invalid
        | WriteErrorKind::Denied
        | WriteErrorKind::NamespaceTerminating
        | WriteErrorKind::Forbidden => false,
    }
}
