//! What a person may approve, and by which command.
//!
//! In: a [`Survey`]. Out: the hash of its plan, if an approval would release it. Whether an approval counts decides
//! [`lifecycle_core::sweep::release()`].

use lifecycle_core::sweep::{Hold, Release};

use crate::survey::Survey;

/// The hash of the plan that a person may approve, if the pass holds one.
#[must_use]
pub fn approval_of(survey: &Survey) -> Option<&str> {
    let plan = &survey.plan;
    let is_held = survey.release == Release::Held && !plan.objects().is_empty();
    (is_held && plan.holds().iter().all(Hold::is_approvable)).then(|| plan.hash())
}

/// The command by which a person approves a plan.
#[must_use]
pub fn approve_command(plan: &str) -> String {
    format!("sweeper approve {plan}")
}
