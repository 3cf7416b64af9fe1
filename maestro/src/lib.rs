//! The one way to Maestro: `ManifestWorks` of remote clusters, written by gRPC and read by REST.
//!
//! In: `ManifestWorks` as Kubernetes objects, and the names or labels of those to read. Out: the works as Maestro stored
//! them. Fails with core's [`WriteError`](lifecycle_objects::write::WriteError), as the client of a cluster does, so that the
//! planner treats both alike.
//!
//! | module | idea |
//! | --- | --- |
//! | [`client`] | one call of each kind on works of one source; what a patch means here |
//! | `fence` | which version a write may replace |
//! | [`fleet`] | works of all sources and consumers: found by a label, deleted |
//! | [`work`] | a `ManifestWork` is a bundle and metadata in Maestro, and back |
//! | [`limits`] | what Maestro accepts but its agents drop in silence |
//! | [`identity`] | the id of a work, which client and server share |
//! | [`event`] | a write as a `CloudEvent`, in Maestro's own mapping |
//! | [`grpc`] | sends events |
//! | [`rest`] | reads one work or many; which answers count |
//! | `place` | where a call on one work goes |
//! | [`search`] | the question for many works |
//! | [`refusal`] | what it means that Maestro refuses |
//! | [`call`] | tells an observer of each request |
//! | [`config`] | the block of a configuration file that names a Maestro |
//! | [`tls`] | certificates and keys that are read again at each connection |
//!
//! **Nothing is kept.** Each read asks Maestro, and each write carries the version that was read, so a stale answer can
//! only lead to a conflict, never to a second write. There is no subscription: what Maestro would push is what the next
//! event reads anyway, and nothing may answer in place of a read ([ADR 30](../../docs/adr/0030-maestro-is-read-not-watched.md)).
//!
//! A status belongs to a version. While the agent has not yet reported on the stored version, a work is shown without the
//! status of an older one.

pub mod call;
pub mod client;
pub mod config;
pub mod event;
mod fence;
pub mod fleet;
pub mod grpc;
pub mod identity;
pub mod limits;
mod place;
pub mod refusal;
pub mod rest;
pub mod search;
pub mod tls;
pub mod work;

pub use call::{CallObserver, CallRecord};
pub use client::{Maestro, Settings, SettingsError};
pub use refusal::Refusal;
