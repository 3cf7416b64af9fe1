//! From the URL that a task wrote to the one that is called.
//!
//! In: a rendered URL, the API's base and version. Out: a path below the base (with its query), or a foreign URL as it
//! is. Nothing fails here: a URL that makes no sense fails when it is called.

use reqwest::Url;

/// The version in paths where none is configured.
const DEFAULT_VERSION: &str = "v1";

/// Rewrites a URL for the API at `base`.
///
/// A relative URL gets the API's prefix unless it begins with `api/`. An absolute one on the API's own origin loses
/// origin and base path; any other is foreign and left alone, as is everything if no base is configured. Paths are
/// cleaned of `.`, `..` and superfluous slashes; queries are kept, fragments are not.
#[must_use]
pub fn resolve(url: &str, base: Option<&Url>, version: &str) -> String {
    let Some(base) = base else { return url.to_owned() };
    let (target, prefix) = match url.split_once("://") {
        // `://` further back stands in a path or a query.
        Some((scheme, _)) if scheme.contains(['/', '?', '#']) => (url, None),
        None => (url, None),
        Some((_, rest)) => match Url::parse(url) {
            Ok(absolute) if absolute.origin() == base.origin() => {
                let path = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
                (path, Some(base.path().trim_end_matches('/')))
            }
            _ => return url.to_owned(),
        },
    };
    let target = target.split_once('#').map_or(target, |(before, _)| before);
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let path = clean(path);
    let mut resolved = match prefix {
        Some(prefix) => match path.strip_prefix(prefix) {
            Some("") => "/".to_owned(),
            Some(below) if below.starts_with('/') => below.to_owned(),
            // On the API's host, but beside its base.
            _ => return url.to_owned(),
        },
        None if path.starts_with("/api/") => path,
        None => {
            let version = if version.is_empty() { DEFAULT_VERSION } else { version };
            format!("/api/hyperfleet/{version}{}", path.trim_end_matches('/'))
        }
    };
    if let Some(query) = query {
        resolved.push('?');
        resolved.push_str(query);
    }
    resolved
}

/// Whether a URL may be on the origin of `base` once its templates are rendered. Only a host that is written out is
/// certainly another one.
pub(super) fn may_be_at(base: &Url, url: &str) -> bool {
    let written = url.split_once("{{").map_or(url, |(written, _)| written);
    let is_host_written = |rest: &str| written.len() == url.len() || rest.contains(['/', '?', '#']);
    match written.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) && is_host_written(rest) => {
            Url::parse(written).map_or(true, |absolute| absolute.origin() == base.origin())
        }
        _ => true,
    }
}

/// The URL that is called, given what [`resolve`] made of it.
pub(super) fn locate(resolved: &str, base: &Url) -> Option<Url> {
    // The parser drops blanks at the end, so that the name `x ` would be read as `x`.
    let trimmed = resolved.trim_end_matches(' ');
    let resolved = format!("{trimmed}{}", "%20".repeat(resolved.len() - trimmed.len()));
    if resolved.starts_with('/') {
        Url::parse(&format!("{}{resolved}", base.as_str().trim_end_matches('/'))).ok()
    } else {
        Url::parse(&resolved).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
    }
}

fn clean(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    use jiff::Timestamp;
    use lifecycle_core::scope::Scope;
    use lifecycle_core::template::{Template, UrlTemplate};
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    /// The URL that a call goes to whose template reads `id`; none if the template refuses the value.
    fn called(template: &str, id: &str, at: &Url) -> Option<Url> {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        scope.set("id", id.into());
        scope.set("base", "https://else.example/fleet".into());
        scope.set("none", "".into());
        let url = UrlTemplate::new(Template::parse(template).expect("a template")).render(&scope).ok()?;
        locate(&resolve(&url, Some(at), "v1"), at)
    }

    /// Values as an attacker would choose them.
    fn hostile_value() -> impl Strategy<Value = String> {
        prop_oneof!["[./\\\\%2eEfF?#@:;a \t\n\r\u{0}-]{0,8}", ".{0,12}", "[a-z0-9-]{1,20}"]
    }

    fn base(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn rewrites_urls() {
        let plain = "http://api:8000";
        let nested = "https://gate.example/fleet/";
        let cases = [
            ("relative", plain, "v1", "clusters/a", "/api/hyperfleet/v1/clusters/a"),
            ("relative with a slash", plain, "v1", "/clusters/a", "/api/hyperfleet/v1/clusters/a"),
            ("no version configured", plain, "", "clusters/a", "/api/hyperfleet/v1/clusters/a"),
            ("another version", plain, "v2", "clusters", "/api/hyperfleet/v2/clusters"),
            ("begins with api", plain, "v2", "api/hyperfleet/v1/clusters", "/api/hyperfleet/v1/clusters"),
            ("begins with a slash and api", plain, "v2", "/api/other", "/api/other"),
            ("begins with api by chance", plain, "v1", "apiary/x", "/api/hyperfleet/v1/apiary/x"),
            ("needs cleaning", plain, "v1", "//clusters/./a//b/../", "/api/hyperfleet/v1/clusters/a"),
            ("climbs over the root", plain, "v1", "../../x", "/api/hyperfleet/v1/x"),
            ("empty", plain, "v1", "", "/api/hyperfleet/v1"),
            (
                "a query is kept",
                plain,
                "v1",
                "clusters?search=name='a/../b'&page=2",
                "/api/hyperfleet/v1/clusters?search=name='a/../b'&page=2",
            ),
            ("a fragment is not", plain, "v1", "clusters?a=b#c", "/api/hyperfleet/v1/clusters?a=b"),
            ("absolute, on the API", plain, "v1", "http://api:8000/api/x/?a=b", "/api/x?a=b"),
            ("absolute, on the API, no version added", plain, "v1", "http://api:8000/clusters", "/clusters"),
            ("absolute, on the API, no path", plain, "v1", "http://api:8000", "/"),
            ("absolute, the default port spelt out", "http://api", "v1", "http://api:80/x", "/x"),
            ("absolute, another port", plain, "v1", "http://api:9000/x/", "http://api:9000/x/"),
            ("absolute, another scheme", plain, "v1", "https://api:8000/x", "https://api:8000/x"),
            ("absolute, another host", plain, "v1", "http://else.example//x?y", "http://else.example//x?y"),
            ("absolute, below the base path", nested, "v1", "https://gate.example/fleet/api/x", "/api/x"),
            ("absolute, the base path itself", nested, "v1", "https://gate.example/fleet", "/"),
            (
                "absolute, beside the base path",
                nested,
                "v1",
                "https://gate.example/fleets/x",
                "https://gate.example/fleets/x",
            ),
            (
                "a URL in a query is no absolute URL",
                plain,
                "v1",
                "hooks?to=http://api:8000/x",
                "/api/hyperfleet/v1/hooks?to=http://api:8000/x",
            ),
        ];
        for (name, at, version, url, expected) in cases {
            assert_eq!(resolve(url, Some(&base(at)), version), expected, "{name}");
        }
    }

    #[test]
    fn leaves_everything_alone_without_a_base() {
        for url in ["clusters/a?b=c", "http://api/x", ""] {
            assert_eq!(resolve(url, None, "v1"), url);
        }
    }

    #[test]
    fn only_a_written_foreign_host_is_certainly_not_the_api() {
        let cases = [
            ("a path", "/clusters/{{ .id }}", true),
            ("the API's own origin", "http://api:8000/x", true),
            ("another host", "https://else.example/{{ .id }}", false),
            ("another host, and nothing after it", "https://else.example", false),
            ("another port", "http://api:9000/x", false),
            ("a host that is a template", "http://{{ .host }}/x", true),
            ("a host that is a template in part", "http://api.{{ .zone }}/x", true),
            ("a template at the start", "{{ .base }}/x", true),
            ("a URL in a query", "/hooks?to=http://else.example/x", true),
        ];
        for (name, url, expected) in cases {
            assert_eq!(may_be_at(&base("http://api:8000"), url), expected, "{name}");
        }
    }

    #[test]
    fn locates_paths_below_the_base() {
        let cases = [
            ("at a root", "http://api:8000", "/api/x?a=b", Some("http://api:8000/api/x?a=b")),
            ("below a base path", "http://api:8000/fleet/", "/api/x", Some("http://api:8000/fleet/api/x")),
            ("foreign", "http://api:8000", "https://else.example/x", Some("https://else.example/x")),
            ("a blank at the end", "http://api:8000", "/api/x ", Some("http://api:8000/api/x%20")),
            ("no web address", "http://api:8000", "ftp://else.example/x", None),
            ("no address at all", "http://api:8000", "http://", None),
        ];
        for (name, at, resolved, expected) in cases {
            assert_eq!(locate(resolved, &base(at)).as_ref().map(Url::as_str), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_relative_url_never_leaves_the_api(path in "[a-z./%-]{0,30}") {
            let at = base("http://api:8000/fleet");
            let located = locate(&resolve(&path, Some(&at), "v1"), &at).expect("a URL");
            prop_assert_eq!(located.origin(), at.origin());
            prop_assert!(!located.path().contains("/../") && !located.path().contains("//"), "{}", located);
        }

        #[test]
        fn a_value_reaches_the_server_as_the_segment_it_stands_for(id in hostile_value()) {
            let at = base("http://api:8000/fleet");
            let cases = [
                ("/clusters/{{ .id }}", "/fleet/api/hyperfleet/v1/clusters/", ""),
                ("clusters/{{ .id }}/statuses?x={{ .id }}", "/fleet/api/hyperfleet/v1/clusters/", "/statuses"),
                ("http://api:8000/fleet/clusters/{{ .id }}", "/fleet/clusters/", ""),
                ("{{ .base }}/{{ .id }}/x", "/fleet/", "/x"),
                ("https://else.example/{{ .id }}", "/", ""),
                (r#"{{ printf "/clusters/%s" .id }}/statuses"#, "/fleet/api/hyperfleet/v1/clusters/", "/statuses"),
                (r#"{{ printf "%s/%s" .base .id }}/x"#, "/fleet/", "/x"),
                (r#"{{ $url := print "/clusters/" .id }}{{ $url }}/x"#, "/fleet/api/hyperfleet/v1/clusters/", "/x"),
                ("{{ .base }}{{ .none }}/{{ .id }}/x", "/fleet/", "/x"),
            ];
            for (template, before, behind) in cases {
                let Some(url) = called(template, &id, &at) else { continue };
                let segment = url.path().strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
                let decoded = segment.filter(|segment| !segment.contains('/'))
                    .and_then(|segment| percent_decode_str(segment).decode_utf8().ok());
                prop_assert_eq!(decoded.as_deref(), Some(id.as_str()), "{}: {}", template, url);
            }
        }

        #[test]
        fn a_value_in_a_host_stays_in_the_host(id in hostile_value()) {
            let at = base("http://api:8000");
            if let Some(url) = called("https://clusters-{{ .id }}.example.com/x", &id, &at) {
                let host = url.host_str().unwrap_or_default();
                prop_assert!(host.ends_with(".example.com"), "{}", url);
                // Other characters are written in Punycode, which begins with its own prefix.
                prop_assert!(!id.is_ascii() || host.starts_with("clusters-"), "{}", url);
                prop_assert_eq!(url.path(), "/x");
            }
        }

        #[test]
        fn an_ordinary_value_is_never_refused(id in "[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,20}") {
            let at = base("http://api:8000");
            let url = called("/clusters/{{ .id }}/statuses", &id, &at);
            let expected = format!("/api/hyperfleet/v1/clusters/{id}/statuses");
            prop_assert_eq!(url.as_ref().map(Url::path), Some(expected.as_str()));
        }

        #[test]
        fn what_is_resolved_stays_as_it_is(path in "api/[a-z./]{0,20}") {
            let at = base("http://api:8000");
            let once = resolve(&path, Some(&at), "v1");
            prop_assert_eq!(resolve(&once, Some(&at), "v1"), once);
        }
    }
}
