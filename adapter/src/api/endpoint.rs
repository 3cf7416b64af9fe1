//! The label `endpoint` of a metric, derived from a URL path and the template that made it.
//!
//! In: a template, and the path that it was rendered to. Out: the path with every part replaced that the task's
//! author did not write, such as `/clusters/{id}/statuses`. So the label has few values, whatever the events
//! contain.

/// The label keeps this many segments; the API has no deeper paths.
const DEPTH: usize = 6;

/// Replaces every second segment, and every segment that is not a plain word of the template, because those may
/// come from an event.
pub(super) fn endpoint(path: &str, template: &str) -> String {
    let written = written(template);
    let mut segments = path.split('/').filter(|segment| !segment.is_empty()).peekable();
    if segments.next_if_eq(&"api").is_some() && segments.next_if_eq(&"hyperfleet").is_some() {
        segments.next();
    }
    let mut endpoint = String::new();
    for (position, segment) in segments.enumerate().take(DEPTH) {
        let is_word = segment.len() <= 32 && segment.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_' | b'-'));
        let is_written = || written.split(['/', '?', '#']).any(|word| word == segment);
        endpoint.push('/');
        endpoint.push_str(if position % 2 == 0 && is_word && is_written() { segment } else { "{id}" });
    }
    if endpoint.is_empty() { "/".to_owned() } else { endpoint }
}

/// The template with a mark in place of each value, so that no segment with a value equals a word.
fn written(template: &str) -> String {
    let mut rest = template;
    let mut written = String::new();
    while let Some((before, behind)) = rest.split_once("{{") {
        written.extend([before, "{}"]);
        rest = behind.split_once("}}").map_or("", |(_, behind)| behind);
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_label_contains_only_words_of_the_task() {
        let by_id = "/clusters/{{ .id }}";
        let cases = [
            ("a list", "/api/hyperfleet/v1/clusters", "/clusters", "/clusters"),
            ("one", "/api/hyperfleet/v1/clusters/prod", by_id, "/clusters/{id}"),
            (
                "a report",
                "/api/hyperfleet/v1/clusters/c-1/statuses",
                "clusters/{{.id}}/statuses",
                "/clusters/{id}/statuses",
            ),
            (
                "a child",
                "/api/hyperfleet/v2/clusters/a/nodepools/b/statuses",
                "/api/hyperfleet/v2/clusters/{{ .a }}/nodepools/{{ .b }}/statuses?x={{ .c }}",
                "/clusters/{id}/nodepools/{id}/statuses",
            ),
            (
                "a collection out of the event",
                "/api/hyperfleet/v1/pumpkins/c-1",
                "/{{ .kind }}/{{ .id }}",
                "/{id}/{id}",
            ),
            ("a collection in part", "/api/hyperfleet/v1/clusters/c-1", "/{{ .kind }}s/{{ .id }}", "/{id}/{id}"),
            (
                "a path out of the event",
                "/api/hyperfleet/v1/a/b/statuses",
                "{{ .href }}/statuses",
                "/{id}/{id}/statuses",
            ),
            (
                "a base out of the configuration",
                "/api/hyperfleet/v1/clusters/c-1",
                "{{ .base }}/clusters/{{ .id }}",
                "/clusters/{id}",
            ),
            ("an id where a word is expected", "/api/hyperfleet/v1/3fa85f64", "/3fa85f64", "/{id}"),
            ("another prefix", "/health/now", "http://api/health/now", "/health/{id}"),
            ("a template without an end", "/health", "/health{{ .x", "/{id}"),
            ("the root", "/", "/", "/"),
            ("too deep", "/a/b/c/d/e/f/g/h", "/a/b/c/d/e/f/g/h", "/a/{id}/c/{id}/e/{id}"),
        ];
        for (name, path, template, expected) in cases {
            assert_eq!(endpoint(path, template), expected, "{name}");
        }
    }
}
