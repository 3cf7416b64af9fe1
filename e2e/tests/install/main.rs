//! Installs the charts on a node whose Pods run.
//!
//! `e2e/tests/install/run` starts the cluster, and these tests in its network: they are ignored elsewhere.

mod audit;
mod charts;
mod fleet;
mod helm;
mod journey;
