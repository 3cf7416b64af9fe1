//! Client of the HyperFleet API over HTTP, shared by all programs that call it.
//!
//! In: the API's URL, credentials, and requests. Out: answers, whatever their status; for a single resource
//! also whether it exists ([`Lookup`]). Fails: with the reason for which no complete answer arrived. A retry
//! policy and a deadline bound each call.
//!
//! | module | idea |
//! | --- | --- |
//! | [`client`] | one connection pool, through which each call is sent |
//! | [`failure`] | why a call got no complete answer |
//! | [`url`] | resolves the URL of a request against the API's URL |
//! | [`retry`] | decides when a call is tried again |
//! | [`token`] | reads the token from a file that is rotated |
//! | [`tls`] | the certificate authorities that the client trusts |
//! | [`problem`] | the API's error documents |
//! | [`lookup`] | tells a resource that does not exist from every other 404 |
//! | [`watch`] | a trait by which a program measures and traces its calls |
//!
//! The client sends the token and the default headers to the API's own origin only: otherwise a task that names
//! a foreign URL would send it the program's credentials. It follows no redirect, because another URL's answer is
//! not the API's answer to the request.
//!
//! No error of this crate contains the URL of a request, because a URL can hold credentials; callers add a URL
//! that their readers may see. The target of a redirect is shown without credentials and query. The crate has no types of tasks, events, Kubernetes or databases.

pub mod client;
pub mod failure;
pub mod lookup;
pub mod problem;
pub mod retry;
pub mod tls;
pub mod token;
pub mod url;
pub mod watch;

pub use client::{Answer, Client, Request, Settings, SettingsError, TokenSettings, base_url};
pub use failure::{CallError, Failure};
pub use lookup::Lookup;
pub use retry::{DelayGrowth, RetryPolicy};
pub use token::AuthScheme;
pub use url::{Base, without_password};
