//! What one evaluation may cost, and what it has cost so far.
//!
//! The text of an expression is short and its loops end; still, three loops over a list of a thousand keep a worker busy
//! for minutes, and ten times `replace` write a terabyte. So an evaluation has a [`Budget`] of iterations and of bytes,
//! from which functions of ours take before anything is made or gone through ([`functions`]); [`operands`] puts calls
//! of these into the tree. Once a budget is exceeded, the evaluation fails, whatever the interpreter makes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::ExecutionError;
use cel::common::value::CowVal;

use super::internal::Internal;

pub(super) mod functions;
pub(super) mod operands;
mod size;

pub(super) use self::size::size_of_members;

/// The iterations of all loops of one evaluation together; as for templates.
pub(super) const MAX_ITERATIONS: usize = 100_000;

/// What one evaluation may copy and go through: bytes of text, and [`size::PER_VALUE`] for each value in another one. An
/// event has a mebibyte.
pub(super) const MAX_BYTES: usize = 32 << 20;

/// The variable that holds the budget; no author can write its name.
pub(super) const BUDGET: &str = "@budget";

/// What one evaluation has cost so far. A clone counts with the original.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(Arc<Spent>);

#[derive(Debug, Default)]
struct Spent {
    iterations: AtomicUsize,
    bytes: AtomicUsize,
}

impl Budget {
    /// The budget as a function gets it, in its last argument.
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
