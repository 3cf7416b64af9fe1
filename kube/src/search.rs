//! Reads every object that an [`Inspection`] covers.
//!
//! In: the inspection, and a function that looks at each object. Out: the first thing that it found. Fails: if a group or a kind
//! that could hold such an object cannot be read, because an unread object may exist.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::form::Form;
use crate::kinds::UnreadGroup;
use crate::selector::Selector;
use crate::served_kind::ServedKind;

/// How many lists of one search are read concurrently. A search of a namespace lists some 60 kinds: 16 at a time hide the round
/// trips, and leave the API server's fair queuing room for others.
const AT_ONCE: usize = 16;

/// Objects per page. One object of others is enough, and members come in the same lists.
const PAGE_SIZE: u32 = 250;

fn failed(inspection: &Inspection, error: WriteError, cure: &str) -> WriteError {
    WriteError { call: inspection.to_string(), message: format!("{error}{cure}"), ..error }
}

impl Cluster {
    /// Passes the metadata of each object that the inspection covers to `look`, until that returns something.
    ///
    /// Discovers the kinds, and lists those that matter, several at the same time.
    ///
    /// # Errors
    ///
    /// It is unknown whether there is such an object: a group, or a list, could not be read.
    pub async fn search<T: Send>(
        &self,
        inspection: &Inspection,
        look: impl Fn(&Value) -> Option<T> + Sync,
    ) -> Result<Option<T>, WriteError> {
        let discovery = match inspection.only_group() {
            Some(group) => self.discover_group(group).await,
            None => self.discover().await,
        };
        let discovery = discovery.map_err(|error| failed(inspection, error, ""))?;
        let could_hide = |unread: &&UnreadGroup| inspection.could_cover(&unread.group);
        if let Some(unread) = discovery.unread.iter().find(could_hide) {
            return Err(failed(inspection, unread.error.clone(), unread.cure()));
        }
        let is_covered = |served: &&ServedKind| {
            let is_placed = served.namespaced || inspection.namespace().is_none();
            let kind = GroupKind::new(&served.kind.group, &served.kind.kind);
            is_placed && served.has_verbs(&["list"]) && inspection.covers(&kind)
        };
        // Collected, because the compiler cannot prove that a future with the closure in it is `Send`. None starts yet.
        let covered = discovery.kinds.iter().filter(is_covered);
        let lists: Vec<_> = covered.map(|served| self.look_through(served, inspection, &look)).collect();
        let mut lists = stream::iter(lists).buffered(AT_ONCE);
        while let Some(found) = lists.try_next().await? {
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    async fn look_through<T>(
        &self,
        served: &ServedKind,
        inspection: &Inspection,
        look: &(impl Fn(&Value) -> Option<T> + Sync),
    ) -> Result<Option<T>, WriteError> {
        self.look_at_each(served, inspection.namespace(), look).await.map_err(|error| {
            let is_forbidden = error.kind == WriteErrorKind::Forbidden;
            let cure = format!("; allow to list {} of API group `{}`", served.plural, served.kind.group);
            failed(inspection, error, if is_forbidden { &cure } else { "" })
        })
    }

    async fn look_at_each<T>(
        &self,
        served: &ServedKind,
        namespace: Option<&str>,
        look: &(impl Fn(&Value) -> Option<T> + Sync),
    ) -> Result<Option<T>, WriteError> {
        let mut pages =
            self.list(&served.kind, namespace, Selector::Everything, Form::MetadataOnly)?.with_page_size(PAGE_SIZE);
        loop {
            match pages.next().await {
                Ok(Some(page)) => {
                    if let Some(found) = page.iter().find_map(look) {
                        return Ok(Some(found));
                    }
                }
                Ok(None) => return Ok(None),
                // The kind has no objects if it vanished since the discovery, and not if only its version did.
                Err(error) if error.kind == WriteErrorKind::NotFound => {
                    return self.served_version(&served.kind).await?.map_or(Ok(None), |_| Err(error));
                }
                Err(error) => return Err(error),
            }
        }
    }
}
