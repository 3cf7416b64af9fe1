//! Compares docs/reconcile-metrics.md with the program.
//!
//! The tests generate the tables between `<!-- generated: NAME -->` and `<!-- end -->`, and fail if the page differs. With
//! `UPDATE_DOCS=1` they write them into the page.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use lifecycle_config::settings::tables;
use reconcile_metrics::args;
use reconcile_metrics::config::settings::{EXPORTER, FILE};
use reconcile_metrics::config::{CONFIGURATION, Environment, Flags};
use reconcile_metrics::samples::{FAMILIES, Kind};

fn page() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/reconcile-metrics.md");
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

fn key_table() -> String {
    tables::keys(&CONFIGURATION.schema(), false)
}

fn setting_table() -> String {
    tables::settings(EXPORTER.settings)
}

fn command_table() -> String {
    let of_keys: BTreeSet<_> = EXPORTER.settings.iter().filter_map(|setting| setting.flag).collect();
    let mut table = "| Command | Argument | Meaning |\n| --- | --- | --- |\n".to_owned();
    for command in args::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        table.push_str(&format!("| `{}` | | {about} |\n", command.get_name()));
        let arguments = command.get_arguments().filter(|argument| !of_keys.contains(argument.get_id().as_str()));
        let (file, own): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument.get_id() == FILE.flag);
        for argument in file.into_iter().chain(own) {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            table.push_str(&format!("| | `--{}` | {help} |\n", argument.get_long().unwrap_or_default()));
        }
    }
    table
}

/// Returns the labels of a family, without the constant ones. A test on a real database compares the page with a scrape.
fn labels(name: &str) -> &'static str {
    match name {
        "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on" => {
            "`resource_type`, `is_delete`, `adapter`, `reason`"
        }
        "hyperfleet_api_resource_deletion_stalled" => "`resource_type`",
        "hyperfleet_reconcile_metrics_stuck_threshold_seconds" => "`resource_type`, `is_delete`",
        "hyperfleet_reconcile_metrics_odd_rows" => "`reason`",
        "hyperfleet_reconcile_metrics_scrape_errors_total" => "`collector`, `reason`",
        "hyperfleet_reconcile_metrics_build_info" => "`commit`",
        "hyperfleet_reconcile_metrics_scrape_success"
        | "hyperfleet_reconcile_metrics_scrape_duration_seconds"
        | "hyperfleet_reconcile_metrics_last_success_timestamp_seconds" => "`collector`",
        name if name.starts_with("hyperfleet_api_") => "`resource_type`, `is_delete`",
        _ => "",
    }
}

fn metric_table() -> String {
    let mut table = "| Metric | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n".to_owned();
    for (name, kind, help) in FAMILIES {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        table.push_str(&format!("| `{name}` | {kind} | {} | {help} |\n", labels(name)));
    }
    table
}

#[test]
fn page_has_every_key_flag_command_and_metric() {
    let (path, written) = page();
    let mut text = written.clone();
    let tables = [
        ("exporter keys", key_table()),
        ("exporter settings", setting_table()),
        ("exporter commands", command_table()),
        ("exporter metrics", metric_table()),
    ];
    for (name, table) in tables {
        let mark = format!("<!-- generated: {name} -->\n");
        let start = text.find(&mark).unwrap() + mark.len();
        let end = start + text[start..].find("<!-- end -->").unwrap();
        text.replace_range(start..end, &table);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, text).unwrap();
    } else if let Some((old, new)) = written.lines().zip(text.lines()).find(|(old, new)| old != new) {
        panic!("the page is out of date; run with UPDATE_DOCS=1\n  page:    {old}\n  program: {new}");
    } else {
        assert_eq!(written, text, "the page is out of date; run with UPDATE_DOCS=1");
    }
}

#[test]
fn configuration_of_the_page_loads_without_diagnostics() {
    let (_, text) = page();
    let blocks: Vec<&str> = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let loaded = CONFIGURATION.parse("docs/reconcile-metrics.md", block, &Environment::new(), &Flags::new());
        let diagnostics = loaded.map_or_else(|diagnostics| diagnostics, |(_, diagnostics)| diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics}");
    }
}

#[test]
fn configuration_has_at_most_25_keys() {
    let table = key_table();
    let keys = table.lines().skip(2).filter(|line| !line.contains("| mapping |") && !line.starts_with("| `kinds` |"));
    assert!(keys.count() <= 25, "{table}");
}
