//! Compares the pages under `docs/` with the program.
//!
//! The program writes the tables between `<!-- generated: NAME -->` and `<!-- end -->`: `UPDATE_DOCS=1 cargo
//! test -p hyperfleet-adapter --test documentation` rewrites them, and without the variable a difference
//! fails the test. In text written by people, the tests check names: each name of the program must have its
//! line, and each line must have a name of the program.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use hyperfleet_adapter::args;
use hyperfleet_adapter::config::settings::DEPLOYMENT;
use hyperfleet_adapter::config::signing::Key;
use hyperfleet_adapter::config::{self, Flags, broker};
use hyperfleet_adapter::field_types;
use hyperfleet_adapter::handler;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::settings::tables;
use lifecycle_core::decision::Decision;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_objects::failure::FailReason;
use lifecycle_objects::proof::Signer;
use serde_json::Value;

mod alerts;
mod life;
mod metrics;
mod page;
mod recipe;
mod traps;

use page::{Page, pages, root};

/// Compares the generated tables of a page with the program's, or rewrites them.
fn check_generated(page: &str, tables: &[(&str, String)]) {
    let mut page = Page::read(page);
    let names: BTreeSet<_> = tables.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(page.generated_names(), names, "{}: the tables of the page", page.path.display());
    let written = page.text.clone();
    for (name, table) in tables {
        page.replace(name, table);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page.path, &page.text).unwrap();
    } else if let Some((old, new)) = written.lines().zip(page.text.lines()).find(|(old, new)| old != new) {
        panic!("{} is out of date; run with UPDATE_DOCS=1\n  page:    {old}\n  program: {new}", page.path.display());
    } else {
        assert_eq!(written, page.text, "{} is out of date; run with UPDATE_DOCS=1", page.path.display());
    }
}

#[test]
fn configuration_has_every_key_flag_and_variable() {
    let keys = |schema: &Value, with_variables| {
        let table = tables::keys(schema, with_variables);
        assert!(!table.contains("|  |"), "a key has no description: {table}");
        table
    };
    check_generated(
        "docs/configuration.md",
        &[
            ("deployment keys", keys(&config::adapter_schema(), false)),
            ("task keys", keys(&config::task_schema(), false)),
            ("broker keys", keys(&broker::schema(), true)),
            ("settings", tables::settings(DEPLOYMENT.settings)),
            ("commands", commands_table()),
        ],
    );
}

/// The table of commands with their arguments, without the flags that set configuration keys.
fn commands_table() -> String {
    let of_keys: BTreeSet<_> = DEPLOYMENT.settings.iter().filter_map(|setting| setting.flag).collect();
    let mut table = "| Command | Argument | Meaning |\n| --- | --- | --- |\n".to_owned();
    for command in args::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        table.push_str(&format!("| `{}` | | {about} |\n", command.get_name()));
        for argument in command.get_arguments().filter(|argument| !of_keys.contains(argument.get_id().as_str())) {
            let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
            let name = match argument.get_long() {
                Some(long) => format!("{short}`--{long}`"),
                None => format!("`{}`", argument.get_id().as_str().to_uppercase()),
            };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            table.push_str(&format!("| | {name} | {} |\n", help.replace('|', "\\|")));
        }
    }
    table
}

#[test]
fn operations_has_every_metric() {
    check_generated("docs/operations.md", &[("metrics", metrics::table())]);
}

#[test]
fn operations_explains_every_reason() {
    let page = Page::read("docs/operations.md");
    let reasons: BTreeSet<_> = FailReason::ALL.iter().map(|reason| reason.as_str().to_owned()).collect();
    assert_eq!(page.first_column("Failure"), reasons, "the table of failures");
    let decisions: BTreeSet<_> = Decision::labels()
        .into_iter()
        .filter(|(decision, _)| *decision != "fail")
        .map(|(decision, reason)| format!("{decision} {reason}"))
        .collect();
    assert_eq!(page.first_column("Decision"), decisions, "the table of decisions");
    let warnings: BTreeSet<_> = handler::warnings().map(str::to_owned).collect();
    assert_eq!(page.first_column("Warning"), warnings, "the table of warnings");
}

/// Compares each quoted log sentence with the source up to the sentence's first variable part.
#[test]
fn operations_quotes_existing_log_sentences() {
    let sources = ["adapter/src", "api-client/src", "service/src"].map(page::sources).concat();
    for sentence in Page::read("docs/operations.md").first_column("Sentence") {
        let fixed = sentence.split(['…', '{']).next().unwrap_or_default().to_owned();
        assert!(sources.contains(&format!("\"{fixed}")), "nothing logs `{sentence}`");
    }
}

/// Each claim of docs/cel.md names its proof: a test, a rule of `.ci/run`, or a file.
#[test]
fn every_proof_named_in_docs_cel_exists() {
    let page = Page::read("docs/cel.md");
    every_proof_exists(
        page.last_column("proved by").into_iter().chain(page.code().into_iter().filter(|code| is_sentence(code))),
    );
}

#[test]
fn every_proof_named_in_docs_security_exists() {
    every_proof_exists(Page::read("docs/security.md").code().into_iter().filter(|code| is_sentence(code)));
}

#[test]
fn every_proof_named_in_docs_bundles_and_cor_exists() {
    let page = Page::read("docs/bundles-and-cor.md");
    every_proof_exists(page.last_column("shown by").into_iter());
}

fn every_proof_exists(named: impl Iterator<Item = String>) {
    let crates = [
        "language",
        "core",
        "objects",
        "bundle",
        "check",
        "kube",
        "maestro",
        "api-client",
        "service",
        "config",
        "adapter",
        "sweeper",
        "reconcile-metrics",
        "console",
        "e2e",
    ];
    let sources: String = crates.map(page::sources).concat();
    let rules = fs::read_to_string(root().join(".ci/run")).unwrap();
    let is_proof = |name: &str| {
        sources.contains(&format!("fn {name}(")) || rules.contains(&format!("{name}()")) || root().join(name).is_file()
    };
    let missing: BTreeSet<_> = named.filter(|name| !is_proof(name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Whether code in backticks is the name of a test: such names are sentences, with at least three underscores.
fn is_sentence(code: &str) -> bool {
    code.matches('_').count() > 2 && code.chars().all(|character| character.is_ascii_lowercase() || character == '_')
}

#[test]
fn every_dependency_is_listed() {
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("cargo metadata gives JSON");
    let dependencies: BTreeSet<String> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|package| package["dependencies"].as_array().unwrap())
        .filter(|dependency| dependency["path"].is_null())
        .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(dependencies.contains("serde"), "{dependencies:?}");
    assert_eq!(Page::read("docs/dependencies.md").first_column("Crate"), dependencies);
}

/// Loads the example files of all pages.
///
/// A code block marked `yaml task`, `yaml adapter` or `yaml broker` is a whole file. A block marked `yaml
/// resources` is completed with the params of the page's block `yaml params`.
#[test]
fn example_files_load_without_diagnostics() {
    let mut loaded = BTreeMap::new();
    for page in pages() {
        let mut params = String::new();
        for (kind, line, text) in page.files() {
            let (kind, text) = match kind.as_str() {
                "params" => {
                    params = text;
                    continue;
                }
                "resources" => ("task".to_owned(), recipe::task(&params, &text)),
                // `traps` compares their diagnostics with the page.
                "trap" => continue,
                _ => (kind, text),
            };
            let place = format!("{}:{line}", page.path.display());
            let diagnostics = load(&kind, &place, &text);
            // A note requires no change: a page on migration shows keys that are deprecated.
            let is_note = |it: &Diagnostic| it.severity == Severity::Note;
            assert!(diagnostics.all().iter().all(is_note), "{diagnostics}");
            *loaded.entry(kind).or_insert(0) += 1;
        }
    }
    assert_eq!(loaded.keys().map(String::as_str).collect::<Vec<_>>(), ["adapter", "broker", "task"]);
}

/// Runs `check --strict` on every task of the pages, with the smallest deployment file beside it.
#[test]
fn tasks_of_all_pages_pass_the_strict_check() {
    let folder = tempfile::tempdir().unwrap();
    let paths = config::Paths { adapter: folder.path().join("adapter.yaml"), task: folder.path().join("task.yaml") };
    let deployment = Page::read("docs/configuration.md").files().into_iter().find(|(kind, _, _)| kind == "adapter");
    fs::write(&paths.adapter, deployment.unwrap().2).unwrap();
    let mut checked = 0;
    for page in pages() {
        let mut params = String::new();
        for (kind, line, text) in page.files() {
            let task = match kind.as_str() {
                "params" => {
                    params = text;
                    continue;
                }
                "resources" => recipe::task(&params, &text),
                "task" => text,
                _ => continue,
            };
            fs::write(&paths.task, task).unwrap();
            let found = config::check(&paths, &BTreeMap::new(), &Flags::default(), "0.0.0-dev", field_types::lint)
                .diagnostics
                .strict();
            assert!(!found.has_errors(), "{}:{line}\n{found}", page.path.display());
            checked += 1;
        }
    }
    assert!(checked >= 9, "{checked}");
}

/// Runs `check --strict` on every example, in the example's environment.
#[test]
fn tasks_of_all_examples_pass_the_strict_check() {
    let mut checked = 0;
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let paths =
            config::Paths { adapter: folder.join("adapter-config.yaml"), task: folder.join("task-config.yaml") };
        let environment = fs::read_to_string(folder.join("environment.json"));
        let environment = environment.map_or_else(|_| BTreeMap::new(), |text| serde_json::from_str(&text).unwrap());
        let found = config::check(&paths, &environment, &Flags::default(), "0.0.0-dev", field_types::lint);
        let found = found.diagnostics.strict();
        assert!(!found.has_errors(), "{}\n{found}", folder.display());
        checked += 1;
    }
    assert!(checked >= 40, "{checked}");
}

fn load(kind: &str, place: &str, text: &str) -> Diagnostics {
    let environment = BTreeMap::new();
    let mut diagnostics = Diagnostics::default();
    match kind {
        "adapter" => {
            let signer = Signer::new(&[0; 32]).unwrap();
            let key = |_: &Path| Ok(Key { signer: signer.clone(), open_to_all: false });
            let flags = Flags::default();
            config::load_adapter(place, text, &environment, &flags, "0.0.0-dev", &key, &mut diagnostics);
        }
        "broker" => match broker::parse(place, text, &environment) {
            Ok((_, remarks)) | Err(remarks) => diagnostics = remarks,
        },
        "task" => {
            let surroundings =
                Surroundings { read: &|_| Err("a page has no files beside it".to_owned()), environment: &|_| None };
            diagnostics = compile(place, text, &surroundings).diagnostics;
        }
        other => panic!("{place}: `yaml {other}` is no kind of file"),
    }
    diagnostics
}

#[test]
fn relative_links_lead_to_existing_files_and_headings() {
    let mut broken = Vec::new();
    for page in pages() {
        let directory = page.path.parent().unwrap_or(Path::new(".")).to_owned();
        for link in page.links() {
            let (file, anchor) = link.split_once('#').map_or((link.as_str(), None), |(file, it)| (file, Some(it)));
            let target: PathBuf = if file.is_empty() { page.path.clone() } else { directory.join(file) };
            let leads = match anchor {
                None => target.exists(),
                Some(anchor) => target.is_file() && Page::at(target).anchors().contains(anchor),
            };
            if !leads {
                broken.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
