//! Compares docs/sweeper.md with the program.
//!
//! The tests generate the tables between `<!-- generated: NAME -->` and `<!-- end -->`, and fail if the page differs. With
//! `UPDATE_DOCS=1` they write them into the page.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use futures::executor::block_on;
use hyperfleet_sweeper::act::{Attempt, Outcome};
use hyperfleet_sweeper::args;
use hyperfleet_sweeper::config::settings::{FILE, SWEEPER};
use hyperfleet_sweeper::config::{CONFIGURATION, Environment, Flags};
use hyperfleet_sweeper::metrics::Metrics;
use hyperfleet_sweeper::survey::survey;
use hyperfleet_sweeper::world::World;
use jiff::Timestamp;
use lifecycle_config::settings::tables;
use lifecycle_core::sweep::{Keep, Strikes};
use lifecycle_objects::id::Generation;
use lifecycle_service::metrics::Exposition;
use lifecycle_service::version::THIS;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap()
}

fn command_table() -> String {
    let mut of_keys: BTreeSet<_> = SWEEPER.settings.iter().filter_map(|setting| setting.flag).collect();
    of_keys.insert(FILE.flag);
    let mut table = "| Command | Argument | Meaning |\n| --- | --- | --- |\n".to_owned();
    for command in args::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        table.push_str(&format!("| `{}` | | {about} |\n", command.get_name()));
        for argument in command.get_arguments().filter(|argument| !of_keys.contains(argument.get_id().as_str())) {
            let name = match argument.get_long() {
                Some(flag) => format!("--{flag}"),
                None => argument.get_id().as_str().to_uppercase(),
            };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            table.push_str(&format!("| | `{name}` | {help} |\n"));
        }
    }
    table
}

fn keep_table() -> String {
    let rows = Keep::ALL.iter().map(|keep| format!("| `{}` | {} |\n", keep.label(), keep.sentence()));
    std::iter::once("| Label | Why |\n| --- | --- |\n".to_owned()).chain(rows).collect()
}

/// The metrics after a pass that found one orphan and deleted it: a family without series has no line.
fn exposition() -> String {
    let world = World::default();
    world.set_resources([("r0".to_owned(), Generation(1))].into());
    let labels = serde_json::json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "r1" });
    let metadata = serde_json::json!({ "name": "settings", "namespace": "team", "labels": labels });
    world.add(serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
    let text = "adapters: [a]\nresource_id_pattern: 'r[0-9]'\napi: {base_url: 'http://api'}\n";
    let config = CONFIGURATION.parse("test", text, &Environment::new(), &Flags::new()).unwrap().0;
    let (policy, now) = ((&config.policy, &config.filter), Timestamp::now());
    let found = block_on(survey(&world, &world, policy, &mut Strikes::default(), async || None, || now));
    let metrics = Metrics::new(&THIS, Duration::from_secs(1), true);
    metrics.surveyed(&found, now);
    let object = &found.orphans[0].0;
    metrics.attempted(&Attempt { object, outcome: Outcome::Deleted });
    metrics.expose(Exposition::Classic)
}

#[test]
fn exposition_passes_promtool_check_metrics() {
    let mut child = Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(exposition().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Type and help text of each metric of the sweeper's own, by its name in the exposition.
fn families() -> BTreeMap<String, (String, String)> {
    let text = exposition();
    let described = |prefix: &str| -> BTreeMap<String, String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(prefix)?.split_once(' '));
        lines.map(|(name, rest)| (name.to_owned(), rest.trim_end_matches('.').to_owned())).collect()
    };
    let (helps, types) = (described("# HELP "), described("# TYPE "));
    let own = types.into_iter().filter(|(name, _)| name.starts_with("hyperfleet_sweeper_"));
    own.map(|(name, kind)| (name.clone(), (kind, helps[&name].clone()))).collect()
}

fn metric_table() -> String {
    let rows = families().into_iter().map(|(name, (kind, help))| format!("| `{name}` | {kind} | {help} |\n"));
    std::iter::once("| Metric | Type | Meaning |\n| --- | --- | --- |\n".to_owned()).chain(rows).collect()
}

#[test]
fn page_has_every_key_flag_command_reason_and_metric() {
    let written = read("docs/sweeper.md");
    let mut text = written.clone();
    let tables = [
        ("sweeper commands", command_table()),
        ("sweeper keys", tables::keys(&CONFIGURATION.schema(), false)),
        ("sweeper settings", tables::settings(SWEEPER.settings)),
        ("sweeper keeps", keep_table()),
        ("sweeper metrics", metric_table()),
    ];
    for (name, table) in tables {
        let mark = format!("<!-- generated: {name} -->\n");
        let start = text.find(&mark).unwrap() + mark.len();
        let end = start + text[start..].find("<!-- end -->").unwrap();
        text.replace_range(start..end, &table);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(repository("docs/sweeper.md"), text).unwrap();
    } else {
        assert_eq!(written, text, "the page is out of date; run with UPDATE_DOCS=1");
    }
}

#[test]
fn configuration_of_the_page_loads_without_diagnostics() {
    let text = read("docs/sweeper.md");
    let blocks: Vec<&str> = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let loaded = CONFIGURATION.parse("docs/sweeper.md", block, &Environment::new(), &Flags::new());
        let diagnostics = loaded.map_or_else(|diagnostics| diagnostics, |(_, diagnostics)| diagnostics);
        // A page has no key file to read, and no volume.
        let is_of_files = |path: &str| ["signing_key_files", "audit.file"].contains(&path);
        assert!(diagnostics.all().iter().all(|found| is_of_files(&found.path)), "{diagnostics}");
    }
}

/// The sweeper's metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("hyperfleet_sweeper_")).collect()
}

#[test]
fn page_names_only_metrics_that_exist() {
    let families = families();
    let exists = |name: &&str| {
        ["_bucket", "_sum", "_count"]
            .iter()
            .any(|suffix| name.strip_suffix(suffix).is_some_and(|name| families.contains_key(name)))
            || families.contains_key(*name)
    };
    let text = read("docs/sweeper.md");
    let unknown: Vec<_> = named(&text).into_iter().filter(|name| !exists(name)).collect();
    assert!(!named(&text).is_empty() && unknown.is_empty(), "{unknown:?}");
}
