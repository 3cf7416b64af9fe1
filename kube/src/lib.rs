//! The one way of this workspace's programs to a Kubernetes cluster.
//!
//! In: [`ObjectRef`](lifecycle_core::object_ref::ObjectRef)s, manifests as JSON, and a [`Fence`] for every write onto an
//! object that exists. Out: the server's objects as JSON, or an [`Error`] of a closed [`ErrorKind`].
//!
//! * [`connect`] makes a client that sends each request once.
//! * [`Cluster`] reads, lists, creates, applies, patches and deletes objects of any kind that the server serves, custom
//!   ones included, and discovers these kinds.
//! * [`Form::MetadataOnly`] lists objects without their content; [`Pages`] gives them page by page.
//! * A [`CallObserver`] hears of each request: metrics are the caller's.
//!
//! The crate retries nothing, keeps no object, and watches nothing: every program here reads what it needs when it needs
//! it. `examples/prune` shows most of it in one page.

mod answer;
mod call;
mod client;
mod cluster;
mod error;
mod fence;
mod kinds;
mod migration;
mod pages;
mod rate_limit;
mod refusal;
mod request;
mod sender;

pub use call::{CallEnd, CallObserver, CallRecord, Verb};
pub use client::{ConnectError, connect};
pub use cluster::{Cluster, Deletion, Settings};
pub use error::{Error, ErrorKind};
pub use fence::Fence;
pub use kinds::{Discovery, ServedKind};
pub use kube::Client;
pub use pages::{Form, Pages};
