//! A Maestro server for tests: the answers of the real one, in memory, with agents and faults in the test's hands.
//!
//! In: requests over gRPC and REST on the loopback interface, and what the test makes agents do. Out: answers, status
//! events and objects. Fails: like the real server, with its texts; and as the test demands ([`Faults`]).
//!
//! ```text
//!  Publish ─▶ event ─▶ publish ─▶ database ◀── rest ◀── GET, DELETE
//!                         │          ▲
//!                         ▼          │ status
//!                      spoke: what an agent has received
//!                         ▲          │
//!             driver (the test) or agent (a real API server)
//! ```
//!
//! The server shares no code with the client that is tested with it, except the generated messages of `proto`.
//!
//! # Where the contract is silent
//!
//! The real server may do something else in these places, so a client should not depend on them.
//!
//! | place | here |
//! | --- | --- |
//! | an event without id or source | accepted, where no right depends on the source |
//! | an attribute `ce-…` whose name is not of lower-case letters and digits | `failed to convert to cloudevent` |
//! | a spec event whose data is not JSON | `failed to decode cloudevent` |
//! | data that is no bundle, such as a list | `maestro-8` |
//! | a deletion without `contenttype` or data | accepted |
//! | texts behind `failed to convert`, `failed to decode` and `maestro-8: …, ` | words of our own |
//! | a client without a certificate, with `mtls` | gets through the handshake, and then `Unauthenticated` |
//! | a token that the review refuses | `Unknown`, `the token is not valid` |
//! | the text of a failed lock | `failed to update resource: maestro-26: failed to acquire the advisory lock` |
//! | a message of more than 4 MiB | `OutOfRange`, as tonic answers; Go answers `ResourceExhausted` |
//! | `payload identical`, by which a report is dropped | version, sequence id and content are the stored ones |
//! | two reports right after another | two events, each with its own status |
//! | a report with `Deleted=True` of a row of another consumer | dropped |
//! | the event of a status for a bundle without metadata | has no extension `metadata` |
//! | an agent that hears of a deletion, but never of the bundle | confirms at once |
//! | a bundle that an agent has, and the server does not, after a resync | the agent deletes its objects in silence |
//! | a resync of agents after a restart | at once |
//! | an object that another bundle of the agent has, too | stays until the last of these bundles drops or deletes it |
//! | an object of a dropped manifest | goes after all manifests are applied, unless `deleteOption` orphans it |
//! | a manifest of strategy `ReadOnly` whose object is missing | `Applied=True`, `Available=False` |
//! | an object that somebody changes or deletes | [`KubeAgent`] writes it again only if it is missing, in its next pass |
//! | an agent that only waits for objects to go | reports `Deleting=True` once |
//! | a list without order | in the order of the last writes |
//! | a page or size that is no number | 1 and 100 |
//! | an unknown column in a search; a value of another type | 400, `maestro-23` |
//! | an unknown column in `orderBy` | 400, `maestro-21` |
//! | `<>null` in a search of labels | the label exists, as the Go client means it |
//! | `<=`, `>=`, `ilike`, `not in` and `not (…)` in a plain search | accepted |
//! | a consumer without a name | its name is its id |
//! | an unknown path; an unknown method | 404, `maestro-7`; 405, `maestro-10` |
//!
//! # What is missing
//!
//! The broker for agents (8091), keepalive pings and the refusal of too many of them, metrics, health, `/errors`, `/openapi`, compression, reviews of tokens and of rights by
//! an API server ([`Options::authentication`] and [`Options::grants`] instead), and both thresholds by which the real
//! server retires events and sends bundles again.
//!
//! [`KubeAgent`] sets no owner references, knows no `WellKnownStatus`, no paths with brackets, no `ignoreFields`, no
//! `conditionRules` and no `executer`. It writes manifests of the strategy `Update` with server-side apply, too, by force.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod agent;
mod broadcast;
mod connection;
mod database;
mod driver;
mod event;
mod faults;
mod grpc;
mod options;
mod publish;
mod refusal;
mod reports;
mod rest;
mod resync;
mod search;
mod sequence;
mod server;
mod spoke;
mod state;
mod status;
mod validation;

pub use agent::KubeAgent;
pub use database::{Bundle, StoredStatus};
pub use driver::DriverError;
pub use event::{Attribute, Event, decode};
pub use faults::Faults;
pub use options::{Authentication, Grant, Options, Tls};
pub use server::{LocalMaestro, Snapshot, StartError};
pub use spoke::{AgentRefusal, LARGEST_BUNDLE};
pub use status::{DropReason, HEARTBEAT_TYPE, Report, Reported, STATUS_TYPE};
