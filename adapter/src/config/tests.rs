#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lifecycle_config::diagnostics::Diagnostics;

use super::settings::DEPLOYMENT;
use super::{AdapterConfig, Environment, Flags, Loaded, Paths, load, load_adapter};

mod dumps;
mod files;
mod invalid;
mod schema;
mod settings;
mod signing;

const ADAPTER: &str = include_str!("tests/adapter.yaml");
const TASK: &str = include_str!("tests/task.yaml");
const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: installer, namespace: \"{{ .clusterId }}\"}\n";
const SIGNING_KEY: &str = "0123456789abcdef0123456789abcdef";
const STATUS: &str = "adapter: \"{{ .adapter.name }}\"\nconditions: []\n";

fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn flags(given: &[(&'static str, &str)]) -> Flags {
    let is_listed = |flag| DEPLOYMENT.settings.iter().any(|setting| setting.flag == Some(flag));
    assert!(given.iter().all(|(flag, _)| is_listed(*flag)), "{given:?}");
    given.iter().map(|(flag, text)| (*flag, (*text).to_owned())).collect()
}

fn adapter(
    text: &str,
    variables: &[(&str, &str)],
    given: &[(&'static str, &str)],
) -> (Option<AdapterConfig>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let (variables, given) = (environment(variables), flags(given));
    let no_key = |_: &Path| Err("it does not exist".to_owned());
    let config = load_adapter("config.yaml", text, &variables, &given, "1.2.3", &no_key, &mut diagnostics);
    diagnostics.sort();
    (config, diagnostics)
}

fn valid(text: &str, variables: &[(&str, &str)], given: &[(&'static str, &str)]) -> AdapterConfig {
    let (config, diagnostics) = adapter(text, variables, given);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    config.unwrap()
}

/// A temporary directory with the configuration files of one adapter.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<Loaded, Diagnostics> {
        let paths = Paths { adapter: self.path("config.yaml"), task: self.path("task/task.yaml") };
        load(&paths, &environment(variables), &Flags::default(), "1.2.3")
    }
}

fn complete_folder() -> Folder {
    Folder::new(&[
        ("config.yaml", ADAPTER),
        ("task/task.yaml", TASK),
        ("task/manifests/job.yaml", JOB),
        ("task/status.yaml", STATUS),
        ("secret/key", SIGNING_KEY),
    ])
}

/// Pairs of name and value: environment variables, or flags.
type Given = &'static [(&'static str, &'static str)];
