//! The languages in which an author writes a task: CEL expressions, templates, JSONPath, and the values that they read.
//!
//! In: texts, and the variables of a [`Scope`](scope::Scope). Out: values, texts, and what an expression reads. Fails: with
//! the place of the mistake. Nothing here knows what a task, an adapter or a Kubernetes object is.

pub mod cel;
pub mod field;
pub mod pattern;
pub mod resource_reads;
pub mod scope;
pub mod secrets;
pub mod template;
pub mod value;
