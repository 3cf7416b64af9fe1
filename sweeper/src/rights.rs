//! Prints what an administrator grants: roles for the sweeper, and a policy that protects the labels it trusts.
//!
//! In: the configuration, service accounts, and for the roles the kinds that the cluster serves. Out: manifests as YAML.
//! Fails: never; a pattern that no served kind matches becomes a comment.

pub mod admission;
pub mod rbac;
