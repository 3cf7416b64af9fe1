//! Which of the objects that were found stay whole in memory.
//!
//! In: what a read has found so far. Out: the same objects, of which all but a few are [condensed](Version::condense). It cannot
//! know which one will be current, as only the rendered manifest tells; so it keeps those that nearly always are, and a plan
//! that needs another whole asks for it by name.

use std::cmp::Ordering;

use super::Version;

/// How many objects of each sort stay whole: far more than a resource without history has, and few enough to hold.
pub const KEPT_WHOLE: usize = 8;

/// Condenses all but `kept` objects of each sort: the newest of the highest generation, the newest, the newest on their way out,
/// and those of the highest generation whose names come first.
///
/// It can be asked again with more objects at the end: what it let go of before, it would let go of then.
pub fn condense(versions: &mut [Version], kept: usize) {
    let mut whole: Vec<usize> = (0..versions.len()).filter(|&place| versions[place].is_whole()).collect();
    if whole.len() <= kept {
        return;
    }
    let mut keeps = vec![false; versions.len()];
    for order in [newest_of_the_highest_generation, newest_standing, newest_leaving, first_of_the_highest_generation] {
        whole.sort_by(|&a, &b| order(&versions[a], &versions[b]));
        whole.iter().take(kept).for_each(|&place| keeps[place] = true);
    }
    for place in whole.into_iter().filter(|&place| !keeps[place]) {
        versions[place].condense();
    }
}

fn newest(a: &Version, b: &Version) -> Ordering {
    (b.created_at(), b.name()).cmp(&(a.created_at(), a.name()))
}

fn newest_of_the_highest_generation(a: &Version, b: &Version) -> Ordering {
    let standing = a.is_terminating().cmp(&b.is_terminating());
    standing.then_with(|| b.generation().cmp(&a.generation())).then_with(|| newest(a, b))
}

fn newest_standing(a: &Version, b: &Version) -> Ordering {
    a.is_terminating().cmp(&b.is_terminating()).then_with(|| newest(a, b))
}

fn newest_leaving(a: &Version, b: &Version) -> Ordering {
    b.is_terminating().cmp(&a.is_terminating()).then_with(|| newest(a, b))
}

/// What is shown where nothing belongs to the resource.
fn first_of_the_highest_generation(a: &Version, b: &Version) -> Ordering {
    b.generation().cmp(&a.generation()).then_with(|| a.name().cmp(b.name()))
}

#[cfg(test)]
mod tests;
