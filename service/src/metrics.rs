//! What every program says to Prometheus in the same way: the two text formats, and the process' own metrics.
//!
//! In: a registry of the program's own metrics, and what a scraper asks for. Out: text. Nothing can fail. Which metrics
//! there are, beside those of the process, is the program's choice.

mod exposition;
mod process;

pub use exposition::{Exposition, write};
pub use process::ProcessCollector;
