//! The version of the program that a configuration asks for.

use semver::Version;

/// What comparing the configured version with the program's gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agreement {
    /// They agree, or nothing is to be compared.
    Agrees,
    /// The configured one cannot be read.
    Unreadable,
    /// Major or minor differ.
    Differs,
}

/// Compares major and minor; builds of `0.0.0` are for development and agree with everything.
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

/// Reads a version as leniently as the Go adapter does: a leading `v`, and parts left out.
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
    fn major_and_minor_must_agree() {
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
