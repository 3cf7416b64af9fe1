//! Client for the Kubernetes API, shared by all programs of this workspace.
//!
//! In: [`ObjectRef`](lifecycle_objects::object_ref::ObjectRef)s, manifests as JSON, and a [`Fence`] for every
//! write to an existing object. Out: the server's objects as JSON. Fails: a [`WriteError`](lifecycle_objects::write::WriteError)
//! whose kind is one of a closed set.
//!
//! * [`connect`] builds an HTTP client that sends each request once.
//! * [`Cluster`] reads, lists, creates, applies, patches and deletes objects of any kind that the server
//!   serves, custom
//!   resources included, and discovers these kinds.
//! * [`Cluster::search`] reads all that a deletion would take along.
//! * A [`Selector`] chooses objects by their labels; [`Form::MetadataOnly`] lists them with their metadata only;
//!   [`Pages`] returns a list page by page.
//! * A [`CallObserver`] is called for each request, so that a program can count and time requests.
//! * A [`RateLimit`] limits requests; programs use it for their calls of other servers, too.
//!
//! The crate retries no request, caches no object, and opens no watch: each program reads what it needs when
//! it needs it. `examples/prune` uses most of the crate on one page.

mod answer;
mod call;
mod client;
mod cluster;
mod field_path;
mod field_set;
mod form;
mod kinds;
mod managed_fields;
mod migration;
mod overlay;
mod pages;
mod rate_limit;
mod refusal;
mod request;
pub mod rights;
mod search;
mod selector;
mod sender;
mod served_kind;
mod warnings;

pub use call::{CallEnd, CallObserver, CallRecord, Verb};
pub use client::{ConnectError, connect, server};
pub use cluster::{Cluster, Settings};
pub use form::Form;
pub use kinds::{Discovery, UnreadGroup};
pub use kube::Client;
pub use lifecycle_objects::fence::Fence;
pub use migration::Takeover;
pub use pages::Pages;
pub use rate_limit::RateLimit;
pub use selector::Selector;
pub use served_kind::ServedKind;
