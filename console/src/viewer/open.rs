//! Which readers have pages open that are brought up to date.
//!
//! In: a [`Viewer`] who opens one more. Out: an [`OpenPage`], which counts until it is dropped. Refused, with none: where all readers
//! together, or this one, have too many; so one reader leaves room for the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Viewer;

/// The most open pages of all readers.
pub const MOST: usize = 200;
/// The most open pages of one reader. Readers who share a token behind one proxy count as one.
const MOST_OF_ONE: usize = 100;

/// The open pages, by reader.
#[derive(Debug, Clone, Default)]
pub struct OpenPages(Arc<Mutex<HashMap<Viewer, usize>>>);

/// One open page.
#[derive(Debug)]
pub struct OpenPage {
    viewer: Viewer,
    pages: OpenPages,
}

impl OpenPages {
    /// Counts one more page of this reader.
    #[must_use]
    pub fn open(&self, viewer: Viewer) -> Option<OpenPage> {
        let mut pages = self.lock();
        let (all, own) = (pages.values().sum::<usize>(), pages.get(&viewer).copied().unwrap_or_default());
        if all >= MOST || own >= MOST_OF_ONE {
            return None;
        }
        pages.insert(viewer.clone(), own + 1);
        Some(OpenPage { viewer, pages: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Viewer, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let mut pages = self.pages.lock();
        match pages.get_mut(&self.viewer) {
            Some(own) if *own > 1 => *own -= 1,
            Some(_) | None => drop(pages.remove(&self.viewer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_leaves_room_for_others_and_gets_his_own_back() {
        let pages = OpenPages::default();
        let named = |name: &str| Viewer::Named(name.to_owned());
        let mut anns: Vec<_> = (0..MOST).map_while(|_| pages.open(named("ann"))).collect();
        assert_eq!(anns.len(), MOST_OF_ONE);
        let bobs: Vec<_> = (0..MOST).map_while(|_| pages.open(named("bob"))).collect();
        assert_eq!(bobs.len(), MOST - MOST_OF_ONE);
        assert!(pages.open(named("cid")).is_none(), "all are open");
        drop(anns.pop());
        let cids = pages.open(named("cid"));
        assert!(cids.is_some() && pages.open(named("ann")).is_none());
        drop((anns, bobs, cids));
        assert!(pages.lock().is_empty(), "nothing is kept of readers who have gone");
    }
}
