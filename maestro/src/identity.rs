//! The id of a `ManifestWork`, which clients choose.
//!
//! In: the source, the consumer and the work's name. Out: a UUID of version 5, the same as the Go client's, so that an
//! adapter with the Go adapter's `source_id` finds the Go adapter's works. And the UID that the work is shown with, which
//! is another one after the work was created again.

use uuid::Uuid;

/// The id of a work.
#[must_use]
pub fn resource_id(source: &str, consumer: &str, name: &str) -> Uuid {
    let text = format!("{source}-manifestworks.work.open-cluster-management.io-{consumer}-{name}");
    Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes())
}

/// The UID of one life of a work: its id, and when it was created.
///
/// A work that is created again has the same id and begins at the same version, so only the time of its creation tells it
/// from the one before.
#[must_use]
pub fn uid(id: &str, created_at: &str) -> String {
    format!("{id}@{created_at}")
}

/// The id of the work with this UID.
#[must_use]
pub fn id_of(uid: &str) -> &str {
    uid.rsplit_once('@').map_or(uid, |(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_that_of_the_go_client() {
        let consumer = "7ff1a8f4-8811-49b4-8c19-9271bc51975e";
        let id = resource_id("mw-client-example", consumer, "e44ec579-9646-549a-b679-db8d19d6da37");
        assert_eq!(id.to_string(), "55c61e54-a3f6-563d-9fec-b1fe297bdfdb");
    }

    #[test]
    fn uid_tells_the_id() {
        assert_eq!(id_of(&uid("a@b", "2026-01-02T03:04:05Z")), "a@b");
    }
}
