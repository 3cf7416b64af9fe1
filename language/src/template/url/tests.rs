//! Tests of values in each position of a URL. The HTTP client's tests check that its URL parser agrees.
#![expect(clippy::unwrap_used, reason = "tests")]

use jiff::Timestamp;
use serde_json::json;

use super::*;

fn rendered(template: &str, variables: &Value) -> Result<String, String> {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    for (name, value) in variables.as_object().unwrap() {
        scope.set(name, value.clone());
    }
    let url = UrlTemplate::new(Template::parse(template).unwrap());
    url.render(&scope).map_err(|error| error.message)
}

#[test]
fn value_in_the_path_is_one_segment() {
    for template in [
        "/clusters/{{ .id }}",
        "/clusters/{{ .id }}/statuses",
        "clusters/{{ .id }}?a=b",
        "{{ .base }}/clusters/{{ .id }}/statuses",
        "/clusters/{{ .id | printf \"%s\" }}/statuses",
        "/clusters/{{ if true }}{{ .id }}{{ else }}none{{ end }}",
        "{{ define \"path\" }}/clusters/{{ . }}{{ end }}{{ template \"path\" .id }}",
        "{{ range .ids }}/{{ . }}{{ end }}",
        "https://example.com/{{ .id }}",
    ] {
        let with = |id: &str| rendered(template, &json!({ "id": id, "ids": [id], "base": "http://api/v1" }));
        for id in ["c-1", "A.b_c~d", "a b", "a..b", "ü", "a:b", "...", "a=b&c"] {
            assert!(with(id).is_ok_and(|url| url.contains(id)), "{template} {id:?} {:?}", with(id));
        }
        for id in [
            "../../x", "a/b", "/", "..", ".", "a?b", "a#b", "%2e%2e", "a%2Fb", "..\\x", "a\\b", "", " ", ".\t.", "a\nb",
        ] {
            let error = with(id).unwrap_err();
            assert!(error.contains(&format!("the value {id:?}")), "{template} {id:?}: {error}");
        }
    }
}

#[test]
fn values_of_one_segment_are_checked_together() {
    let cases = [
        ("two dots", "/a/{{ .dot }}{{ .dot }}/b", false),
        ("a dot beside the author's", "/a/.{{ .dot }}/b", false),
        ("a dot encoded by halves", "/a/%2{{ .e }}/b", false),
        ("a digit behind the author's per cent sign", "/a/%{{ .digits }}/b", false),
        ("three dots", "/a/{{ .dot }}{{ .dot }}{{ .dot }}/b", true),
        ("an empty value beside text", "/a/x{{ .empty }}/b", true),
        ("a value behind an encoded character", "/a/%20{{ .e }}/b", true),
        ("an empty value between values", "/a/{{ .e }}{{ .empty }}", true),
    ];
    let variables = json!({ "dot": ".", "e": "e", "digits": "2F", "empty": "" });
    for (name, template, fits) in cases {
        let url = rendered(template, &variables);
        assert_eq!(url.is_ok(), fits, "{name}: {url:?}");
    }
}

#[test]
fn value_at_the_start_or_in_the_query_may_contain_slashes() {
    let variables = json!({
        "href": "/api/hyperfleet/v1/clusters/c-1", "base": "https://user@gate.example:8443/fleet?x=1", "empty": "",
        "up": "/clusters/../nodepools", "back": "https://gate.example\\..\\x", "encoded": "http://a/%2E%2e/b",
        "search": "name='a/../b' and x=50%", "nil": null,
    });
    let cases = [
        ("an href", "{{ .href }}", Some("/api/hyperfleet/v1/clusters/c-1")),
        ("an href with a path behind it", "{{ .href }}/statuses", Some("/api/hyperfleet/v1/clusters/c-1/statuses")),
        ("a path behind an empty value", "{{ .empty }}{{ .href }}", None),
        ("an empty base", "{{ .empty }}/clusters", Some("/clusters")),
        (
            "the query of a base",
            "{{ .base }}&y={{ .search }}",
            Some("https://user@gate.example:8443/fleet?x=1&y=name='a/../b' and x=50%"),
        ),
        ("a query", "/clusters?search={{ .search }}", Some("/clusters?search=name='a/../b' and x=50%")),
        ("a fragment", "/clusters#{{ .search }}", Some("/clusters#name='a/../b' and x=50%")),
        ("null", "/clusters/{{ .nil }}", Some("/clusters/<no value>")),
        ("the author's own dots", "/clusters/../{{ .nil }}", Some("/clusters/../<no value>")),
        ("dot segments at the start", "{{ .up }}", None),
        ("dot segments at the start, text behind", "{{ .up }}/x", None),
        ("dot segments behind back slashes", "{{ .back }}", None),
        ("encoded dot segments", "{{ .encoded }}", None),
    ];
    for (name, template, expected) in cases {
        let url = rendered(template, &variables);
        assert_eq!(url.as_deref().ok(), expected, "{name}: {url:?}");
    }
}

#[test]
fn value_in_the_host_cannot_name_another_host() {
    let with = |id: &str| rendered("https://clusters-{{ .id }}:8443/x", &json!({ "id": id }));
    assert_eq!(with("a").unwrap(), "https://clusters-a:8443/x");
    with("x@elsewhere.example").unwrap_err();
    assert_eq!(rendered("/users/{{ .id }}", &json!({ "id": "a@b" })).unwrap(), "/users/a@b");
}

#[test]
fn error_quotes_the_template_and_the_value() {
    let error = rendered("/clusters/{{ .id }}", &json!({ "id": "../../x" })).unwrap_err();
    assert_eq!(
        error,
        "URL /clusters/{{ .id }}: the value \"../../x\" does not fit into the path, where it has to be one segment: \
         not empty, without / \\ ? # % (or @ in a host), and neither . nor .."
    );
    let long = rendered("/clusters/{{ .id }}", &json!({ "id": "/".repeat(1000) })).unwrap_err();
    assert!(long.len() < 400, "{long}");
    let missing = rendered("/clusters/{{ .id }}", &json!({})).unwrap_err();
    assert_eq!(missing, "URL /clusters/{{ .id }}: map has no entry for key \"id\"");
}

#[test]
fn field_inside_a_computed_first_value_is_one_segment() {
    let templates = [
        r#"{{ printf "/clusters/%s" .id }}/statuses"#,
        r#"{{ .id | printf "/clusters/%s" }}/statuses"#,
        r#"{{ printf "/clusters/%s/statuses" (upper .event.id) }}"#,
        r#"{{ print "/clusters/" .id "/statuses" }}"#,
        r#"{{ printf "%s/clusters/%s" .base .id }}/statuses"#,
        r#"{{ printf "%s/clusters/%s?x=1" .base .id }}"#,
        r#"{{ printf "%s%s" .prefix .id }}/statuses"#,
        r#"{{ .prefix }}{{ .id }}/statuses"#,
        r#"{{ $path := printf "/clusters/%s" .id }}{{ $path }}/statuses"#,
        r#"{{ with printf "/clusters/%s" .id }}{{ . }}/statuses{{ end }}"#,
        r#"{{ define "path" }}{{ printf "/clusters/%s" .id }}{{ end }}{{ template "path" . }}/statuses"#,
        r#"{{ replace (printf "/x/%s" .id) "/x/" "/clusters/" }}/statuses"#,
    ];
    for template in templates {
        let with = |id: &str| {
            let variables = json!({ "id": id, "event": { "id": id }, "base": "http://api/v1", "prefix": "/clusters/" });
            rendered(template, &variables)
        };
        // The source of a value in a `define` is unknown, so even this harmless value fails; the author can
        // write the text outside of the `define`.
        if !template.contains("define") {
            assert!(
                with("c-1").is_ok_and(|url| url.to_lowercase().contains("/clusters/c-1")),
                "{template} {:?}",
                with("c-1")
            );
        }
        for id in [
            "c1/nodepools/n1",
            "../x",
            "..",
            ".",
            "a?b",
            "a#b",
            "a%2Fb",
            "a\\b",
            "",
            " ",
            "/",
            "/clusters/",
            "/clusters",
        ] {
            let url = with(id);
            assert!(url.is_err(), "{template} {id:?} {url:?}");
        }
    }
}

#[test]
fn first_value_from_a_single_field_may_contain_slashes() {
    let variables = json!({ "base": "http://API.example/v1/", "id": "c-1", "search": "a='b/c' and 5%", "none": "" });
    let cases = [
        (r#"{{ trimSuffix .base "/" }}/clusters"#, "http://API.example/v1/clusters"),
        ("{{ .base | lower }}clusters", "http://api.example/v1/clusters"),
        (r#"{{ printf "%s" .base }}clusters"#, "http://API.example/v1/clusters"),
        (r#"{{ printf "%sclusters/%s/%d" .base .id 5 }}"#, "http://API.example/v1/clusters/c-1/5"),
        (r#"{{ default "http://elsewhere" .none }}/clusters"#, "http://elsewhere/clusters"),
        (
            "{{ $base := .base }}{{ $base }}clusters?search={{ .search }}",
            "http://API.example/v1/clusters?search=a='b/c' and 5%",
        ),
        (r#"{{ define "base" }}{{ .base }}{{ end }}{{ template "base" . }}clusters"#, "http://API.example/v1/clusters"),
        (r#"{{ printf "/clusters?search=%s" .search }}"#, "/clusters?search=a='b/c' and 5%"),
        (r#"{{ printf "/clusters" }}?search={{ .search }}"#, "/clusters?search=a='b/c' and 5%"),
    ];
    for (template, expected) in cases {
        assert_eq!(rendered(template, &variables).as_deref(), Ok(expected), "{template}");
    }
}
