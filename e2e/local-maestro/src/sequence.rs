//! Sequence ids, by which an agent orders its reports: 41 bits of milliseconds, 10 of the node, 12 of a counter.

use std::cmp::Ordering;

use jiff::Timestamp;

/// When the count of milliseconds begins.
const EPOCH: i64 = 1_288_834_974_657;
/// The node of every agent.
const AGENT: i64 = 1;
const STEP_BITS: u32 = 12;
const NODE_BITS: u32 = 10;

/// Makes sequence ids that only grow.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    last: i64,
}

impl Sequence {
    pub(crate) fn next(&mut self, now: Timestamp) -> String {
        let first = |milliseconds: i64| (milliseconds << (NODE_BITS + STEP_BITS)) | (AGENT << STEP_BITS);
        let now = first((now.as_millisecond() - EPOCH).max(0));
        let is_same = self.last >> (NODE_BITS + STEP_BITS) >= now >> (NODE_BITS + STEP_BITS);
        let is_full = self.last & ((1 << STEP_BITS) - 1) == (1 << STEP_BITS) - 1;
        self.last = match (is_same, is_full) {
            (false, _) => now,
            (true, false) => self.last + 1,
            (true, true) => first((self.last >> (NODE_BITS + STEP_BITS)) + 1),
        };
        self.last.to_string()
    }
}

/// Compares two ids; `None` if they come from different nodes, or one is no id.
pub(crate) fn compare(left: &str, right: &str) -> Option<Ordering> {
    let (left, right): (i64, i64) = (left.parse().ok()?, right.parse().ok()?);
    let node = |id: i64| (id >> STEP_BITS) & ((1 << NODE_BITS) - 1);
    (node(left) == node(right)).then(|| left.cmp(&right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_within_a_millisecond_and_name_the_agents_node() -> Result<(), jiff::Error> {
        let now = Timestamp::from_millisecond(EPOCH + 477_029_843_266)?;
        let mut sequence = Sequence::default();
        // The contract's sample.
        assert_eq!(sequence.next(now), "2000808179729960960");
        let mut last = "2000808179729960960".to_owned();
        for _ in 0..10_000 {
            let next = sequence.next(now);
            assert_eq!(compare(&next, &last), Some(Ordering::Greater), "{next} after {last}");
            last = next;
        }
        Ok(())
    }

    #[test]
    fn ids_of_different_nodes_have_no_order() {
        let other = (7_i64 << STEP_BITS).to_string();
        assert_eq!(compare("2000808179729960960", &other), None);
    }
}
