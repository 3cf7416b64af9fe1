//! Property tests: a hostile value in a URL template changes neither host nor path structure of the call.

#![expect(clippy::expect_used, reason = "tests")]

use jiff::Timestamp;
use lifecycle_api_client::Base;
use lifecycle_language::scope::Scope;
use lifecycle_language::template::{Template, UrlTemplate};
use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use reqwest::Url;

/// The URL of a call whose template reads `id`; `None` if the template refuses the value.
fn url_of_call(template: &str, id: &str, at: &Base) -> Option<Url> {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("id", id.into());
    scope.set("base", "https://else.example/fleet".into());
    scope.set("none", "".into());
    let url = UrlTemplate::new(Template::parse(template).expect("a template")).render(&scope).ok()?;
    at.locate(&at.resolve(&url))
}

/// Values as an attacker would choose them.
fn hostile_value() -> impl Strategy<Value = String> {
    prop_oneof!["[./\\\\%2eEfF?#@:;a \t\n\r\u{0}-]{0,8}", ".{0,12}", "[a-z0-9-]{1,20}"]
}

fn base(text: &str) -> Base {
    Base::new(Url::parse(text).expect("a URL"), "v1")
}

proptest! {
    #[test]
    fn hostile_value_reaches_the_server_as_one_path_segment(id in hostile_value()) {
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
            let Some(url) = url_of_call(template, &id, &at) else { continue };
            let segment = url.path().strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
            let decoded = segment.filter(|segment| !segment.contains('/'))
                .and_then(|segment| percent_decode_str(segment).decode_utf8().ok());
            prop_assert_eq!(decoded.as_deref(), Some(id.as_str()), "{}: {}", template, url);
        }
    }

    #[test]
    fn hostile_value_in_a_host_cannot_leave_the_host(id in hostile_value()) {
        let at = base("http://api:8000");
        if let Some(url) = url_of_call("https://clusters-{{ .id }}.example.com/x", &id, &at) {
            let host = url.host_str().unwrap_or_default();
            prop_assert!(host.ends_with(".example.com"), "{}", url);
            // The URL parser converts a host with other characters to Punycode, which has its own prefix.
            prop_assert!(!id.is_ascii() || host.starts_with("clusters-"), "{}", url);
            prop_assert_eq!(url.path(), "/x");
        }
    }

    #[test]
    fn ordinary_value_in_a_url_is_never_refused(id in "[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,20}") {
        let at = base("http://api:8000");
        let url = url_of_call("/clusters/{{ .id }}/statuses", &id, &at);
        let expected = format!("/api/hyperfleet/v1/clusters/{id}/statuses");
        prop_assert_eq!(url.as_ref().map(Url::path), Some(expected.as_str()));
    }
}
