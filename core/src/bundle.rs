//! What a task says of a [bundle](lifecycle_bundle): its rendered manifests, when its objects are ready, and its conditions.

pub mod conditions;
pub mod ready;
pub mod render;
