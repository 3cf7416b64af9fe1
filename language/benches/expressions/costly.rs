//! Data of the size that an event has at most, and expressions that go through more than 32 MiB with them.
//!
//! The benchmark `expressions` and the tests of limits share this file.

use serde_json::json;

use super::Scope;

/// Adds variables that are as large as an event has them at most.
pub(super) fn large(mut scope: Scope) -> Scope {
    let numbers = json!((0..20_000).collect::<Vec<_>>());
    ["list", "second", "third", "fourth"].into_iter().for_each(|name| scope.set(name, numbers.clone()));
    scope.set("text", json!("x".repeat(1 << 20)));
    scope.set("dots", json!(". ".repeat(500)));
    let object = |number: usize| json!({"metadata": {"name": format!("o{number}")}, "status": {"conditions": [{"type": "Ready"}]}});
    scope.set("objects", json!((0..2_000).map(object).collect::<Vec<_>>()));
    scope
}

/// An expression that uses what it made twice, so often.
fn doubled(start: &str, twice: &str, times: usize) -> String {
    format!("optional.of({start}){}.hasValue()", format!(".optMap(v, {twice})").repeat(times))
}

/// Expressions that each reach the limit of bytes with [`large`] variables.
pub(super) fn expressions() -> Vec<String> {
    let growing = [
        format!("'aaaaaaaaaa'{}", ".replace('a', 'aaaaaaaaaa')".repeat(12)),
        format!("'aaaaaaaaaa'{}", ".replace('', 'aaaaaaaaaa', 1000000000)".repeat(12)),
        doubled("'xxxxxxxxxx'", "v + v", 30),
        doubled("b'xxxxxxxxxx'", "v + v", 30),
        doubled("['x']", "v + v", 30),
        doubled("['x']", "[v, v]", 30),
        doubled("['x']", "{'a': v, 'b': v}", 30),
        doubled("['x']", "[optional.of(v), optional.of(v)]", 30),
        doubled("'x'", "[v, v].join()", 30),
        doubled("'x'", "[v].join(v) + v.replace('x', v)", 10),
        doubled("'x'", "'%s%s'.format([v, v])", 30),
        doubled("'\"'", "strings.quote(v)", 40),
        doubled("'\"'", "toJson(v)", 40),
        doubled("text", "v + v", 30),
    ];
    let looping = [
        "list.distinct()",
        "list.map(i, text)",
        "list.map(i, text + 'a').size()",
        "list.map(i, text).join()",
        "list.map(i, objects)",
        "list.map(i, {'a': objects}).size() > 0 && list.map(i, [objects]) == []",
        "list.all(i, toJson(list) != '')",
        "list.all(i, list == list)",
        "list.all(i, objects in [objects])",
        "list.all(i, -1 in list || true)",
        "list.all(i, text.split('') != [])",
        "list.all(i, !text.contains('y'))",
        "list.all(i, text.size() > 0)",
        "list.all(i, text.lowerAscii() != 'a')",
        "list.all(i, text.matches('\\\\w{1000}') || true)",
        "list.all(i, 'x'.matches(string(i) + '[a-z]{1000}') || true)",
        "list.all(i, 'x'.matches(text) || true)",
        "list.all(i, text.matches('(x+x+)+y') || true)",
        "list.all(i, list.sort() != [1])",
        "list.all(i, [list].flatten() != [1])",
        "list.all(i, statusFeedbackValue({'values': objects}, 'a') == '')",
        "list.all(i, [{'items': list}].all(d, d.items.first().hasValue()))",
        "[{'a': text + text}].all(d, list.all(i, d.?a.hasValue()))",
        "[{'a': text + text}].all(d, list.all(i, d[?'a'].hasValue()))",
        "[[text + text]].all(l, list.all(i, l.first().hasValue()))",
        "[optional.of(text + text)].all(o, list.all(i, o.value() != ''))",
        "[{'a': text + text}].all(d, list.all(i, dig(d, 'a') != ''))",
        "list.all(i, double(text) > 1.0 || true)",
        "list.all(i, objects[0][?text] == optional.none())",
        "list.all(i, duration(text) == duration('1s') || true)",
        "optional.of([text + 'a']).optMap(v, list.all(i, v.all(x, true)))",
        "optional.of(text + 'a').optMap(v, list.map(i, v)).hasValue()",
    ];
    growing.into_iter().chain(looping.map(str::to_owned)).collect()
}
