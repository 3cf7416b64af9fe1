//! Plays the scenarios of the deploy adapters' protocol on any adapter, as a process.
//!
//! | module | idea |
//! | --- | --- |
//! | [`profile`] | the file that names the adapter, its inputs, and how to make faults |
//! | `adapter` | a running adapter: lines in, lines out, deadlines, signals |
//! | `stage` | what a scenario works with: processes, requests, the backend |
//! | [`rows`] | the scenarios, by name |
//! | [`report`] | the table of results |
//! | [`args`] | the command line |
//!
//! In: a profile. Out: one verdict for each row. A row that needs what the profile does not give is *not played*, and never
//! passes. Fails: on a profile that cannot be read; whatever an adapter does is a verdict.

mod adapter;
pub mod args;
pub mod profile;
pub mod report;
pub mod rows;
mod stage;
