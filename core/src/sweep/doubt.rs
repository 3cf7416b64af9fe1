//! What outlasts the pass that found it: a reason to distrust the API's memory.
//!
//! In: a [`Hold`], or the text that another term wrote. Out: the doubts that still count, and their text. Fails: never; a
//! text that cannot be read is a doubt as well. Whoever leads keeps the text where the next leader finds it: while a lost
//! database is restored, its figures fall, and a leader that knows nothing of the loss would find little to object to.

use serde::{Deserialize, Serialize};

use super::Hold;

/// A reason to distrust the API's memory, from an earlier pass of any leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// The label of the [`Hold`] that found it.
    reason: String,
    /// The figures, for people.
    why: String,
    /// What the pass swept. A pass that sweeps something else cannot end the doubt: it may not see the orphans.
    #[serde(default)]
    sweeps: String,
}

impl Doubt {
    /// The label of a doubt that this version cannot name: the text is damaged, or a newer version wrote it.
    pub const UNREADABLE: &str = "unreadable_doubt";

    /// The doubt that a hold of a pass leaves behind; `None` if the next pass finds the reason by itself. `sweeps` says
    /// which adapters and kinds the pass swept.
    #[must_use]
    pub fn of(hold: &Hold, sweeps: &str) -> Option<Self> {
        let doubt = || Self { reason: hold.label().to_owned(), why: hold.to_string(), sweeps: sweeps.to_owned() };
        hold.is_doubt().then(doubt)
    }

    /// Whether this hold left the doubt behind.
    pub(super) fn is_of(&self, hold: &Hold) -> bool {
        self.reason == hold.label() && self.why == hold.to_string()
    }

    /// Whether the doubt arose in a pass that swept this.
    pub(super) fn is_about(&self, sweeps: &str) -> bool {
        self.sweeps == sweeps
    }

    /// The reason as the value of a metric label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        Hold::LABELS.into_iter().find(|label| *label == self.reason).unwrap_or(Self::UNREADABLE)
    }

    /// What the pass found.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Writes doubts as one line of JSON; `None` if there are none.
    #[must_use]
    pub fn write(doubts: &[Self]) -> Option<String> {
        // Cannot fail: a doubt consists of texts.
        (!doubts.is_empty()).then(|| serde_json::to_string(doubts).unwrap_or_default())
    }

    /// Reads what [`write`](Self::write) wrote.
    #[must_use]
    pub fn read(text: &str) -> Vec<Self> {
        serde_json::from_str(text).unwrap_or_else(|error| {
            let why = format!("the API's memory is in doubt, for a reason that cannot be read ({error})");
            vec![Self { reason: Self::UNREADABLE.to_owned(), why, sweeps: String::new() }]
        })
    }
}
