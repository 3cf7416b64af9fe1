//! The worst seconds that one expression can take.
//!
//! `cargo bench -p lifecycle-language --bench expressions [-- PART]`. Each expression tries to keep a worker busy over data
//! of the size that an event has at most. It ends with an answer or at a limit; the last line is the slowest of all.
//! Nothing fails here for being slow.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock, and its arguments are its filter")]

mod costly;

use std::error::Error;
use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use lifecycle_language::cel::Expression;
use lifecycle_language::scope::Scope;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let scope = large(Scope::new("2026-03-01T12:00:00Z".parse()?));
    let mut out = std::io::stdout();
    let mut worst = (Duration::ZERO, String::new());
    for source in costly::expressions().into_iter().chain(others()).filter(|source| source.contains(&part)) {
        let expression = Expression::parse(&source)?;
        let started = Instant::now();
        let ended = match black_box(expression.evaluate(&scope)) {
            Ok(_) => "an answer".to_owned(),
            Err(error) => error.message,
        };
        let taken = started.elapsed();
        writeln!(out, "{:7.3} s  {}  {ended}", taken.as_secs_f64(), shortened(&source))?;
        worst = worst.max((taken, source));
    }
    writeln!(out, "the worst: {:.3} s  {}", worst.0.as_secs_f64(), shortened(&worst.1))?;
    Ok(())
}

fn shortened(source: &str) -> String {
    let line = source.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > 90 { line.chars().take(89).chain(['…']).collect() } else { format!("{line:90}") }
}

/// Adds further variables that are as large as an event has them at most.
fn large(scope: Scope) -> Scope {
    let mut scope = costly::large(scope);
    scope.set("data", json!({"items": (0..20_000).collect::<Vec<_>>()}));
    scope.set("digits", json!("1".repeat(1 << 20)));
    let entry = |number: usize| json!({"name": format!("n{number}"), "fieldValue": {"string": "x"}});
    scope.set("feedback", json!({"values": (0..5_000).map(entry).collect::<Vec<_>>()}));
    scope.set("thousand", json!((0..1_000).collect::<Vec<_>>()));
    scope.set("texts", json!((0..1_000).map(|number| format!("{number}{}", "x".repeat(1_000))).collect::<Vec<_>>()));
    scope.set("keys", (0..20_000).map(|number| (format!("k{number}"), json!(number))).collect());
    scope
}

/// Expressions that reach another limit, or end with an answer.
fn others() -> Vec<String> {
    let growing = [
        // As large as a value can get without a failure, and what then goes through it.
        format!("{}.map(v, v == v).size()", made("[v, v]", 18)),
        format!("{}.map(v, thousand.all(i, i in v || true))", made("v + v", 16)),
        format!("{}.map(v, v.sort().size())", made("v + v", 18)),
        format!("{}.map(v, v.distinct().size())", made("v + v", 12)),
        format!("{}.map(v, v.reverse().slice(1, 5).flatten())", made("v + v", 17)),
    ];
    let looping = [
        "lists.range(1000).all(i, lists.range(1000000).size() > 0)",
        "thousand.all(a, thousand.all(b, thousand.all(c, a + b + c >= 0)))",
        "thousand.exists(a, thousand.exists(b, thousand.exists(c, a + b + c < 0)))",
        "thousand.map(a, thousand.map(b, thousand.map(c, a + b + c)))",
        "thousand.filter(a, thousand.filter(b, thousand.filter(c, a < b) != []) != [])",
        "thousand.map(a, thousand.map(b, b).sort().reverse().distinct())",
        "thousand.map(a, thousand.sortBy(b, -b))",
        "keys.map(k, keys[k])",
        "keys.all(k, keys.all(l, keys[l] >= 0))",
        "list.all(i, list == second)",
        "list.exists(i, objects == objects.map(o, o) && i < 0)",
        "list.all(i, second.exists(x, true) && third.exists(x, true) && fourth.exists(x, true))",
        "list.all(i, texts[999] in texts)",
        "texts.map(t, texts.distinct().size())",
        "list.all(i, toJson(objects) != '')",
        "list.all(i, texts.sort() != [''])",
        "list.all(i, [list, list, list, list].flatten().first().hasValue())",
        "list.all(i, list.last().hasValue())",
        "list.all(i, conditionStatus(list, 'a') == 'Unknown')",
        "list.all(i, conditionAge(objects, 'a') == -1)",
        "list.all(i, dig(objects, dots) == null)",
        "list.all(i, statusFeedbackValue(feedback, 'none') == '')",
        "list.all(i, [data].all(d, d.items.first().hasValue()))",
        "list.all(i, [data].all(d, d.items[0] == 0 && has(d.items) && d.items.size() > 0))",
        "list.all(i, has(keys.k19999))",
        "list.exists(i, objects.map(o, o.metadata.name).exists(n, n == 'none'))",
        "objects.exists(o, objects.map(p, p.metadata.name).exists_one(n, n == o.metadata.name + 'x'))",
        "list.map(i, list.map(j, text + 'a') != [])",
    ];
    let texts = [
        "list.all(i, text.split('x') != [])",
        "list.all(i, text.indexOf('y', 1000000) == -1)",
        "list.all(i, text.substring(1000000) != '')",
        "list.all(i, text.charAt(1000000) == 'x')",
        "list.all(i, text.reverse() != '')",
        "list.all(i, text.trim() < text)",
        "texts.all(t, t.matches('^[0-9]+(x|xx|xxx){1,300}y') || true)",
        "text.matches('.{500}.{500}y')",
        "texts.all(t, texts.all(u, t.matches(u) || true))",
        "list.all(i, timestamp(text) == timestamp(0) || true)",
        "list.all(i, int(text) == 1 || true)",
        "list.all(i, double(digits) > 1.0 || true)",
        "list.all(i, string(bytes(text)) == '' || true)",
        "list.all(i, '%s'.format([text]) == '')",
        "list.all(i, '%.1000f'.format([1.5]) != '')",
    ];
    growing.into_iter().chain(looping.into_iter().chain(texts).map(str::to_owned)).collect()
}

/// A list that was doubled so often, in a list of its own.
fn made(twice: &str, times: usize) -> String {
    format!("[optional.of(['x']){}.orValue([])]", format!(".optMap(v, {twice})").repeat(times))
}
