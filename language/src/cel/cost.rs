//! What one evaluation may cost, and what it has cost so far.
//!
//! A short expression can still be expensive: three nested loops over a list of a thousand run for minutes, and ten
//! `replace`s in a row write a terabyte. So an evaluation has a [`Budget`] of iterations and bytes. [`operands`] puts calls
//! of our [`functions`] into the tree, which charge the budget before a value is copied or traversed. An evaluation that
//! exceeded its budget fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::ExecutionError;
use cel::common::value::CowVal;

use super::internal::Internal;

pub(super) mod functions;
mod members;
pub(super) mod operands;
mod size;

pub(super) use self::members::size_of_members;

/// The most iterations of all loops of one evaluation together; templates have the same limit.
pub(super) const MAX_ITERATIONS: usize = 100_000;

/// The most bytes that one evaluation may copy and traverse: those of text, and [`members::PER_VALUE`] for each element. An
/// event has at most a mebibyte.
pub(super) const MAX_BYTES: usize = 32 << 20;

/// The variable that holds the budget; no author can write its name.
pub(super) const BUDGET: &str = "@budget";

/// The iterations and bytes that one evaluation has spent so far. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(Arc<Spent>);

#[derive(Debug, Default)]
struct Spent {
    iterations: AtomicUsize,
    bytes: AtomicUsize,
}

impl Budget {
    /// The budget in the last argument of one of our functions.
    pub(super) fn of<'b>(argument: Option<&'b CowVal<'_, '_>>) -> Result<&'b Self, ExecutionError> {
        let budget = argument.and_then(|argument| argument.downcast_ref::<Internal<Self>>());
        let missing = || ExecutionError::InternalError("an evaluation without a budget".to_owned());
        budget.map(|Internal(budget)| budget).ok_or_else(missing)
    }

    pub(super) fn spend_iterations(&self, iterations: usize) -> Result<(), ExecutionError> {
        self.0.iterations.store(self.iterations().saturating_add(iterations), Ordering::Relaxed);
        self.check()
    }

    pub(super) fn spend_bytes(&self, bytes: usize) -> Result<(), ExecutionError> {
        self.0.bytes.store(self.bytes().saturating_add(bytes), Ordering::Relaxed);
        self.check()
    }

    pub(super) fn iterations(&self) -> usize {
        self.0.iterations.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// The bytes that are left.
    fn room(&self) -> usize {
        MAX_BYTES.saturating_sub(self.bytes())
    }

    /// Fails for an evaluation that has cost too much.
    pub(super) fn check(&self) -> Result<(), ExecutionError> {
        let exceeded = match (self.iterations(), self.bytes()) {
            (iterations, _) if iterations > MAX_ITERATIONS => {
                format!("loops and lists.range() make more than {MAX_ITERATIONS} iterations")
            }
            (_, bytes) if bytes > MAX_BYTES => format!("copies or goes through more than {} MiB", MAX_BYTES >> 20),
            _ => return Ok(()),
        };
        Err(ExecutionError::InternalError(exceeded))
    }
}
