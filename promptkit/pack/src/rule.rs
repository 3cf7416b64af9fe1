//! Rules for names, each with the words in which a refusal states it.
//!
//! In: a name. Out: whether it keeps the rule. Fails never.

use std::fmt;

/// A rule that a text has to keep.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The rule as the contract writes it: a regular expression, or the name of a format.
    pub pattern: &'static str,
    /// The cure: what to write.
    pub cure: &'static str,
    keeps: fn(&str) -> bool,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pattern)
    }
}

/// Ids of packs.
pub const PACK_ID: Rule = Rule {
    pattern: "^[a-z][a-z0-9-]*$ of at most 100 characters",
    cure: "write a lower case letter, then lower case letters, digits and hyphens",
    keeps: |text| {
        text.len() <= 100 && begins(text, |c| c.is_ascii_lowercase()) && text.chars().all(|c| is_lower(c) || c == '-')
    },
};

/// Ids of prompts.
pub const PROMPT_ID: Rule = Rule {
    pattern: "^[a-z][a-z0-9_-]*$",
    cure: "write a lower case letter, then lower case letters, digits, hyphens and underscores",
    keeps: |text| {
        begins(text, |c| c.is_ascii_lowercase()) && text.chars().all(|c| is_lower(c) || matches!(c, '-' | '_'))
    },
};

/// Names of a pack's tools.
pub const TOOL_NAME: Rule = Rule {
    pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$",
    cure: "write letters, digits and underscores, and no digit first",
    keeps: |text| {
        begins(text, |c| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    },
};

/// Versions of packs.
pub const VERSION: Rule = Rule {
    pattern: "a semantic version",
    cure: "write it as in `1.0.0`, `v1.0.0-rc.1` or `1.0.0+build.5`",
    keeps: |text| semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).is_ok(),
};

/// Names that Kubernetes accepts as a label of DNS, of any length.
pub const DNS_LABEL: Rule = Rule {
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    cure: "write lower case letters, digits and hyphens, and a letter or digit first and last",
    keeps: |text| {
        let is_edge = |c: Option<char>| c.is_some_and(is_lower);
        is_edge(text.chars().next())
            && is_edge(text.chars().next_back())
            && text.chars().all(|c| is_lower(c) || c == '-')
    },
};

impl Rule {
    /// Whether a text keeps the rule.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        (self.keeps)(text)
    }
}

fn begins(text: &str, with: impl Fn(char) -> bool) -> bool {
    text.chars().next().is_some_and(with)
}

fn is_lower(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_field_keep_the_rules() {
        let long = format!("a{}", "b".repeat(100));
        let cases: [(&str, Rule, &str, bool); 25] = [
            ("an id with hyphens", PACK_ID, "my-pack-2", true),
            ("an id that ends in a hyphen", PACK_ID, "my-", true),
            ("an id that begins with a digit", PACK_ID, "2-pack", false),
            ("an id with an underscore", PACK_ID, "my_pack", false),
            ("an id of 101 characters", PACK_ID, &long, false),
            ("an id of 100 characters", PACK_ID, &long[..100], true),
            ("no id", PACK_ID, "", false),
            ("a prompt with an underscore", PROMPT_ID, "first_line-2", true),
            ("a prompt in upper case", PROMPT_ID, "First", false),
            ("a tool in upper case", TOOL_NAME, "_getWeather2", true),
            ("a tool with a hyphen", TOOL_NAME, "get-weather", false),
            ("a tool that begins with a digit", TOOL_NAME, "2get", false),
            ("a version", VERSION, "1.0.0", true),
            ("a version with v", VERSION, "v1.0.0", true),
            ("a version with a build", VERSION, "1.0.0+b1.2", true),
            ("a version with all", VERSION, "v1.0.0-rc-1+b", true),
            ("a version with two v", VERSION, "vv1.0.0", false),
            ("a version of two numbers", VERSION, "1.0", false),
            ("a label", DNS_LABEL, "a", true),
            ("a label of digits", DNS_LABEL, "1-2", true),
            ("a label that ends in a hyphen", DNS_LABEL, "a-", false),
            ("a label that begins with a hyphen", DNS_LABEL, "-a", false),
            ("a label with a dot", DNS_LABEL, "a.b", false),
            ("no label", DNS_LABEL, "", false),
            ("a label in upper case", DNS_LABEL, "A", false),
        ];
        for (name, rule, text, expected) in cases {
            assert_eq!(rule.accepts(text), expected, "{name}");
        }
    }
}
