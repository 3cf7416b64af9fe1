//! Who sends a request, and whether the user may.
//!
//! Only authentication fails with codes of its own; what it cannot decide, and every missing right, is `Unknown`.

use tonic::{Request, Status};

use super::connection;
use crate::options::{Authentication, Grant};
use crate::refusal::Refusal;

/// Decides on requests.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    /// `None` without TLS: nobody is asked.
    pub(crate) authentication: Option<Authentication>,
    pub(crate) grants: Option<Vec<Grant>>,
}

/// A user and the user's groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    name: String,
    groups: Vec<String>,
}

impl Gate {
    /// The user of a request; `None` if everybody may do everything.
    pub(crate) fn authenticate<T>(&self, request: &Request<T>) -> Result<Option<User>, Status> {
        match &self.authentication {
            None | Some(Authentication::Mock) => Ok(None),
            Some(Authentication::Mtls) => {
                let subject =
                    connection(request).subject.ok_or_else(|| Status::unauthenticated("no verified certificate"))?;
                if subject.common_name.is_empty() || subject.organizations.is_empty() {
                    return Err(Status::unauthenticated("the certificate names no user or no groups"));
                }
                Ok(Some(User { name: subject.common_name, groups: subject.organizations }))
            }
            Some(Authentication::Tokens(users)) => {
                if request.metadata().is_empty() {
                    return Err(Status::invalid_argument("missing metadata"));
                }
                let header = request.metadata().get("authorization").and_then(|header| header.to_str().ok());
                let token = header.and_then(|header| header.strip_prefix("Bearer "));
                let token = token.ok_or_else(|| Status::unauthenticated("invalid token"))?;
                let user = users.get(token).ok_or_else(|| Status::unknown("the token is not valid"))?;
                Ok(Some(User { name: user.clone(), groups: Vec::new() }))
            }
        }
    }

    /// Checks the right to publish as a source.
    pub(crate) fn authorize_publish(&self, user: Option<&User>, source: &str) -> Result<(), Refusal> {
        self.authorize(user, source, |grant| grant.publish, Refusal::Publish)
    }

    /// Checks the right to subscribe to a source.
    pub(crate) fn authorize_subscribe(&self, user: Option<&User>, source: &str) -> Result<(), Refusal> {
        self.authorize(user, source, |grant| grant.subscribe, Refusal::Subscribe)
    }

    fn authorize(
        &self,
        user: Option<&User>,
        source: &str,
        verb: impl Fn(&Grant) -> bool,
        refusal: impl Fn(String) -> Refusal,
    ) -> Result<(), Refusal> {
        let (Some(user), Some(grants)) = (user, &self.grants) else { return Ok(()) };
        if source.is_empty() {
            return Err(Refusal::NoSource);
        }
        let is_for = |grant: &Grant| grant.subject == user.name || user.groups.contains(&grant.subject);
        let is_granted = grants.iter().any(|grant| grant.source == source && is_for(grant) && verb(grant));
        is_granted.then_some(()).ok_or_else(|| refusal(source.to_owned()))
    }
}
