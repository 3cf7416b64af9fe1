//! Version, commit and date of the build.

use std::fmt;

/// Version, commit and date of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The version, by semantic versioning.
    pub number: &'static str,
    /// The commit that the program was built from.
    pub commit: &'static str,
    /// The date of the build.
    pub date: &'static str,
}

/// This build. A release sets the variables `HYPERFLEET_VERSION`, `HYPERFLEET_COMMIT` and `HYPERFLEET_BUILD_DATE`. Without
/// the second one, `build.rs` asks git when cargo builds with `--release`.
pub const THIS: Version = Version {
    number: or(option_env!("HYPERFLEET_VERSION"), "0.0.0-dev"),
    commit: or(option_env!("HYPERFLEET_COMMIT"), "none"),
    date: or(option_env!("HYPERFLEET_BUILD_DATE"), "unknown"),
};

/// Version and commit of this build in one line, for `--version`.
pub const LINE: &str = env!("HYPERFLEET_VERSION_LINE");

const fn or(set: Option<&'static str>, default: &'static str) -> &'static str {
    match set {
        Some(set) => set,
        None => default,
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Version:    {}", self.number)?;
        writeln!(f, "Commit:     {}", self.commit)?;
        write!(f, "Build Date: {}", self.date)
    }
}
