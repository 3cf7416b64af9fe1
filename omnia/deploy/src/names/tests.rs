#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_config::diagnostics::Severity;
use lifecycle_objects::labels::is_subdomain;
use promptkit_pack::pack;
use promptkit_pack::reader::lines;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn named(pack: &Value, prompts: Prompts) -> Result<Names, Vec<String>> {
    let reader = Reader::new(pack::FILE);
    let names = of(&pack::read(&pack.to_string()).unwrap(), prompts, &reader);
    reader.finish(names).map(|(names, _)| names).map_err(|found| lines(&found, Severity::Error))
}

#[test]
fn text_becomes_a_name() {
    let long = "x".repeat(300);
    let cut = format!("{}-.-", "x".repeat(251));
    let cases = [
        ("upper case, blank and underscore", "My Pack_1", "my-pack-1".to_owned()),
        ("two underscores", "a__b", "a-b".to_owned()),
        ("a long one", &long, "x".repeat(253)),
        ("cut at a separator", &cut, "x".repeat(251)),
        ("dots", "..", String::new()),
        ("dots within", "a.b", "a.b".to_owned()),
        ("separators side by side", "a.-b..c-.d", "a.b.c-d".to_owned()),
        ("what no name can hold", "é/ü", String::new()),
        ("between what it can", "a/b", "ab".to_owned()),
        ("separators at the ends", "-.a.-", "a".to_owned()),
    ];
    for (name, text, expected) in cases {
        assert_eq!(sanitise(text), expected, "{name}");
    }
}

#[test]
fn objects_are_named_after_their_pack() {
    let names = named(&json!({ "id": "My_Pack" }), Prompts::Apart).unwrap();
    let all = [&names.pack, &names.config_map, &names.tools, &names.policy, &names.credentials];
    assert_eq!(all, ["my-pack", "my-pack-packdata", "my-pack-tools", "my-pack-policy", "my-pack-tool-credentials"]);
    assert_eq!(names.agents, [Agent { runtime: "my-pack".to_owned(), member: None, prompt: None }]);
}

#[test]
fn each_member_has_a_runtime() {
    let pack = json!({ "id": "p", "agents": { "members": { "b_2": {}, "A": {} } }, "prompts": { "x": {}, "y": {} } });
    let names = named(&pack, Prompts::Apart).unwrap();
    let found: Vec<_> = names.agents.iter().map(|agent| (agent.runtime.as_str(), agent.member.as_deref())).collect();
    assert_eq!(found, [("a", Some("A")), ("b-2", Some("b_2"))]);
}

#[test]
fn several_prompts_have_runtimes_where_the_target_wants_them_apart() {
    let runtimes = |pack: &Value, prompts| -> Vec<String> {
        named(pack, prompts).unwrap().agents.into_iter().map(|agent| agent.runtime).collect()
    };
    let two = json!({ "id": "p", "prompts": { "x": {}, "y_1": {} } });
    assert_eq!(runtimes(&two, Prompts::Apart), ["p-x", "p-y-1"]);
    assert_eq!(runtimes(&two, Prompts::Together), ["p"]);
    assert_eq!(runtimes(&json!({ "id": "p", "prompts": { "x": {} } }), Prompts::Apart), ["p"]);
}

#[test]
fn names_that_vanish_or_collide_are_refused() {
    let cases = [
        (
            "no id",
            json!({}),
            "pack: id: `` has no letter or digit of which an object's name could be made; write a name",
        ),
        (
            "dots",
            json!({ "id": ".." }),
            "pack: id: `..` has no letter or digit of which an object's name could be made; write",
        ),
        (
            "members of one name",
            json!({ "id": "p", "agents": { "members": { "a_b": {}, "a-b": {} } } }),
            "pack: agents.members.a_b: `a-b` and `a_b` would both be deployed as `a-b`; rename one of them",
        ),
        (
            "a member without a name",
            json!({ "id": "p", "agents": { "members": { "_": {}, "a": {} } } }),
            "pack: agents.members._: `_` has no letter or digit of which an object's name could be made; write",
        ),
        (
            "a prompt without a name",
            json!({ "id": "p", "prompts": { "_": {}, "a": {} } }),
            "pack: prompts._: `_` has no letter or digit of which an object's name could be made; write",
        ),
        (
            "prompts of one name",
            json!({ "id": "p", "prompts": { "a_": {}, "a": {} } }),
            "pack: prompts.a_: `a` and `a_` would both be deployed as `p-a`; rename one of them",
        ),
    ];
    for (name, pack, expected) in cases {
        let found = named(&pack, Prompts::Apart).unwrap_err();
        assert!(found.len() == 1 && found[0].starts_with(expected), "{name}: {found:?}");
    }
}

proptest! {
    #[test]
    fn name_is_legal_and_stable(text in "\\PC{0,300}|[a-c._ -]{0,12}") {
        let name = sanitise(&text);
        prop_assert!(name.is_empty() || is_subdomain(&name), "{}", name);
        prop_assert_eq!(sanitise(&name), name);
    }
}
