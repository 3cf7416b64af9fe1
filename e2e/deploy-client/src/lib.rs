//! A client for tests that drives deploy adapters as PromptArena's command line does.
//!
//! In: a project's directory and a command. Out: what the command prints, and its exit code. The files in `.promptarena`, the
//! calls of each command and their order, and what is shown of an answer are those of `promptarena deploy`, its weak points
//! included: a failed `apply` leaves no state, and one state file serves all environments.
//!
//! | module | idea |
//! | --- | --- |
//! | `project` | `arena.yaml`: provider, merged configuration; where the adapter's program is |
//! | `files` | state, saved plan and lock |
//! | `session` | one process of the adapter, and its calls |
//! | `commands` | plan, apply, deploy, status, destroy |
//! | `output` | what is shown of a plan and of events |

mod commands;
mod files;
mod output;
mod project;
mod session;

pub use commands::{Command, Invocation, Ran};
