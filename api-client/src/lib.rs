//! The HyperFleet API over HTTP, for every program that calls it.
//!
//! In: where the API is, who calls, and requests. Out: answers whatever their status, or why there was none; and, of a
//! single resource, whether it exists ([`Lookup`]). A call is tried again by its policy and ends by its deadline.
//!
//! | module | idea |
//! | --- | --- |
//! | [`client`] | one connection pool, and the way of a call through it |
//! | [`url`] | from the URL that somebody wrote to the one that is called |
//! | [`retry`] | when a call is tried again |
//! | [`token`] | the bearer token, from a file that somebody else rotates |
//! | [`tls`] | whom the client trusts |
//! | [`problem`] | the API's errors |
//! | [`lookup`] | "definitely not found", apart from every other 404 |
//! | [`watch`] | what a program measures and traces of its calls |
//!
//! The token and the default headers go to the API's own origin and nowhere else: whoever names a foreign URL must not
//! get the caller's identity. For the same reason the client follows a redirect only within its origin.
//!
//! No error of this crate carries a URL, because a URL can hold credentials: the caller adds it as its readers may see
//! it. The crate knows nothing of tasks, events, Kubernetes or databases.

pub mod client;
pub mod lookup;
pub mod problem;
pub mod retry;
pub mod tls;
pub mod token;
pub mod url;
pub mod watch;

pub use client::{Answer, CallError, Client, Failure, Request, Settings, SettingsError, TokenSettings};
pub use lookup::Lookup;
pub use retry::{Backoff, RetryPolicy};
pub use url::Base;
