//! What a program is started with: arguments, files and environment variables.
//!
//! In: the name of a program. Out: a command, or a running [`Process`]. Fails: if the program is not built, or a file
//! cannot be written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tokio::process::Command;

use super::Process;
use crate::program;

/// A program to start in a directory with these files only, and with these variables only, so that no setting of this
/// machine affects it.
#[derive(Debug, Clone)]
pub struct Setup {
    program: PathBuf,
    arguments: Vec<String>,
    files: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
}

impl Setup {
    /// A program, by the name of a program of this workspace, or by a path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), files: BTreeMap::new(), environment: BTreeMap::new() }
    }

    /// Starts another program with the same arguments, files and variables; `None` changes nothing.
    #[must_use]
    pub fn by(mut self, program: Option<&Path>) -> Self {
        if let Some(program) = program {
            self.program = program.to_owned();
        }
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn with_file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Adds a file, and a flag with its name.
    #[must_use]
    pub fn file(self, flag: &str, name: &str, text: &str) -> Self {
        self.with_file(name, text).arguments(&[flag, name])
    }

    /// Adds a file, and a variable with its name.
    #[must_use]
    pub fn file_of_variable(self, variable: &str, name: &str, text: &str) -> Self {
        self.with_file(name, text).variable(variable, name)
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Writes the files into a directory, and returns the command that starts the program there.
    pub fn command(&self, directory: &Path) -> Result<Command> {
        for (name, text) in &self.files {
            fs::write(directory.join(name), text).with_context(|| format!("failed to write {name}"))?;
        }
        let is_path = self.program.components().count() > 1;
        let path = if is_path { self.program.clone() } else { program(&self.name())? };
        let mut command = Command::new(path);
        command.args(&self.arguments).env_clear().envs(&self.environment).current_dir(directory);
        Ok(command)
    }

    /// Starts the program in a temporary directory.
    pub fn start(&self) -> Result<Process> {
        let files = TempDir::new()?;
        Process::start(&self.name(), self.command(files.path())?, files)
    }

    /// The name of the program's file.
    fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}
