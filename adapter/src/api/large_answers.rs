//! Bounds the memory that the answers of API calls take: only one pass at a time keeps large ones.
//!
//! In: the size of each answer, as the pass receives it. Out: the permission to keep it, at once for small answers. A
//! pass whose answers are large in all waits until it is the one, and stays so until it ends. No pass waits for a
//! second permit, so that no two passes wait for each other. Fails: not at all; the caller limits the wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lifecycle_language::value::bounded::values;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// What the answers of a pass may take in memory, in bytes, before the pass counts as large. About 256 KiB of ordinary
/// JSON: each of the parallel passes may have that much.
const SMALL: usize = 1024 * 1024;
/// What one parsed value takes beside its text, in bytes: less for numbers, more for members of mappings.
const VALUE: usize = 64;

/// The room for large answers, which all passes share.
#[derive(Debug, Clone)]
pub(super) struct Room(Arc<Semaphore>);

/// What one pass keeps.
#[derive(Debug, Default)]
pub struct Kept {
    bytes: AtomicUsize,
    /// The permit to keep large answers, which ends with the pass.
    large: OnceCell<OwnedSemaphorePermit>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Waits until the pass may keep this answer beside the earlier ones.
    pub(super) async fn keep(&self, kept: &Kept, body: &str) {
        let size = body.len() + VALUE * values(body.as_bytes());
        if kept.bytes.fetch_add(size, Ordering::Relaxed) + size > SMALL {
            self.keep_large(kept).await;
        }
    }

    /// Waits until the pass may keep large answers.
    pub(super) async fn keep_large(&self, kept: &Kept) {
        let permit = async {
            if self.0.available_permits() == 0 {
                tracing::info!("waits for another pass, which keeps large answers of the API");
            }
            Arc::clone(&self.0).acquire_owned().await
        };
        // The semaphore is never closed, so it always gives a permit.
        let _ = kept.large.get_or_try_init(|| permit).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn one_pass_at_a_time_keeps_large_answers() {
        let room = Room::new();
        let keep = |kept: &Kept, body: &str| room.keep(kept, body).now_or_never().is_some();
        let numbers = format!("[{}1]", "1,".repeat(10_000));
        let [first, second, third] = [Kept::default(), Kept::default(), Kept::default()];
        assert!(keep(&first, &numbers), "small answers need no permit");
        assert!(keep(&second, &numbers));
        assert!(keep(&first, &numbers), "two make this pass the large one");
        assert!(!keep(&second, &numbers), "which the other one waits for");
        assert!(keep(&first, &numbers), "a large pass never waits again");
        assert!(keep(&third, "{}"));
        assert!(room.keep_large(&third).now_or_never().is_none());
        drop(first);
        assert!(room.keep_large(&third).now_or_never().is_some());
        assert!(!keep(&second, &numbers));
        drop(third);
        assert!(keep(&second, "1"), "what it kept before still counts");
    }
}
