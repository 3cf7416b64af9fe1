//! What every program needs for its configuration, without I/O.
//!
//! ```text
//! text ─▶ document ─▶ decode ─▶ a typed value
//!             │          │              ▲
//!             │       settings ◀─ environment, flags
//!             │          │
//!             └──────────┴─▶ diagnostics: file, line, column, what is wrong, what would fix it
//! ```
//!
//! The caller reads files and the environment, and hands them in as values: nothing here opens a file, reads a variable, or
//! knows what a key is for.

pub mod address;
pub mod decode;
pub mod diagnostics;
pub mod document;
pub mod duration;
pub mod go;
pub mod settings;
