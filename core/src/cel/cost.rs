//! A bound on what one evaluation copies and goes through.
//!
//! The text of an expression is short and its loops end; still, ten times `replace` write a terabyte, and a list that
//! is compared with itself in a loop keeps a worker busy for minutes. So values are weighed where they are copied or
//! gone through: in goes a part of a tree, out comes one in which such operands pass a function of ours, which
//! takes their weight from the evaluation's [`Budget`], and fails once that is spent. What only looks at a value is
//! free: a selection, `has`, a comparison with a literal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::ExecutionError;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::common::value::CowVal;

use super::internal::Internal;
use super::lint::namespace;

/// What one evaluation may copy and go through, in bytes of text and [`NODE`](super::weight::NODE) for each value. An event
/// has a mebibyte.
pub(super) const MAX_WORK: usize = 32 << 20;

/// The variable that holds the budget; no author can write its name.
pub(super) const BUDGET: &str = "@budget";

#[cfg(test)]
thread_local! {
    /// What evaluations on this thread have spent.
    pub(super) static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// What is left of [`MAX_WORK`] in one evaluation.
#[derive(Debug, Clone)]
pub(super) struct Budget(Arc<AtomicUsize>);

impl Budget {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(MAX_WORK)))
    }

    /// The budget as a function gets it, in its last argument.
    pub(super) fn of<'b>(argument: Option<&'b CowVal<'_, '_>>) -> Result<&'b Self, ExecutionError> {
        let budget = argument.and_then(|argument| argument.downcast_ref::<Internal<Self>>());
        let missing = || ExecutionError::InternalError("an evaluation without a budget".to_owned());
        budget.map(|Internal(budget)| budget).ok_or_else(missing)
    }

    pub(super) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes from the budget; what does not fit empties it.
    pub(super) fn spend(&self, work: usize) -> Result<(), ExecutionError> {
        let left = self.left().checked_sub(work);
        #[cfg(test)]
        SPENT.set(SPENT.get() + left.map_or(0, |_| work));
        self.0.store(left.unwrap_or(0), Ordering::Relaxed);
        left.map(|_| ()).ok_or_else(|| ExecutionError::InternalError(over_budget()))
    }
}

/// What is told of an evaluation that spent its budget.
pub(super) fn over_budget() -> String {
    format!("copies or goes through more than {} MiB", MAX_WORK >> 20)
}

/// What an operand costs before its operator sees it; each is a function that hands the operand through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toll {
    /// What a look at its text, or at each of its members, costs.
    Look,
    /// What a loop over it costs besides the turns; a mapping comes out as its keys, in order.
    Range,
    /// What going through all of it costs, or a copy.
    Whole,
    /// As [`Whole`](Self::Whole), once for each of its members.
    Pairs,
    /// A value for each piece between the separators that come with it.
    Pieces,
    /// A list of so many values.
    Count,
}

impl Toll {
    pub(super) const ALL: [Self; 6] = [Self::Look, Self::Range, Self::Whole, Self::Pairs, Self::Pieces, Self::Count];

    /// The function that takes it; no author can write its name.
    pub(super) const fn function(self) -> &'static str {
        match self {
            Self::Look => "@look",
            Self::Range => "@range",
            Self::Whole => "@whole",
            Self::Pairs => "@pairs",
            Self::Pieces => "@pieces",
            Self::Count => "@count",
        }
    }

    /// Puts the toll on an operand. A scalar is free, and what is written as a list or mapping has paid for its members.
    fn put_on(self, operand: &mut IdedExpr) {
        if !is_scalar(&operand.expr) && !matches!(operand.expr, Expr::List(_) | Expr::Map(_)) {
            self.put_on_with(operand, None);
        }
    }

    fn put_on_with(self, operand: &mut IdedExpr, more: Option<IdedExpr>) {
        let args = [std::mem::take(operand)].into_iter().chain(more).chain([budget()]).collect();
        *operand = tree(Expr::Call(CallExpr { func_name: self.function().to_owned(), target: None, args }));
    }
}

/// Puts a toll on the answer, all of which is copied.
pub(super) fn charge_answer(root: &mut IdedExpr) {
    Toll::Whole.put_on(root);
}

/// Puts tolls on the operands of one node, whose children have theirs.
pub(super) fn charge(expr: &mut Expr) {
    match expr {
        Expr::List(list) => list.elements.iter_mut().for_each(|element| Toll::Whole.put_on(element)),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    Toll::Whole.put_on(&mut entry.key);
                    Toll::Whole.put_on(&mut entry.value);
                }
            }
        }
        Expr::Comprehension(comprehension) => {
            let range = &mut comprehension.iter_range;
            // A mapping that is written there has no order yet.
            if !matches!(range.expr, Expr::List(_)) {
                Toll::Range.put_on_with(range, None);
            }
            Toll::Whole.put_on(&mut comprehension.accu_init);
        }
        Expr::Call(call) => invocation(call),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Select(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

fn invocation(call: &mut CallExpr) {
    let is_namespaced = namespace(call).is_some();
    let target = call.target.as_deref_mut().filter(|_| !is_namespaced);
    match (call.func_name.as_str(), target, call.args.as_mut_slice()) {
        // A literal bounds what is compared.
        (name, None, [left, right]) if is_comparison(name) => {
            if ![&left.expr, &right.expr].into_iter().any(|side| matches!(side, Expr::Literal(_))) {
                Toll::Whole.put_on(left);
                Toll::Whole.put_on(right);
            }
        }
        (operators::IN, None, [element, container]) => {
            Toll::Whole.put_on(element);
            Toll::Look.put_on(container);
        }
        // A key that is not there is copied into the error.
        (operators::INDEX | operators::OPT_INDEX, None, [_, key]) => Toll::Whole.put_on(key),
        (name, target, _) if is_free(name, target.is_some()) => {}
        ("size" | "conditionAge" | "conditionStatus" | "stableFor" | "statusFeedbackValue", target, arguments) => {
            target.into_iter().chain(arguments).for_each(|operand| Toll::Look.put_on(operand));
        }
        ("distinct", Some(list), _) => Toll::Pairs.put_on_with(list, None),
        ("split", Some(text), [separator, ..]) => {
            // What is not written there may come to the empty text, which separates everything.
            let literal = Some(&*separator).filter(|separator| matches!(separator.expr, Expr::Literal(_))).cloned();
            let everything = || tree(Expr::Literal(LiteralValue::String("".into())));
            Toll::Pieces.put_on_with(text, Some(literal.unwrap_or_else(everything)));
        }
        ("range", None, [count]) if is_namespaced => Toll::Count.put_on_with(count, None),
        // What these make can be larger than what they are given, so they see to it themselves.
        ("replace", Some(_), [_, _] | [_, _, _]) => metered("@replace", call),
        ("join", Some(_), [] | [_]) => metered("@join", call),
        (_, target, arguments) => {
            target.into_iter().chain(arguments).for_each(|operand| Toll::Whole.put_on(operand));
        }
    }
}

/// Turns a method into the function of ours that does the same within the budget.
fn metered(function: &str, call: &mut CallExpr) {
    let target = call.target.take().map(|target| *target);
    let args = target.into_iter().chain(std::mem::take(&mut call.args)).chain([budget()]).collect();
    *call = CallExpr { func_name: function.to_owned(), target: None, args };
}

fn is_comparison(name: &str) -> bool {
    [
        operators::EQUALS,
        operators::NOT_EQUALS,
        operators::LESS,
        operators::LESS_EQUALS,
        operators::GREATER,
        operators::GREATER_EQUALS,
    ]
    .contains(&name)
}

/// Operators and functions that look at little of what they are given, or at a little that a path leads to.
fn is_free(name: &str, is_method: bool) -> bool {
    match name {
        "hasValue" | "value" | "first" | "toUnixTime" => is_method,
        "dig" | "dyn" | "type" | "int" | "uint" | "double" => !is_method,
        operators::ADD | "@string" | "@duration" | "@sortByAssociatedKeys" | "@indexOf" | "@lastIndexOf" => false,
        name if name.starts_with("get") => is_method,
        name => name.starts_with(['_', '!', '@']),
    }
}

/// Whether what it comes to is a boolean, a literal or a value of ours, whatever it is given.
fn is_scalar(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => name.starts_with('@'),
        Expr::Call(call) => match call.func_name.as_str() {
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT | operators::IN => true,
            name => is_comparison(name),
        },
        Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}

fn budget() -> IdedExpr {
    tree(Expr::Ident(BUDGET.to_owned()))
}

fn tree(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}
