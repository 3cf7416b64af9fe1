//! Reads packs of PromptKit, and the arena configuration that is sent beside them, without I/O.
//!
//! ```text
//! text ─▶ reader ─▶ pack:  prompts, tools, agents, evals, blocklists
//!           │  ├──▶ arena: how the tools of the pack are served, providers, scenarios
//!           │  └──▶ schema: what the published schema of packs asks beyond that
//!           ▼
//!      diagnostics: path in the file, what is wrong, what would fix it
//! ```
//!
//! In: the texts of a deploy request. Out: values for the deploy adapters. Fails: with every mistake of a text at once.
//! [`pack`] and [`arena`] read leniently, as the adapters of others do: what is absent has its default, and unknown keys are
//! skipped; a value of a wrong type is refused. Whether a pack also keeps the rules of its schema is asked of [`schema`].

pub mod arena;
pub mod pack;
pub mod reader;
pub mod rule;
pub mod schema;
