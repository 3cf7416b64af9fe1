//! Compares docs/console.md with the program.
//!
//! The tests generate the tables between `<!-- generated: NAME -->` and `<!-- end -->`, and fail if the page differs. With
//! `UPDATE_DOCS=1` they write them into the page.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;

use hyperfleet_console::config::CONFIGURATION;
use hyperfleet_console::config::settings::CONSOLE;
use lifecycle_config::settings::{Environment, Flags, tables};

fn page() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/console.md");
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

#[test]
fn page_has_every_key_and_flag() {
    let (path, written) = page();
    let mut text = written.clone();
    let tables = [
        ("console keys", tables::keys(&CONFIGURATION.schema(), false)),
        ("console settings", tables::settings(CONSOLE.settings)),
    ];
    for (name, table) in tables {
        let mark = format!("<!-- generated: {name} -->\n");
        let start = text.find(&mark).unwrap() + mark.len();
        let end = start + text[start..].find("<!-- end -->").unwrap();
        text.replace_range(start..end, &table);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, text).unwrap();
    } else {
        assert!(written == text, "the page is out of date; run with UPDATE_DOCS=1");
    }
}

#[test]
fn configuration_of_the_page_loads_without_diagnostics() {
    let (_, text) = page();
    let blocks: Vec<&str> = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let loaded = CONFIGURATION.parse("docs/console.md", block, &Environment::new(), &Flags::new());
        let diagnostics = loaded.map_or_else(|diagnostics| diagnostics, |(_, diagnostics)| diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics}");
    }
}
