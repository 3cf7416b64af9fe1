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

/// This build. A release sets the variables `HYPERFLEET_VERSION`, `HYPERFLEET_COMMIT` and `HYPERFLEET_BUILD_DATE`;
/// `build.rs` has the defaults.
pub const THIS: Version = Version {
    number: env!("HYPERFLEET_VERSION"),
    commit: env!("HYPERFLEET_COMMIT"),
    date: env!("HYPERFLEET_BUILD_DATE"),
};

/// Version and commit of this build in one line, for `--version`.
pub const LINE: &str = env!("HYPERFLEET_VERSION_LINE");

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Version:    {}", self.number)?;
        writeln!(f, "Commit:     {}", self.commit)?;
        write!(f, "Build Date: {}", self.date)
    }
}
