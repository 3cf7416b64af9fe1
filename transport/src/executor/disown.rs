//! Disowns objects: removes the adapter's stamp, from former versions first.
//!
//! The current version comes last, and only if all others succeeded: its remaining stamp makes the next event
//! find it and continue.

use futures::StreamExt;
use futures::stream;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{Disowning, Executed};

use super::{CONCURRENT_WRITES, Executor};
use crate::Transport;

impl<T: Transport> Executor<'_, T> {
    pub(super) async fn disown(&self, former: Vec<Disowning>, last: Disowning) -> Executed {
        let (mut disowned, mut failures) = (Vec::new(), Vec::new());
        let mut answers = stream::iter(former)
            .map(|one| async move {
                let answer = self.patch_one(&one.target, &one.patch).await;
                (one.target, answer)
            })
            .buffered(CONCURRENT_WRITES);
        while let Some((target, answer)) = answers.next().await {
            match answer {
                Ok(object) => disowned.extend(object.map(Version::new)),
                Err(error) => failures.push((target, error)),
            }
        }
        if failures.is_empty() {
            match self.patch_one(&last.target, &last.patch).await {
                Ok(object) => disowned.extend(object.map(Version::new)),
                Err(error) => failures.push((last.target, error)),
            }
        }
        if failures.is_empty() { Executed::Disowned(disowned) } else { Executed::DisownFailed { failures } }
    }
}
