//! Configuration files, settings and diagnostics for every program, without I/O.
//!
//! ```text
//! text ─▶ document ─▶ decode ─▶ a typed value
//!             │          │              ▲
//!             │       settings ◀─ environment, flags
//!             │          │
//!             └──────────┴─▶ diagnostics: file, line, column, what is wrong, what would fix it
//! ```
//!
//! The caller reads files and environment variables, and passes them as values. The meaning of each key
//! belongs to the programs, not to this crate.

pub mod address;
pub mod decode;
pub mod diagnostics;
pub mod document;
pub mod duration;
pub mod go;
pub mod settings;
