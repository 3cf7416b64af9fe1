//! What every program of this product does in the same way.
//!
//! | module | idea |
//! | --- | --- |
//! | [`program`] | from the process' arguments and environment to its exit code |
//! | [`version`] | which build this is |
//! | [`logging`] | lines in the layouts of the logging standard |
//! | [`metrics`] | the text formats of Prometheus, and the process' own metrics |
//! | [`files`] | files that somebody names, read up to a limit |
//! | [`http`] | listeners that no client can hold up |
//! | [`probes`] | what a kubelet's probes are told |
//! | [`shutdown`] | the two signals that end the process |
//!
//! What a program is for is not here, nor anything that only one of them needs: no client of a broker, a database or
//! Kubernetes, and no tracing exporter. A program adds its own layers to the log, its own metrics to the registry and
//! its own routes to the listeners.

pub mod files;
pub mod http;
pub mod logging;
pub mod metrics;
pub mod probes;
pub mod program;
pub mod shutdown;
pub mod version;
