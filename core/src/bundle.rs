//! Bundles: one entry of a task that keeps many objects as one set, in waves, with policies for each object.
//!
//! In: the rendered objects of the set, with their annotations. Out: the [`Settings`](policy::Settings) of each object.
//! Fails: with all bad annotations of an object at once.
//!
//! Nothing here decides what becomes of an object, and nothing here knows which objects are live.

pub mod identity;
mod kebab;
pub mod policy;
