//! Plays the tasks that do harm: below each stands what `check` says of it.
//!
//! A block marked `yaml trap` holds entries of `resources`, and maybe params before them; the block after it, marked `text`, holds the severity and
//! the message of each diagnostic. `UPDATE_DOCS=1` writes the texts anew.

use std::collections::BTreeMap;
use std::fs;

use hyperfleet_adapter::config::{self, Flags};
use hyperfleet_adapter::field_types;
use lifecycle_config::diagnostics::Severity;

use crate::page::Page;
use crate::recipe;

const TEXT: &str = "```text\n";
const END: &str = "```\n";

#[test]
fn check_says_what_the_page_says_of_each_trap() {
    let mut page = Page::read("docs/lifecycle.md");
    let files = page.files();
    let params = files.iter().find(|(kind, _, _)| kind == "params").map(|(_, _, text)| text.clone()).unwrap();
    let traps: Vec<_> = files.into_iter().filter(|(kind, _, _)| kind == "trap").map(|(_, _, text)| text).collect();
    assert!(traps.len() >= 9, "{}", traps.len());
    let written = page.text.clone();
    for trap in &traps {
        let said = said(&whole(&params, trap));
        assert!(!said.is_empty(), "`check` says nothing of\n{trap}");
        let start = page.text.find(trap).unwrap() + trap.len();
        let start = start + page.text[start..].find(TEXT).unwrap() + TEXT.len();
        let length = page.text[start..].find(END).unwrap();
        page.text.replace_range(start..start + length, &said);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page.path, &page.text).unwrap();
    } else {
        assert_eq!(written, page.text, "what `check` says of the traps changed: run with UPDATE_DOCS=1");
    }
}

/// The task of a trap, which may begin with params of its own.
fn whole(params: &str, trap: &str) -> String {
    match trap.strip_prefix("params:\n").and_then(|rest| rest.split_once("resources:\n")) {
        Some((own, resources)) => recipe::task(&format!("{params}{own}"), resources),
        None => recipe::task(params, trap),
    }
}

/// What `check` says of a task: a line with the severity and the message of each diagnostic that is no note.
fn said(task: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let paths = config::Paths { adapter: folder.path().join("adapter.yaml"), task: folder.path().join("task.yaml") };
    let deployment = Page::read("docs/configuration.md").files().into_iter().find(|(kind, _, _)| kind == "adapter");
    fs::write(&paths.adapter, deployment.unwrap().2).unwrap();
    fs::write(&paths.task, task).unwrap();
    let found = config::check(&paths, &BTreeMap::new(), &Flags::default(), "0.0.0-dev", field_types::lint);
    let told = found.diagnostics.all().iter().filter_map(|it| {
        let severity = match it.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => return None,
        };
        Some(format!("{severity}: {}\n", it.message))
    });
    told.collect()
}
