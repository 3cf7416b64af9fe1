//! The parts of a program that are the same for every program of this workspace.
//!
//! | module | idea |
//! | --- | --- |
//! | [`program`] | runs a command with the process' arguments and environment, and returns an exit code |
//! | [`configuration`] | loads, checks and describes a program's configuration file, and starts its log |
//! | [`command_line`] | the commands and flags of a program with such a file |
//! | [`version`] | version, commit and date of the build |
//! | [`logging`] | writes log lines in the layouts of the logging standard |
//! | [`settings`] | the keys `log`, `health.listen` and `metrics.listen`, and the log of what a loader found |
//! | [`metrics`] | the text formats of Prometheus, and the process' own metrics |
//! | [`files`] | reads files with a size limit |
//! | [`access`] | who may read a page that tells more than probes and metrics do |
//! | [`http`] | listeners with limits for slow clients |
//! | [`probes`] | the answers to a kubelet's probes |
//! | `probe` | the command `probe`, which asks for such an answer |
//! | [`servers`] | the health server and the metrics server |
//! | [`shutdown`] | SIGINT and SIGTERM |
//!
//! The crate has no client of a broker, a database or Kubernetes, and no exporter of traces. A program adds
//! its own layers to the log, its own metrics to the registry, and its own pages to the servers.

pub mod access;
pub mod command_line;
pub mod configuration;
pub mod files;
pub mod http;
pub mod logging;
pub mod metrics;
mod probe;
pub mod probes;
pub mod program;
pub mod servers;
pub mod settings;
pub mod shutdown;
pub mod version;
