//! The console: pages for people who operate a fleet. Each page says what is, why, and what would change it.
//!
//! The console only reads, from public endpoints: the HyperFleet API, the exporter's `/stuck`, the adapters' `/passes` and `/task`, and
//! the sweeper's `/plan`. It keeps nothing but the answers of the last seconds. A source that does not answer is shown as away.
//!
//! | module | idea |
//! | --- | --- |
//! | [`args`], [`commands`] | the command line |
//! | [`config`] | the configuration file |
//! | [`source`] | asks the sources; an answer, or why there is none |
//! | [`model`] | what the sources answer |
//! | [`why`] | what keeps a resource from being reconciled, whose part it is, and what helps; without I/O |
//! | [`page`] | the pages as HTML |
//! | [`viewer`] | who may read them, and how often |
//! | [`server`] | routes, headers, and pages that follow what happens |

pub mod args;
pub mod commands;
pub mod config;
pub mod model;
pub mod page;
pub mod server;
pub mod source;
pub mod viewer;
pub mod why;

/// The name of the program in logs and metrics.
pub const PROGRAM: &str = "hyperfleet-console";
