//! What an expression can answer, told before there is an event.
//!
//! In go a tree and what is certain of the entries of `resources`; out comes every kind of answer that the tree can
//! give, whatever else the event brings. Parts that read nothing of an event are evaluated, what they decide is
//! followed upwards (`false && x` is false), and all else may be anything: a verdict is certain, and none is given
//! where that would take a guess. Loops over something and most functions are left alone, so that the cost is bounded by the text.

mod kinds;
mod outlook;

use cel::common::ast::IdedExpr;

use self::kinds::Kinds;
use self::outlook::{Failed, Outlook, constant, outlook};
use super::Answer;

/// What is certain of an entry of `resources` when an expression is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is not there.
    Absent,
    /// It is there, an object.
    Present,
    /// Nothing.
    Unknown,
}

/// What can be said of an expression's answers before there is an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prospect {
    /// It may hold, for all that can be said.
    Open,
    /// It is false or fails, whatever the event brings.
    NeverHolds,
    /// It fails, whatever the event brings.
    AlwaysFails,
    /// It holds, whatever the event brings.
    AlwaysHolds,
}

/// Which answers an expression can give, before there is an event; never too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Possible {
    /// One that counts as true.
    pub holds: bool,
    /// One that counts as false.
    pub does_not_hold: bool,
    /// None: it fails, or gives an optional without a value.
    pub fails: bool,
}

type Entries<'e> = dyn Fn(&str) -> Presence + 'e;

/// What the whole (unwrapped) tree can come to.
pub(super) fn prospect(root: &IdedExpr, entries: &Entries<'_>) -> Prospect {
    let kinds = match outlook(root, entries) {
        Outlook::Closed(tree) => match constant(&tree) {
            // What an answer of no value means is the asker's business.
            Ok(Answer::Absent) => return Prospect::Open,
            Ok(answer) if answer.is_truthy() => return Prospect::AlwaysHolds,
            Ok(_) => Kinds::FALSE,
            Err(Failed) => Kinds::ERROR,
        },
        Outlook::Open(kinds) => kinds,
    };
    if kinds == Kinds::ERROR {
        Prospect::AlwaysFails
    } else if kinds.within(Kinds::FALSE.or(Kinds::ERROR)) {
        Prospect::NeverHolds
    } else if kinds == Kinds::TRUE {
        Prospect::AlwaysHolds
    } else {
        Prospect::Open
    }
}

/// Which answers the whole (unwrapped) tree can give.
pub(super) fn possible(root: &IdedExpr, entries: &Entries<'_>) -> Possible {
    let (holds, does_not_hold, fails) = match outlook(root, entries) {
        Outlook::Closed(tree) => match constant(&tree) {
            Ok(Answer::Absent) | Err(Failed) => (false, false, true),
            Ok(answer) => (answer.is_truthy(), !answer.is_truthy(), false),
        },
        Outlook::Open(kinds) => {
            // Text, lists and what is in an optional may be either.
            let either = kinds.has(Kinds::SOME.or(Kinds::OTHER));
            (
                either || kinds.has(Kinds::TRUE),
                either || kinds.has(Kinds::FALSE),
                kinds.has(Kinds::ERROR.or(Kinds::NONE)),
            )
        }
    };
    Possible { holds, does_not_hold, fails }
}

/// Whether every answer that the whole (unwrapped) tree can give is a boolean.
pub(super) fn is_boolean(root: &IdedExpr) -> bool {
    let kinds = outlook(root, &|_| Presence::Unknown).kinds();
    kinds.has(Kinds::BOOLEAN) && kinds.within(Kinds::TEST)
}

#[cfg(test)]
mod tests;
