//! Tests of the variables and functions that an expression is found to name.

use super::*;
use crate::cel::environment::{FUNCTIONS, MEMBER_FUNCTIONS};
use crate::resource_reads::ResourceReads;

#[test]
fn unknown_names_are_undeclared_variables_and_functions() {
    let variable = |name: &str| UnknownName::Variable(name.to_owned());
    let function = |name: &str| UnknownName::Function(name.to_owned());
    let cases = [
        ("known variables", "known.a.b == known", vec![]),
        ("an unknown variable, once", "x.a == x.b", vec![variable("x")]),
        ("an absolute name", ".x", vec![variable("x")]),
        ("a comprehension's variable", "known.exists(c, c.type == 'a')", vec![]),
        ("the same name outside of it", "known.exists(c, c.type == 'a') && c", vec![variable("c")]),
        ("the range of a comprehension is outside of it", "c.map(c, c)", vec![variable("c")]),
        ("an unknown one inside of it", "known.exists(c, c == d)", vec![variable("d")]),
        ("nested comprehensions", "known.all(a, a.b.exists(b, a == b && z))", vec![variable("z")]),
        ("an optional's binding", "known.?a.optMap(v, v + w)", vec![variable("w")]),
        ("sortBy's binding", "known.sortBy(e, e.a)", vec![]),
        ("types are names", "type(known) == google.protobuf.Timestamp || type(known) == int", vec![]),
        ("namespaced functions", "optional.of(strings.quote(known))", vec![]),
        ("a namespace by itself", "optional", vec![variable("optional")]),
        ("an unknown function of a namespace", "optional.nope(1)", vec![function("nope"), variable("optional")]),
        ("an unknown function", "frob(known) + frob(y)", vec![function("frob"), variable("y")]),
        ("an unknown method", "known.frob()", vec![function("frob")]),
        ("a function called as a method", "known.dig('a')", vec![function("dig")]),
        ("a method called as a function", "startsWith(known, 'a')", vec![function("startsWith")]),
        (
            "our own functions",
            "conditionAge(known, 'a') > 1 && stableFor(known, 'a', 1) && now() != string(duration('1s'))",
            vec![],
        ),
        ("a message literal", "Pod{name: 'a'}", vec![function("Pod")]),
        ("map keys and values", "{k: v}", vec![variable("k"), variable("v")]),
    ];
    for (name, source, expected) in cases {
        let mut found = Expression::parse(source).unwrap().unknown_names(&|name| name == "known");
        found.sort_by_key(|name| format!("{name:?}"));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn engine_has_every_listed_function() {
    let macros = ["has", "all", "exists", "exists_one", "existsOne", "filter", "map", "optFlatMap", "optMap", "sortBy"];
    let calls = FUNCTIONS
        .iter()
        .copied()
        .flatten()
        .filter(|name| !macros.contains(name))
        .map(|name| (name, format!("{name}(1, 2, 3, 4, 5)")));
    let methods = MEMBER_FUNCTIONS
        .iter()
        .copied()
        .flatten()
        .filter(|name| !macros.contains(name))
        .map(|name| (name, format!("(1).{name}(1, 2, 3, 4, 5)")));
    for (name, source) in calls.chain(methods) {
        if *name == "now" {
            continue;
        }
        let error = evaluate(&scope(), &source).expect_err(&source);
        assert_eq!(error.kind, EvaluationErrorKind::Other, "{source}: {error}");
    }
}

#[test]
fn reads_of_resources() {
    let only = |names: &[&str]| ResourceReads::Only(names.iter().map(ToString::to_string).collect());
    let cases = [
        ("none", "generation > 1", only(&[])),
        ("a select", "resources.job.status.phase", only(&["job"])),
        ("an optional select", "resources.?job.?status", only(&["job"])),
        ("an index", "resources['my-job'].a", only(&["my-job"])),
        ("an optional index", "resources[?'job'].hasValue()", only(&["job"])),
        ("a presence test", "has(resources.job)", only(&["job"])),
        ("membership", "'job' in resources", only(&["job"])),
        ("an escaped name", "resources.`my-job`.a", only(&["my-job"])),
        ("several", "resources.a.b && resources.?c.hasValue()", only(&["a", "c"])),
        ("inside a comprehension", "[1].exists(x, resources.job.a == x)", only(&["job"])),
        ("an absolute name", ".resources.job.a", only(&["job"])),
        ("another object's field of that name", "event.resources.job", only(&[])),
        ("a comprehension's variable of that name", "[{'job': 1}].exists(resources, resources.job == 1)", only(&[])),
        ("that variable does not hide an absolute name", "[1].exists(resources, .resources.job == 1)", only(&["job"])),
        ("the range of such a comprehension", "resources.list.exists(resources, resources.job == 1)", only(&["list"])),
        ("a method of an entry", "resources.job.size()", only(&["job"])),
        ("an index that is not constant", "resources[name]", ResourceReads::Any),
        ("an index that is computed", "resources['a' + 'b']", ResourceReads::Any),
        ("membership that is not constant", "name in resources", ResourceReads::Any),
        ("passed on whole", "dig(resources, 'job.status')", ResourceReads::Any),
        ("its size", "resources.size() > 0", ResourceReads::Any),
        ("iterated", "resources.exists(name, name == 'x')", ResourceReads::Any),
        ("compared", "resources == {}", ResourceReads::Any),
        ("as a key of itself", "resources[resources.job.a]", ResourceReads::Any),
        ("beside a constant read", "resources.job.a == 1 || toJson(resources) == ''", ResourceReads::Any),
    ];
    for (name, source, expected) in cases {
        assert_eq!(*Expression::parse(source).unwrap().resource_reads(), expected, "{name}");
    }
}

#[test]
fn member_reads_list_the_keys_read_from_one_variable() {
    let expression =
        Expression::parse("env.HOME + env['PATH'] + env.?USER.orValue('') + config.env.NOT + env[name]").unwrap();
    let reads: Vec<_> = expression.member_reads("env").into_iter().collect();
    assert_eq!(reads, ["HOME", "PATH", "USER"]);
    assert!(expression.member_reads("nothing").is_empty());
}

#[test]
fn awaits_lists_the_other_resources_that_keep_a_condition_from_holding() {
    let mut scope = Scope::new(NOW.parse().unwrap());
    scope.set("going", json!(true));
    scope.set("staying", json!(false));
    scope.set("resources", json!({ "db": { "ready": false }, "app": {} }));
    let cases: [(&str, &[&str]); 9] = [
        ("resources.?db.?ready.orValue(false)", &["db"]),
        ("going && !resources.?app.hasValue() && !resources.?db.hasValue()", &["app", "db"]),
        ("going && !resources.?app.hasValue() && !resources.?gone.hasValue()", &["app"]),
        ("staying && !resources.?app.hasValue()", &[]),
        ("!resources.?app.hasValue() && staying", &[]),
        ("staying || resources.?db.?ready.orValue(false)", &["db"]),
        ("has(resources.own.status)", &[]),
        ("resources.exists(name, name == 'x')", &[]),
        ("going && resources.missing.ready", &["missing"]),
    ];
    for (source, expected) in cases {
        let awaited = Expression::parse(source).unwrap().awaits("own", &scope);
        assert_eq!(awaited.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{source}");
    }
}
