//! Finds the configuration files, and reads the files that a task refers to.

use std::path::{Component, Path, PathBuf};

use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, why_unreadable};
use lifecycle_config::settings::{Environment, FileName, Flags};
use lifecycle_service::files;

use super::settings::{ADAPTER_FILE, TASK_FILE};

/// The paths that are tried if neither flag nor variable names the deployment file.
const ADAPTER_DEFAULTS: [&str; 2] = ["/etc/hyperfleet/config.yaml", "./configs/config.yaml"];

/// The paths of an adapter's two configuration files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The path of the deployment file, as `--config` gives it.
    pub adapter: PathBuf,
    /// The path of the task file, as `--task-config` gives it.
    pub task: PathBuf,
}

impl Paths {
    /// Finds both files: by flag, else by environment variable, else (only the deployment file) at the default
    /// paths.
    ///
    /// # Errors
    /// A diagnostic for each file that nothing names.
    pub fn resolve(
        flags: &Flags,
        environment: &Environment,
        exists: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, Diagnostics> {
        let default = || ADAPTER_DEFAULTS.iter().map(PathBuf::from).find(|path| exists(path));
        let adapter = ADAPTER_FILE.resolve(flags, environment).or_else(default);
        let task = TASK_FILE.resolve(flags, environment);
        let mut missing = Diagnostics::default();
        if adapter.is_none() {
            missing.push(missing_path("adapter", ADAPTER_FILE));
        }
        if task.is_none() {
            missing.push(missing_path("task", TASK_FILE));
        }
        adapter.zip(task).map(|(adapter, task)| Self { adapter, task }).ok_or(missing)
    }
}

fn missing_path(what: &str, FileName { flag, variable, .. }: FileName) -> Diagnostic {
    let message = format!("{what} config file path is required");
    Diagnostic::outside("command line", "", message, Some(format!("pass --{flag} or set {variable}")))
}

/// Reads a configuration file as text.
pub(super) fn read(path: &Path) -> Result<String, Box<Diagnostic>> {
    files::read_text(path, files::CONFIGURATION)
        .map_err(|error| Box::new(Diagnostic::unreadable(&path.display().to_string(), &error, None)))
}

/// Reads a file that a task refers to by a path relative to the task file's directory. The path must not leave
/// that directory.
///
/// Symbolic links are followed, as in the Go adapter, because the files of a mounted `ConfigMap` are symbolic
/// links.
pub(super) fn read_reference(base: &Path, reference: &str) -> Result<String, String> {
    let base = normalized(&std::path::absolute(base).map_err(|error| why_unreadable(&error))?);
    let path = normalized(&base.join(reference));
    if !path.starts_with(&base) {
        return Err(format!("\"{reference}\" escapes base directory {}", base.display()));
    }
    if path.is_dir() {
        return Err(format!("\"{reference}\" is a directory, not a file"));
    }
    files::read_text(&path, files::CONFIGURATION)
        .map_err(|error| format!("failed to read \"{reference}\": {}", why_unreadable(&error)))
}

fn normalized(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => result.push(component),
        }
    }
    result
}
