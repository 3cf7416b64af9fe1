//! Compares the version that the configuration names with the version of the program.

use semver::Version;

/// The result of comparing the configured version with the program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Major and minor are equal, the configuration names no version, or the program is a development build.
    Agrees,
    /// The configured version or the program's version is not a version number, so that they cannot be
    /// compared.
    Unreadable,
    /// The major or minor versions differ.
    Differs,
}

/// Compares major and minor. A program of version `0.0.0` is a development build and agrees with every version.
pub(super) fn compare(configured: &str, program: &str) -> Agreement {
    if configured.is_empty() {
        return Agreement::Agrees;
    }
    let (Some(configured), Some(program)) = (parse(configured), parse(program)) else {
        return Agreement::Unreadable;
    };
    let is_development = (program.major, program.minor, program.patch) == (0, 0, 0);
    if is_development || (configured.major, configured.minor) == (program.major, program.minor) {
        Agreement::Agrees
    } else {
        Agreement::Differs
    }
}

/// Parses a version as leniently as the Go adapter does: with a leading `v`, and without minor or patch.
fn parse(text: &str) -> Option<Version> {
    let text = text.trim().trim_start_matches('v');
    let parts = text.split(['-', '+']).next()?.split('.').count();
    let padded = match parts {
        1 | 2 if !text.contains(['-', '+']) => format!("{text}{}", ".0".repeat(3 - parts)),
        _ => text.to_owned(),
    };
    Version::parse(&padded).ok()
}

#[cfg(test)]
mod tests {
    use super::{Agreement, compare};

    #[test]
    fn version_check_compares_major_and_minor() {
        let cases = [
            ("the same", "1.2.3", "1.2.3", Agreement::Agrees),
            ("another patch", "1.2.9", "1.2.3", Agreement::Agrees),
            ("another minor", "1.3.0", "1.2.3", Agreement::Differs),
            ("another major", "2.2.3", "1.2.3", Agreement::Differs),
            ("nothing configured", "", "1.2.3", Agreement::Agrees),
            ("a leading v", "v1.2.0", "1.2.3", Agreement::Agrees),
            ("no patch", "1.2", "1.2.3", Agreement::Agrees),
            ("a development build", "7.0.0", "0.0.0-dev", Agreement::Agrees),
            ("no version at all", "latest", "1.2.3", Agreement::Unreadable),
        ];
        for (name, configured, program, expected) in cases {
            assert_eq!(compare(configured, program), expected, "{name}");
        }
    }
}
