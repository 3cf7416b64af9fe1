//! Resolves the URL of a request against the URL of the API.
//!
//! In: a URL as a task's author wrote it, and the API's base URL. Out: a path below the base (with its
//! query), or a foreign URL unchanged. Fails: never; an invalid URL fails when it is called.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;

/// The API version in paths if none is configured.
const DEFAULT_VERSION: &str = "v1";

/// The characters that are escaped in a path segment: all but the unreserved ones of RFC 3986.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes a value as one path segment; `None` if it is empty, `.` or `..`.
///
/// URL parsers and servers remove such segments, so that the request would name another resource.
#[must_use]
pub fn segment(value: &str) -> Option<String> {
    let vanishes = matches!(value, "" | "." | "..");
    (!vanishes).then(|| utf8_percent_encode(value, &ESCAPED).to_string())
}

/// The text as a person may read it: a URL without its user and password.
#[must_use]
pub fn without_password(text: &str) -> String {
    let Ok(mut url) = Url::parse(text.trim()) else { return text.to_owned() };
    // Only a URL without a host has no place for them.
    let _ = url.set_password(None).and_then(|()| url.set_username(""));
    url.as_str().trim_end_matches('/').to_owned()
}

/// The API's base URL and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    url: Url,
    version: String,
}

impl Base {
    /// The API below `url`, with `version` in its paths; empty means `v1`.
    #[must_use]
    pub fn new(url: Url, version: &str) -> Self {
        let version = if version.is_empty() { DEFAULT_VERSION } else { version };
        Self { url, version: version.to_owned() }
    }

    /// Resolves a request's URL against the API.
    ///
    /// A relative URL gets the API's prefix, unless it begins with `api/`. An absolute URL on the API's
    /// origin loses the origin and the base path. Any other URL is foreign and stays unchanged. `.`, `..` and
    /// superfluous slashes are removed from paths; queries are kept, and fragments are dropped.
    #[must_use]
    pub fn resolve(&self, url: &str) -> String {
        let (target, prefix) = match url.split_once("://") {
            // `://` after the first slash is part of a path or a query.
            Some((scheme, _)) if scheme.contains(['/', '?', '#']) => (url, None),
            None => (url, None),
            Some((_, rest)) => match Url::parse(url) {
                Ok(absolute) if self.is_origin_of(&absolute) => {
                    let path = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
                    (path, Some(self.url.path().trim_end_matches('/')))
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
                // The URL is on the API's origin, but not below its base path: it is foreign.
                _ => return url.to_owned(),
            },
            None if path.starts_with("/api/") => path,
            None => format!("/api/hyperfleet/{}{}", self.version, path.trim_end_matches('/')),
        };
        if let Some(query) = query {
            resolved.push('?');
            resolved.push_str(query);
        }
        resolved
    }

    /// Builds the URL to call from the result of [`resolve`](Self::resolve); `None` if it is not an http or
    /// https URL.
    #[must_use]
    pub fn locate(&self, resolved: &str) -> Option<Url> {
        // The URL parser drops trailing blanks, which would turn the name `x ` into `x`: escape them.
        let trimmed = resolved.trim_end_matches(' ');
        let resolved = format!("{trimmed}{}", "%20".repeat(resolved.len() - trimmed.len()));
        if resolved.starts_with('/') {
            Url::parse(&format!("{}{resolved}", self.url.as_str().trim_end_matches('/'))).ok()
        } else {
            Url::parse(&resolved).ok().filter(is_web_address)
        }
    }

    /// The URL that relative URLs are resolved against.
    pub(crate) fn root(&self) -> Url {
        self.locate(&self.resolve("")).unwrap_or_else(|| self.url.clone())
    }

    /// Whether a URL has the API's origin.
    #[must_use]
    pub fn is_origin_of(&self, url: &Url) -> bool {
        url.origin() == self.url.origin()
    }

    /// Whether a URL may have the API's origin once its templates (`{{ … }}`) are rendered: always, unless
    /// its scheme and host are literal text and differ.
    #[must_use]
    pub fn may_serve(&self, url: &str) -> bool {
        let written = url.split_once("{{").map_or(url, |(written, _)| written);
        let is_host_written = |rest: &str| written.len() == url.len() || rest.contains(['/', '?', '#']);
        match written.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) && is_host_written(rest) => {
                Url::parse(written).map_or(true, |absolute| self.is_origin_of(&absolute))
            }
            _ => true,
        }
    }
}

/// Whether a URL is an http or https URL.
pub(crate) fn is_web_address(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
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

    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    /// Values that try to change the structure of a URL.
    fn hostile_value() -> impl Strategy<Value = String> {
        prop_oneof!["[./\\\\%2eEfF?#@:;a \t\n\r\u{0}-]{0,8}", ".{0,12}", "[a-z0-9-]{1,20}"]
    }

    fn base(text: &str, version: &str) -> Base {
        Base::new(Url::parse(text).expect("a URL"), version)
    }

    #[test]
    fn url_is_resolved_against_the_api() {
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
            assert_eq!(base(at, version).resolve(url), expected, "{name}");
        }
    }

    #[test]
    fn only_a_literal_foreign_host_is_never_the_api() {
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
            assert_eq!(base("http://api:8000", "v1").may_serve(url), expected, "{name}");
        }
    }

    #[test]
    fn resolved_path_is_located_below_the_base() {
        let cases = [
            ("at a root", "http://api:8000", "/api/x?a=b", Some("http://api:8000/api/x?a=b")),
            ("below a base path", "http://api:8000/fleet/", "/api/x", Some("http://api:8000/fleet/api/x")),
            ("foreign", "http://api:8000", "https://else.example/x", Some("https://else.example/x")),
            ("a blank at the end", "http://api:8000", "/api/x ", Some("http://api:8000/api/x%20")),
            ("no web address", "http://api:8000", "ftp://else.example/x", None),
            ("no address at all", "http://api:8000", "http://", None),
        ];
        for (name, at, resolved, expected) in cases {
            assert_eq!(base(at, "v1").locate(resolved).as_ref().map(Url::as_str), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_value_reaches_the_server_as_one_segment(id in hostile_value()) {
            let at = base("http://api:8000/fleet", "v1");
            let segment = segment(&id);
            prop_assert_eq!(segment.is_none(), ["", ".", ".."].contains(&id.as_str()), "{}", id);
            let Some(segment) = segment else { return Ok(()) };
            let url = at.locate(&at.resolve(&format!("resources/{segment}"))).expect("a URL");
            let called = url.path().strip_prefix("/fleet/api/hyperfleet/v1/resources/").expect("the collection");
            prop_assert!(!called.contains('/') && url.query().is_none(), "{}", url);
            prop_assert_eq!(percent_decode_str(called).decode_utf8_lossy(), id);
        }

        #[test]
        fn relative_url_never_leaves_the_api(path in "[a-z./%-]{0,30}") {
            let at = base("http://api:8000/fleet", "v1");
            let located = at.locate(&at.resolve(&path)).expect("a URL");
            prop_assert!(at.is_origin_of(&located));
            prop_assert!(!located.path().contains("/../") && !located.path().contains("//"), "{}", located);
        }

        #[test]
        fn resolve_is_idempotent(path in "api/[a-z./]{0,20}") {
            let at = base("http://api:8000", "v1");
            let once = at.resolve(&path);
            prop_assert_eq!(at.resolve(&once), once);
        }
    }
}
