//! The whole system on one machine: every part as a process, nothing in containers.
//!
//! In: the command line. Out: a running system, with a cluster's way to Reconciled told on the terminal; or a story
//! played against a system that runs. Fails: with the part that failed, and the last lines of its log.
//!
//! `system` starts the servers by [`lifecycle_e2e`], which also ends them if this process is killed, and the programs of
//! this workspace by `part`. What `demo` needs to find them is in a file (`place`).

mod api;
pub mod args;
mod bench;
pub mod commands;
mod demo;
mod fake_kubelet;
mod kubernetes;
mod layout;
mod look;
mod part;
mod place;
mod prepare;
mod prometheus;
mod remote;
pub mod swap;
mod system;
mod terminal;
mod up;
mod works;
