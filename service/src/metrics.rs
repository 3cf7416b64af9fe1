//! Prometheus' two text formats, and the metrics of the process.
//!
//! In: a registry with the program's metrics, and a scraper's `Accept` header. Out: text. Fails: never.

mod exposition;
mod process;

pub use exposition::{Exposition, write};
pub use process::ProcessCollector;
