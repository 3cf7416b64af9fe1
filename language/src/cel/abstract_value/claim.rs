//! Claims: boolean operators over constants and tests.
//!
//! In: a [prepared](super::known::prepare) tree. Out: a [`Claim`]. A part that is neither a boolean operator nor
//! known is a [`Test`]; the same part is the same test.
//! One idea with [`known`](super::known) and [`combinations`](super::combinations): what is known of a part needs the claim
//! of its own parts, and each combination of tests is one answer to the claim.

use std::collections::BTreeSet;

use cel::common::ast::{Expr, IdedExpr, LiteralValue, SelectExpr, operators};

use super::Presence;
use super::combinations::Answers;
use super::known::{evaluate, is_resources, presence_test, selected};
use super::results::Results;
use crate::cel::walk;

/// The condition that an expression states.
#[derive(Debug, Clone)]
pub(super) enum Claim {
    /// A part without a test, whose possible results are known.
    Known(Results),
    /// A test, and the results that it can have.
    Test(Test, Results),
    Not(Box<Self>),
    All(Vec<Self>),
    If([Box<Self>; 3]),
}

/// A question about a part of an expression, with the answer yes or no.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Test {
    /// The text of the part that is tested; the same text for the same part.
    pub(super) subject: String,
    pub(super) asks: Asks,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asks {
    /// Whether it equals a constant; a condition asks whether it equals `true`.
    Is(String),
    /// Whether it equals another part.
    Equals(String),
    /// Whether it is less than another part.
    Less(String),
    /// Whether it has an entry of this name.
    Has(String),
}

/// The claim of a prepared tree.
pub(super) fn claim(node: &IdedExpr, entries: &dyn Fn(&str) -> Presence) -> Claim {
    let claim = |node: &IdedExpr| claim(node, entries);
    let boxed = |node: &IdedExpr| Box::new(claim(node));
    if let Expr::Call(call) = &node.expr {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND, [left, right]) => return Claim::All(vec![claim(left), claim(right)]),
            (operators::LOGICAL_OR, [left, right]) => return Claim::any([claim(left), claim(right)]),
            (operators::LOGICAL_NOT, [operand]) => return claim(operand).not(),
            (operators::CONDITIONAL, [condition, yes, no]) => {
                return Claim::If([boxed(condition), boxed(yes), boxed(no)]);
            }
            _ => {}
        }
    }
    match evaluate(node) {
        Some(results) => Claim::Known(results),
        None => unknown(node, entries, &claim),
    }
}

/// The claim of a part that depends on the event.
fn unknown(node: &IdedExpr, entries: &dyn Fn(&str) -> Presence, claim: &dyn Fn(&IdedExpr) -> Claim) -> Claim {
    match &node.expr {
        Expr::Select(select) if select.test => test(&select.operand, Asks::Has(select.field.clone())),
        Expr::Select(select) if is_resources(&select.operand) => condition(node, entry(entries(&select.field))),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::EQUALS, [left, right]) => equality(left, right, claim),
            (operators::NOT_EQUALS, [left, right]) => equality(left, right, claim).not(),
            (operators::LESS, [left, right]) => test(left, Asks::Less(subject(right))),
            (operators::GREATER, [left, right]) => test(right, Asks::Less(subject(left))),
            (operators::LESS_EQUALS, [left, right]) => test(right, Asks::Less(subject(left))).not(),
            (operators::GREATER_EQUALS, [left, right]) => test(left, Asks::Less(subject(right))).not(),
            (operators::IN, [item, IdedExpr { expr: Expr::List(list), .. }]) if list.optional_indices.is_empty() => {
                let no_element = Claim::Known(Results::FALSE.or(Results::ERROR));
                let elements = list.elements.iter().map(|element| equality(item, element, claim));
                Claim::any(elements.chain([no_element]))
            }
            _ => match (presence_test(call), selected(call)) {
                (Some((object, key)), _) => test(object, Asks::Has(key.to_owned())),
                (None, Some((object, key))) if is_resources(object) => condition(node, entry(entries(key))),
                _ if matches!(call.func_name.as_str(), operators::IN | "hasValue") => condition(node, Results::TEST),
                _ => condition(node, Results::ANY),
            },
        },
        Expr::List(_) | Expr::Map(_) => condition(node, Results::OTHER.or(Results::ERROR)),
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::Literal(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => condition(node, Results::ANY),
    }
}

/// The possible results of reading an entry of `resources`; an entry that is there is an object.
fn entry(presence: Presence) -> Results {
    match presence {
        Presence::Present => Results::OTHER,
        Presence::Absent | Presence::Unknown => Results::ANY,
    }
}

fn test(of: &IdedExpr, asks: Asks) -> Claim {
    Claim::Test(Test { subject: subject(of), asks }, Results::TEST)
}

/// The test whether a part is true.
fn condition(node: &IdedExpr, results: Results) -> Claim {
    Claim::Test(Test { subject: subject(node), asks: Asks::Is(constant(&LiteralValue::Boolean(true.into()))) }, results)
}

fn equality(left: &IdedExpr, right: &IdedExpr, claim: &dyn Fn(&IdedExpr) -> Claim) -> Claim {
    match (&left.expr, &right.expr) {
        (Expr::Literal(value), _) => is_value(right, value, claim),
        (_, Expr::Literal(value)) => is_value(left, value, claim),
        _ => {
            let (first, second) = (subject(left), subject(right));
            let (subject, other) = if first <= second { (first, second) } else { (second, first) };
            Claim::Test(Test { subject, asks: Asks::Equals(other) }, Results::TEST)
        }
    }
}

/// Whether a part equals a constant. A boolean part that equals `true` holds, and one that equals `false` does not.
fn is_value(of: &IdedExpr, value: &LiteralValue, claim: &dyn Fn(&IdedExpr) -> Claim) -> Claim {
    if let LiteralValue::Boolean(value) = value {
        let claim = claim(of);
        if claim.results().within(Results::TEST) {
            return if *value.inner() { claim } else { claim.not() };
        }
    }
    test(of, Asks::Is(constant(value)))
}

fn constant(value: &LiteralValue) -> String {
    format!("{value:?}")
}

/// A part as text that is the same for the same part: however an entry is selected.
fn subject(node: &IdedExpr) -> String {
    let mut plain = node.clone();
    walk::rewrite(&mut plain, &mut |node| {
        node.id = 0;
        if let Expr::Map(map) = &mut node.expr {
            map.entries.iter_mut().for_each(|entry| entry.id = 0);
        }
        if let Expr::Call(call) = &node.expr
            && let Some((object, key)) = selected(call)
        {
            let select = SelectExpr { operand: Box::new(object.clone()), field: key.to_owned(), test: false };
            node.expr = Expr::Select(select);
        }
    });
    format!("{:?}", plain.expr)
}

impl Claim {
    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }

    fn any(claims: impl IntoIterator<Item = Self>) -> Self {
        Self::All(claims.into_iter().map(Self::not).collect()).not()
    }

    /// The results that the claim can have.
    pub(super) fn results(&self) -> Results {
        self.results_of(&|_, results| results)
    }

    /// The results of the claim, from the results of each test.
    fn results_of(&self, of: &dyn Fn(&Test, Results) -> Results) -> Results {
        match self {
            Self::Known(results) => *results,
            Self::Test(test, results) => of(test, *results),
            Self::Not(claim) => claim.results_of(of).not(),
            Self::All(claims) => {
                claims.iter().map(|claim| claim.results_of(of)).reduce(Results::and).unwrap_or(Results::TRUE)
            }
            Self::If([condition, yes, no]) => condition.results_of(of).choose(yes.results_of(of), no.results_of(of)),
        }
    }

    /// Whether the claim is true for these answers.
    pub(super) fn holds(&self, answers: &Answers<'_>) -> bool {
        self.results_of(&|test, _| Results::boolean(answers.is_true(test))).has(Results::TRUE.or(Results::TRUTHY))
    }

    pub(super) fn tests<'a>(&'a self, found: &mut BTreeSet<&'a Test>) {
        match self {
            Self::Known(_) => {}
            Self::Test(test, _) => {
                found.insert(test);
            }
            Self::Not(claim) => claim.tests(found),
            Self::All(claims) => claims.iter().for_each(|claim| claim.tests(found)),
            Self::If(claims) => claims.iter().for_each(|claim| claim.tests(found)),
        }
    }
}
