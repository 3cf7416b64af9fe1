//! Works of all sources and all consumers.
//!
//! In: a label; or consumer and name of a work, and its fence. Out: the works as Maestro stored them; deletions. Fails with
//! core's [`WriteError`] if it is unknown what there is, or if the work is another one by now.
//!
//! Maestro does not show a work's source, and the id of a work depends on it, so a work is found by its place. Two sources can
//! each have a work of one name for one consumer: the UID tells them apart.

use lifecycle_objects::write::{Deletion, Target, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::client::Maestro;
use crate::fence::fence;
use crate::place::Place;
use crate::search::Search;

impl Maestro {
    /// Passes every work that has this label, with any value but an empty one, to `each`; holds one page at a time.
    ///
    /// # Errors
    /// A page could not be read. `each` may have seen works of earlier pages.
    pub async fn labelled(&self, label: &str, each: &mut (dyn FnMut(Value) + Send)) -> Result<(), WriteError> {
        let place = Place { verb: "list", consumer: "", name: "" };
        let search = Search { present: Some(label), ..Search::default() };
        self.search(place, &search, each).await
    }

    /// Reads the works of this consumer that have this name, one of each source.
    ///
    /// # Errors
    /// It is unknown which works there are.
    pub async fn named(&self, consumer: &str, name: &str) -> Result<Vec<Value>, WriteError> {
        self.namesakes(Place { verb: "get", consumer, name }).await
    }

    /// Deletes exactly the work that `target` names, whatever its source, in the version that it names.
    ///
    /// # Errors
    /// [`Conflict`](WriteErrorKind::Conflict) if the work is not the one that was read.
    pub async fn delete_of_any_source(&self, consumer: &str, target: &Target) -> Result<Deletion, WriteError> {
        let place = Place { verb: "delete", consumer, name: &target.name };
        let namesakes = self.namesakes(place).await?;
        if namesakes.is_empty() {
            return Ok(Deletion::Gone);
        }
        let Some(live) = namesakes.into_iter().find(|work| work["metadata"]["uid"] == target.uid) else {
            return Err(place.error(WriteErrorKind::Conflict, "another work has its name by now"));
        };
        if !live["metadata"]["deletionTimestamp"].is_null() {
            return Ok(Deletion::Pending(live));
        }
        let version = fence(place, target, &live)?;
        self.publish_deletion(place, version, live).await
    }

    async fn namesakes(&self, place: Place<'_>) -> Result<Vec<Value>, WriteError> {
        let search = Search { consumer: Some(place.consumer), name: Some(place.name), ..Search::default() };
        let mut works = Vec::new();
        let each = &mut |work: Value| {
            if work["metadata"]["namespace"] == place.consumer && work["metadata"]["name"] == place.name {
                works.push(work);
            }
        };
        self.search(place, &search, each).await?;
        Ok(works)
    }
}
