//! The cluster in which an object lives.
//!
//! Each read and each write names its destination, and the adapter picks the transport by it. Objects in two
//! destinations are unrelated: they may have the same name, neither can own the other, and no query finds objects
//! in two destinations.

use std::fmt;

/// The cluster in which an object lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// The cluster whose API server the Kubernetes transport is connected to.
    ThisCluster,
    /// The remote cluster of a Maestro consumer with this name.
    Consumer(String),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ThisCluster => f.write_str("this cluster"),
            Self::Consumer(name) => write!(f, "Maestro consumer {name}"),
        }
    }
}
