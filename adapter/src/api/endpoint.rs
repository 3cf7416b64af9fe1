//! The endpoint that a path belongs to, as a metric's label.
//!
//! In: a path. Out: the path with ids replaced, from a small set whatever events contain: `/clusters/{id}/statuses`.

/// Deeper paths do not exist in the API.
const DEPTH: usize = 6;

/// Replaces what may be an id: every second segment, and any segment that is not a plain word.
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
    fn keeps_ids_out() {
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
