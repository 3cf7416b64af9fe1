//! Faults between a client and a server, at the request of the test's choice.
//!
//! In: an upstream ([`Proxy`] for HTTP, [`TcpProxy`] for anything else) and rules: *when* a request matches,
//! *this* becomes of it. Out: an address for the client under test, and a record of every request that came.
//!
//! A [`Proxy`] of an API server ends TLS with a certificate of its own and opens it again towards the
//! server; the bearer token and everything else in a request pass through unchanged. Responses stream, so watches work.
//! HTTP/1.1 only, and no upgrades: `exec` and `port-forward` do not pass.
//!
//! What can fail is only setting one up. Afterwards an upstream that cannot be reached looks to the client as
//! it would without a proxy: the connection breaks.

mod gate;
mod http_proxy;
mod rules;
mod server;
mod stream;
mod tcp;

pub use gate::Gate;
pub use http_proxy::Proxy;
pub use rules::{Fault, Faults, Request, When};
pub use tcp::TcpProxy;

pub(crate) use server::{Backend, Server};
