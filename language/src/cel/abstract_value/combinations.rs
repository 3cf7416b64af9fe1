//! The combinations of answers that the tests of claims can have.

use std::collections::BTreeSet;

use super::claim::{Asks, Claim, Test};

/// How many tests the claims may have together: each one doubles the number of combinations.
const MAX_TESTS: usize = 12;

/// Every combination of answers that the tests of some claims can have.
pub(super) struct Combinations<'a> {
    tests: Vec<&'a Test>,
}

/// One combination of answers: yes or no for each test.
pub(super) struct Answers<'a> {
    tests: &'a [&'a Test],
    bits: u32,
}

impl<'a> Combinations<'a> {
    /// Collects the tests of the claims; none if they are more than [`MAX_TESTS`].
    pub(super) fn of(claims: &[&'a Claim]) -> Option<Self> {
        let mut tests = BTreeSet::new();
        claims.iter().for_each(|claim| claim.tests(&mut tests));
        (tests.len() <= MAX_TESTS).then(|| Self { tests: tests.into_iter().collect() })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Answers<'_>> {
        (0..1_u32 << self.tests.len()).map(|bits| Answers { tests: &self.tests, bits }).filter(Answers::are_consistent)
    }

    /// Whether every claim needs the same answer to one test.
    pub(super) fn share_demand(&self, claims: &[&Claim]) -> bool {
        let needs = |claim: &Claim, test: &Test, answer: bool| {
            self.all().all(|answers| !claim.holds(&answers) || answers.is_true(test) == answer)
        };
        let is_shared = |test: &&Test| {
            [true, false].into_iter().any(|answer| claims.iter().all(|claim| needs(claim, test, answer)))
        };
        self.tests.iter().any(is_shared)
    }
}

impl Answers<'_> {
    pub(super) fn is_true(&self, test: &Test) -> bool {
        self.tests.binary_search(&test).is_ok_and(|place| self.bits >> place & 1 == 1)
    }

    /// Whether the answers can be true together: no part of the expression equals two constants, and of no two
    /// parts each is less than the other part.
    fn are_consistent(&self) -> bool {
        let yes: Vec<&Test> = self.tests.iter().copied().filter(|test| self.is_true(test)).collect();
        yes.iter().enumerate().all(|(place, test)| {
            yes[place + 1..].iter().all(|other| match (&test.asks, &other.asks) {
                (Asks::Is(_), Asks::Is(_)) => test.subject != other.subject,
                (Asks::Less(more), Asks::Less(of_more)) => *more != other.subject || test.subject != *of_more,
                _ => true,
            })
        })
    }
}
