#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::cel::{Answer, Expression};
use crate::template::Template;

fn scope() -> Scope {
    let mut scope = Scope::new(Timestamp::new(1_772_366_400, 250_000_000).unwrap_or(Timestamp::UNIX_EPOCH));
    scope.set("cluster", json!({"name": "c", "count": 3, "ratio": 0.5, "big": u64::MAX, "list": [null, true]}));
    scope
}

fn read(scope: &Scope, source: &str) -> Option<Answer> {
    Expression::parse(source).ok()?.evaluate(scope).ok()
}

fn template_field(scope: &Scope, path: &[&str]) -> Option<String> {
    let field = path.iter().try_fold(scope.template_data(), |value, key| value.field(key));
    field.map(|value| format!("{value:?}"))
}

fn address_of_map(value: &gotmpl::Value) -> Option<usize> {
    let gotmpl::Value::Map(map) = value else { return None };
    Some(std::sync::Arc::as_ptr(map).addr())
}

#[test]
fn scope_is_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<Scope>();
    shared::<Expression>();
}

#[test]
fn expressions_and_templates_read_the_last_value_set() {
    let mut scope = scope();
    assert_eq!(read(&scope, "cluster.count + 1"), Some(Answer::Value(json!(4))));
    assert_eq!(template_field(&scope, &["cluster", "count"]), Some("Int(3)".to_owned()));
    scope.set("cluster", json!({"count": 9}));
    assert_eq!(read(&scope, "cluster.count"), Some(Answer::Value(json!(9))));
    assert_eq!(template_field(&scope, &["cluster", "count"]), Some("Int(9)".to_owned()));
    assert_eq!(template_field(&scope, &["cluster", "name"]), None);
    scope.unset("cluster");
    assert_eq!(read(&scope, "cluster"), None);
    assert_eq!(template_field(&scope, &["cluster"]), None);
    assert_eq!(scope.get("cluster"), None);
}

#[test]
fn templates_read_json_types_unchanged() {
    let scope = scope();
    let cases = [
        ("name", r#"String("c")"#),
        ("count", "Int(3)"),
        ("ratio", "Float(0.5)"),
        ("big", "Uint(18446744073709551615)"),
        ("list", "List([Nil, Bool(true)])"),
    ];
    for (key, expected) in cases {
        assert_eq!(template_field(&scope, &["cluster", key]).as_deref(), Some(expected), "{key}");
    }
}

#[test]
fn members_of_a_variable_can_be_set_and_removed() {
    let mut scope = scope();
    scope.set_member("resources", "a", None);
    assert_eq!(scope.get("resources"), Some(&json!({})), "removing a key creates the missing object");
    scope.set_member("resources", "a", Some(json!({"x": 1})));
    scope.set_member("resources", "b", Some(json!(2)));
    assert_eq!(scope.get("resources"), Some(&json!({"a": {"x": 1}, "b": 2})));
    assert_eq!(template_field(&scope, &["resources", "a", "x"]), Some("Int(1)".to_owned()));
    scope.set_member("resources", "a", None);
    scope.set_member("resources", "b", Some(json!(3)));
    scope.set_member("resources", "c", Some(json!(4)));
    assert_eq!(template_field(&scope, &["resources"]), Some(r#"Map({"b": Int(3), "c": Int(4)})"#.to_owned()));
    assert_eq!(read(&scope, "resources"), Some(Answer::Value(json!({"b": 3, "c": 4}))));
    scope.set_member("cluster", "extra", Some(json!(true)));
    assert_eq!(read(&scope, "cluster.extra && cluster.name == 'c'"), Some(Answer::Value(json!(true))));
    scope.set("text", json!("no object"));
    scope.set_member("text", "a", Some(json!(1)));
    assert_eq!(scope.get("text"), Some(&json!({"a": 1})));
}

#[test]
fn changing_a_variable_keeps_the_copies_of_others() {
    let mut scope = scope();
    scope.set_member("resources", "a", Some(json!({"x": 1})));
    let conversions = |scope: &Scope| {
        let data = scope.template_data();
        let resource = data.field("resources").and_then(|resources| resources.field("a"));
        (data.field("cluster").and_then(address_of_map), resource.and_then(address_of_map))
    };
    let before = conversions(&scope);
    assert!(before.0.is_some() && before.1.is_some());
    scope.set("other", json!(1));
    scope.set_member("resources", "b", Some(json!({"y": 2})));
    scope.set_member("resources", "c", Some(json!({"y": 2})));
    assert_eq!(conversions(&scope), before);
    scope.set_member("resources", "a", Some(json!({"x": 1})));
    assert_eq!(conversions(&scope).0, before.0);
    assert_ne!(conversions(&scope).1, before.1);
}

#[test]
fn shared_variable_is_converted_once_and_copied_on_write() {
    let config = Variable::from(json!({"clients": {"broker": {"topic": "clusters"}}, "level": "info"}));
    let (mut one, mut other) = (scope(), scope());
    one.share("config", &config);
    other.share("config", &config);
    assert!(std::ptr::eq(config.value(), one.get("config").unwrap_or(&Value::Null)), "nothing is copied");
    assert_eq!(read(&one, "config.clients.broker.topic"), Some(Answer::Value(json!("clusters"))));
    let converted = |scope: &Scope| {
        let data = scope.template_data_of(["config"]);
        data.field("config").and_then(|config| config.field("clients")).and_then(address_of_map)
    };
    assert!(converted(&one).is_some());
    assert_eq!(converted(&one), converted(&other));

    one.set_member("config", "level", Some(json!("debug")));
    assert_eq!(template_field(&one, &["config", "level"]), Some(r#"String("debug")"#.to_owned()));
    assert_eq!(template_field(&other, &["config", "level"]), Some(r#"String("info")"#.to_owned()));
    assert_eq!(converted(&one), converted(&other), "the unchanged part is still shared");
    assert_eq!(config.value()["level"], "info");
    one.set("config", json!(1));
    assert_eq!(other.get("config"), Some(config.value()));
}

#[test]
fn variables_named_now_and_date_hide_the_clock_in_templates() {
    let mut scope = scope();
    assert_eq!(scope.now_text(), "2026-03-01T12:00:00Z");
    assert_eq!(template_field(&scope, &["now"]), Some(r#"String("2026-03-01T12:00:00Z")"#.to_owned()));
    assert_eq!(template_field(&scope, &["date"]), Some(r#"String("2026-03-01")"#.to_owned()));
    scope.set("now", json!("mine"));
    scope.set("date", json!(5));
    assert_eq!(template_field(&scope, &["now"]), Some(r#"String("mine")"#.to_owned()));
    assert_eq!(template_field(&scope, &["date"]), Some("Int(5)".to_owned()));
    assert_eq!(read(&scope, "now == 'mine' && now() == '2026-03-01T12:00:00Z'"), Some(Answer::Value(json!(true))));
}

#[test]
fn variables_named_like_cel_functions_do_not_break_them() {
    let mut scope = scope();
    for name in ["namespace", "in", "true", "@now", "@result", "string", "dig", "size", "a.b", "", "é"] {
        scope.set(name, json!("mine"));
    }
    let source =
        "size([1]) == 1 && dig({'a': 1}, 'a') == 1 && string(1) == '1' && [1].map(x, x) == [1] && now() != 'mine'";
    assert_eq!(read(&scope, source), Some(Answer::Value(json!(true))));
    assert_eq!(template_field(&scope, &["namespace"]), Some(r#"String("mine")"#.to_owned()));
}

#[test]
fn template_data_of_has_only_the_named_variables() {
    let scope = scope();
    let part = scope.template_data_of(["now", "nope"]);
    assert_eq!(format!("{part:?}"), r#"Map({"now": String("2026-03-01T12:00:00Z")})"#);
}

#[test]
fn debug_output_has_names_and_no_values() {
    let mut scope = scope();
    scope.set("secret", json!("hunter2"));
    let text = format!("{scope:?}");
    assert!(text.contains("secret") && !text.contains("hunter2"), "{text}");
    let text = format!("{:?}", Variable::from(json!("hunter2")));
    assert!(!text.contains("hunter2"), "{text}");
}

/// A scope with a credential, and a note that mentions it.
fn with_a_secret() -> Scope {
    let mut scope = scope();
    scope.set("token", json!("hunter2-a"));
    scope.conceal(&["token"], true);
    scope.set("note", json!("quotes hunter2-a"));
    scope.set("event", json!({"id": "c-12345"}));
    scope
}

#[test]
fn text_for_readers_shows_no_secret_and_nothing_made_of_it() {
    let scope = with_a_secret();
    for (template, expected) in [
        ("is {{ .token }}", "is [redacted]"),
        ("is {{ .token | upper }}", "is [REDACTED]"),
        ("it {{ .note }}", "it quotes [redacted]"),
        ("{{ .cluster.name }} of {{ .event.id }}", "c of c-12345"),
    ] {
        let text = Template::parse(template).unwrap().render_without_secrets(&scope).unwrap();
        assert_eq!(text, expected, "{template}");
    }
}

#[test]
fn error_of_a_template_quotes_no_secret() {
    let scope = with_a_secret();
    let template = Template::parse("{{ .token | date \"2006\" }}").unwrap();
    let error = template.render(&scope).unwrap_err().to_string();
    assert!(error.contains("[redacted]") && !error.contains("hunter2"), "{error}");
}

#[test]
fn text_of_the_event_is_no_secret_although_a_secret_repeats_it() {
    let mut scope = scope();
    scope.set("cluster", json!({"id": "c-12345", "pull": "hunter2-a"}));
    scope.conceal(&["cluster"], true);
    assert_eq!(scope.secrets().text("c-12345: hunter2-a"), "[redacted]: [redacted]");
    scope.set("event", json!({"id": "c-12345"}));
    assert_eq!(scope.secrets().text("c-12345: hunter2-a"), "c-12345: [redacted]");
}
