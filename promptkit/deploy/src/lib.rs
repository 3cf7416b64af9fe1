//! The protocol of PromptArena's deploy adapters.
//!
//! `promptarena deploy` starts the program `promptarena-deploy-<provider>` and speaks JSON-RPC 2.0 with it, one document per
//! line, over standard input and output. Standard error goes to the null device. So whatever the user must see is an event, a
//! warning or the text of an error.
//!
//! | module | idea |
//! | --- | --- |
//! | [`protocol`] | the shapes on the wire |
//! | [`provider`] | what a deploy adapter implements |
//! | [`account`] | what a running call has done: events, errors, and the state that it leaves |
//! | [`state`] | the adapter's state between two calls, and whose it is |
//! | [`error`] | an error that names the resource, the category and the cure |
//! | [`drive`] | drives the pass of a set of resources, and accounts for each of them |
//! | [`poll`] | asks again and again until something works |
//! | [`serve`] | the server: answers lines in order until the input ends or a signal arrives |
//! | `lines` | reads lines up to a limit |
//! | `answer` | writes lines up to a limit |
//! | `methods` | from a request to its answer |
//!
//! A provider's `main` is `promptkit_deploy::serve::run(&provider)`. The crate knows neither a cloud nor HyperFleet.

pub mod account;
mod answer;
pub mod drive;
pub mod error;
mod lines;
mod methods;
pub mod poll;
pub mod protocol;
pub mod provider;
pub mod serve;
pub mod state;
