//! Checks the syntax of Kubernetes labels.

/// Returns what is wrong with a label key, if anything.
#[must_use]
pub fn key_fault(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        return Some("its prefix is not a DNS subdomain");
    }
    (!is_label_value(name) || name.is_empty())
        .then_some("it must be 1 to 63 letters, digits, `-`, `_` or `.`, with a letter or digit at either end")
}

/// Returns what is wrong with a label value, if anything.
#[must_use]
pub fn value_fault(value: &str) -> Option<&'static str> {
    (!is_label_value(value))
        .then_some("it must be at most 63 letters, digits, `-`, `_` or `.`, with a letter or digit at either end")
}

/// Whether a text is a DNS subdomain (RFC 1123), as the names of groups and of most objects.
#[must_use]
pub fn is_subdomain(text: &str) -> bool {
    let is_label = |label: &str| {
        let at_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        label.starts_with(at_end) && label.ends_with(at_end) && label.chars().all(|c| at_end(c) || c == '-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Whether a text is a valid Kubernetes label value.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && bytes.iter().all(inner) && edge(bytes.first()) && edge(bytes.last())
}
