//! Where an object lives.
//!
//! Reads and writes name their destination, and whoever does the I/O picks the transport by it. Objects at two destinations
//! never meet: neither owns the other, no selector finds both, and both can have the same name.

use std::fmt;

/// Where an object lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// The cluster that the Kubernetes transport talks to.
    ThisCluster,
    /// A Maestro consumer, by its name.
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
