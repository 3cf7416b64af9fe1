//! The label `endpoint` of a metric, derived from a URL path.
//!
//! In: a path. Out: the path with ids replaced, such as `/clusters/{id}/statuses`, so that the label has few
//! values whatever ids the events contain.

/// The label keeps this many segments; the API has no deeper paths.
const DEPTH: usize = 6;

/// Replaces every second segment, and every segment that is not a plain word, because those may be ids.
pub(super) fn endpoint(path: &str) -> String {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty()).peekable();
    if segments.next_if_eq(&"api").is_some() && segments.next_if_eq(&"hyperfleet").is_some() {
        segments.next();
    }
    let mut endpoint = String::new();
    for (position, segment) in segments.enumerate().take(DEPTH) {
        let is_word = segment.len() <= 32 && segment.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_' | b'-'));
        endpoint.push('/');
        endpoint.push_str(if position % 2 == 0 && is_word { segment } else { "{id}" });
    }
    if endpoint.is_empty() { "/".to_owned() } else { endpoint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_label_contains_no_ids() {
        let cases = [
            ("a list", "/api/hyperfleet/v1/clusters", "/clusters"),
            ("one", "/api/hyperfleet/v1/clusters/prod", "/clusters/{id}"),
            ("a report", "/api/hyperfleet/v1/clusters/c-1/statuses", "/clusters/{id}/statuses"),
            ("a child", "/api/hyperfleet/v2/clusters/a/nodepools/b/statuses", "/clusters/{id}/nodepools/{id}/statuses"),
            ("an id where a word is expected", "/api/hyperfleet/v1/3fa85f64", "/{id}"),
            ("another prefix", "/health/now", "/health/{id}"),
            ("the root", "/", "/"),
            ("too deep", "/a/b/c/d/e/f/g/h", "/a/{id}/c/{id}/e/{id}"),
        ];
        for (name, path, expected) in cases {
            assert_eq!(endpoint(path), expected, "{name}");
        }
    }
}
