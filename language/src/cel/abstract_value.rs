//! Which results an expression can have, computed at load, before there is an event.
//!
//! In: a syntax tree, what is certain of the entries of `resources`, and the expressions that variables stand
//! for. Out: an [`AbstractValue`], which knows the [`Possible`] results of the expression and its [`Relation`] to
//! another one. Nothing fails: a part that only an event decides can have any result.
//!
//! [`known::prepare`] writes what is known into the tree. [`claim`](claim::claim) reads the result as boolean
//! operators over constants, which the evaluator evaluates, and tests such as `phase == 'a'`; the same test has
//! the same answer everywhere. A claim is evaluated over sets of results, and for relations over every
//! combination of the tests' answers: a dozen tests have 4,096, and more than a dozen are not combined.

mod claim;
mod combinations;
mod known;
mod results;

use std::collections::BTreeMap;

use cel::common::ast::IdedExpr;
use serde_json::Value;

use self::claim::Claim;
use self::combinations::Combinations;
pub(super) use self::known::presence_test;
use self::results::Results;
pub use super::readings::Key;
use super::{Expression, lint, readings};

/// Whether an entry of `resources` exists when an expression is evaluated, as far as the load can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The entry is not there.
    Absent,
    /// The entry is there, an object.
    Present,
    /// The entry may exist or not.
    Unknown,
}

/// The results that an expression can have; perhaps too many, never too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Possible {
    /// A result that counts as true.
    pub holds: bool,
    /// A result that counts as false.
    pub does_not_hold: bool,
    /// The expression can fail with an error.
    pub fails: bool,
    /// An optional without a value: a gate fails then, another condition holds.
    pub has_no_value: bool,
}

/// How the events in which two expressions hold relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The two never hold together.
    Apart,
    /// The two hold in the same events.
    Same,
    /// Where the first holds, so does the second.
    Within,
    /// Where the second holds, so does the first.
    Around,
    /// The two need the same answer to one test, and nothing keeps them from holding together.
    Overlapping,
    /// No relation is certain.
    Unrelated,
}

/// What is certain of a variable in the events that an abstract value is about.
#[derive(Debug, Clone)]
pub enum Fact {
    /// The variable has no value.
    Unset,
    /// The variable has this value.
    Is(Value),
    /// The variable is an object of which some fields are certain.
    Object {
        /// The fields that have these values.
        fields: BTreeMap<String, Value>,
        /// Whether the object lacks a field.
        lacks: fn(&str) -> bool,
    },
}

/// The facts about entries and variables that are known when the task is loaded.
pub(super) struct Context<'c> {
    /// Says of an entry of `resources`, by its name, whether it exists at the evaluation.
    pub(super) entries: &'c dyn Fn(&str) -> Presence,
    /// The expression that a variable stands for.
    pub(super) definitions: &'c dyn Fn(&str) -> Option<Expression>,
    /// What is certain of a variable.
    pub(super) facts: &'c dyn Fn(&str) -> Option<Fact>,
}

/// The possible results of an expression, as far as they are certain when the task is loaded.
#[derive(Debug, Clone)]
pub struct AbstractValue {
    /// The expression with what is known in it.
    tree: IdedExpr,
    claim: Claim,
}

impl AbstractValue {
    /// The abstract value of a tree.
    pub(super) fn of(root: &IdedExpr, context: &Context<'_>) -> Self {
        let tree = known::prepare(root, context);
        let claim = claim::claim(&tree, context.entries);
        Self { tree, claim }
    }

    /// The results that the expression can have.
    #[must_use]
    pub fn possible(&self) -> Possible {
        let results = self.results();
        Possible {
            holds: results.has(Results::TRUTHY) || results.has(Results::TRUE) && !self.is_impossible(),
            does_not_hold: results.has(Results::FALSE.or(Results::FALSY)),
            fails: results.has(Results::ERROR),
            has_no_value: results.has(Results::NONE),
        }
    }

    /// The only result that the expression can have, if that is known; null for an optional without a value.
    #[must_use]
    pub fn constant(&self) -> Option<Value> {
        known::constant(&self.tree)
    }

    /// Whether every result is a boolean.
    pub(super) fn is_boolean(&self) -> bool {
        let results = self.results();
        results.has(Results::BOOLEAN) && results.within(Results::TEST)
    }

    /// How the events in which this expression holds relate to those of `other`.
    #[must_use]
    pub fn relation(&self, other: &Self) -> Relation {
        let claims = [&self.claim, &other.claim];
        let Some(combinations) = Combinations::of(&claims) else { return Relation::Unrelated };
        let (mut alone, mut together, mut other_alone) = (false, false, false);
        for answers in combinations.all() {
            match claims.map(|claim| claim.holds(&answers)) {
                [true, true] => together = true,
                [true, false] => alone = true,
                [false, true] => other_alone = true,
                [false, false] => {}
            }
        }
        match (alone, together, other_alone) {
            (_, false, _) => Relation::Apart,
            (false, true, false) => Relation::Same,
            (false, true, true) => Relation::Within,
            (true, true, false) => Relation::Around,
            (true, true, true) if combinations.share_demand(&claims) => Relation::Overlapping,
            (true, true, true) => Relation::Unrelated,
        }
    }

    /// What the parts that are not certain read of the entry `name` of `resources`: places in it, the empty one
    /// being the whole entry. None if the expression can read any entry.
    #[must_use]
    pub fn places_in(&self, name: &str) -> Option<Vec<Vec<Key>>> {
        if lint::reads(&self.tree, "resources").any {
            return None;
        }
        let paths = readings::paths(&self.tree);
        let places = paths.iter().filter_map(readings::Path::in_resources);
        Some(places.filter(|(entry, _)| entry == name).map(|(_, keys)| keys).collect())
    }

    fn results(&self) -> Results {
        self.claim.results()
    }

    /// Whether the tests exclude each other, so that the claim is true in no event.
    fn is_impossible(&self) -> bool {
        let combinations = Combinations::of(&[&self.claim]);
        combinations.is_some_and(|combinations| !combinations.all().any(|answers| self.claim.holds(&answers)))
    }
}

impl Possible {
    /// Whether an event can make a condition hold; one without a value holds in some places.
    #[must_use]
    pub const fn can_hold(self) -> bool {
        self.holds || self.has_no_value
    }

    /// Whether every event makes a condition hold.
    #[must_use]
    pub const fn always_holds(self) -> bool {
        self.holds && !self.does_not_hold && !self.fails && !self.has_no_value
    }

    /// Whether every event makes a condition fail.
    #[must_use]
    pub const fn always_fails(self) -> bool {
        self.fails && !self.can_hold() && !self.does_not_hold
    }
}

#[cfg(test)]
mod tests;
