//! Proxies between a client and a server, which inject faults into chosen requests.
//!
//! In: an upstream ([`Proxy`] for HTTP, [`TcpProxy`] for any TCP protocol), and rules that choose requests
//! ([`When`]) and faults ([`Fault`]). Out: an address for the tested client, and a record of all requests.
//! Fails: only at the start; later, an unreachable upstream breaks the client's connection, as it would
//! without a proxy.
//!
//! A [`Proxy`] of an API server terminates TLS with its own certificate and connects to the server with TLS.
//! It forwards the bearer token and the rest of a request unchanged, and streams responses, so that watches
//! work. It supports HTTP/1.1 without upgrades, so `exec` and `port-forward` do not work.

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
