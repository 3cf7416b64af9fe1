//! The files, and the faults that a test asks for.
//!
//! A resource is the file `<workspace>/<type>.<name>`; its content is the pack's id, which is the mark by which a resource is
//! found without a state. `writes` has one byte for each write. A fault is a file in `faults`: `write.<name>`,
//! `delete.<name>` and `read.<name>` have the text of the error, `unhealthy.<name>` and `never-ready` are empty, and
//! `hang-after` has a number of writes.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use promptkit_deploy::error::{Category, DeployError};

use crate::config::Config;

/// A workspace's files.
pub(crate) struct Directory {
    root: PathBuf,
    workspace: PathBuf,
}

/// How a file is.
pub(crate) enum Found {
    Ready,
    Pending,
    Unhealthy,
    Missing,
}

impl Directory {
    pub(crate) fn of(config: &Config) -> Self {
        Self { root: config.directory.clone(), workspace: config.directory.join(&config.workspace) }
    }

    fn file(&self, kind: &str, name: &str) -> PathBuf {
        self.workspace.join(format!("{kind}.{name}"))
    }

    fn fault(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.root.join("faults").join(name)).ok()
    }

    /// Fails if a test wants this operation on this resource to fail.
    fn refuse(&self, operation: &'static str, fault: &str, kind: &str, name: &str) -> Result<(), DeployError> {
        let refusal = |text: String| {
            let category = if text.starts_with("403") { Category::Permission } else { Category::Network };
            DeployError::new(category, operation, text.trim()).of(kind, name).hint("remove the file in faults")
        };
        self.fault(&format!("{fault}.{name}")).map_or(Ok(()), |text| Err(refusal(text)))
    }

    pub(crate) async fn write(&self, kind: &str, name: &str, pack: &str) -> Result<(), DeployError> {
        self.refuse("create", "write", kind, name)?;
        self.write_file(&self.file(kind, name), pack).map_err(|error| failure("create", kind, name, &error))?;
        self.after_write().await;
        Ok(())
    }

    /// Writes a file with a new name and without a mark, as an adapter does that generates names and forgets them.
    pub(crate) async fn write_another(&self, kind: &str, name: &str) -> Result<(), DeployError> {
        self.refuse("create", "write", kind, name)?;
        let number = fs::read_dir(&self.workspace).map_or(0, Iterator::count);
        self.write(kind, &format!("{name}-{number}"), "").await
    }

    fn write_file(&self, file: &Path, pack: &str) -> io::Result<()> {
        fs::create_dir_all(&self.workspace)?;
        fs::write(file, pack)?;
        self.count()
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) -> Result<(), DeployError> {
        self.refuse("delete", "delete", kind, name)?;
        match fs::remove_file(self.file(kind, name)) {
            Ok(()) => self.count().map_err(|error| failure("delete", kind, name, &error))?,
            // It is gone, and that is what was wanted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failure("delete", kind, name, &error)),
        }
        self.after_write().await;
        Ok(())
    }

    fn count(&self) -> io::Result<()> {
        fs::OpenOptions::new().create(true).append(true).open(self.root.join("writes"))?.write_all(b".")
    }

    /// Hangs where a test wants the answer to a write to be lost.
    async fn after_write(&self) {
        let Some(limit) = self.fault("hang-after").and_then(|text| text.trim().parse::<u64>().ok()) else { return };
        if fs::metadata(self.root.join("writes")).is_ok_and(|file| file.len() >= limit) {
            std::future::pending().await
        }
    }

    pub(crate) fn find(&self, kind: &str, name: &str) -> Result<Found, DeployError> {
        self.refuse("read", "read", kind, name)?;
        Ok(match fs::exists(self.file(kind, name)) {
            Ok(false) => Found::Missing,
            Ok(true) if self.fault("never-ready").is_some() => Found::Pending,
            Ok(true) if self.fault(&format!("unhealthy.{name}")).is_some() => Found::Unhealthy,
            Ok(true) => Found::Ready,
            Err(error) => return Err(failure("read", kind, name, &error)),
        })
    }

    /// Lists what has the pack's mark, in no order.
    pub(crate) fn marked(&self, pack: &str) -> Vec<(String, String)> {
        let files = fs::read_dir(&self.workspace).into_iter().flatten().flatten();
        let is_ours = |file: &fs::DirEntry| fs::read_to_string(file.path()).is_ok_and(|content| content == pack);
        let key = |file: fs::DirEntry| {
            let name = file.file_name().into_string().ok()?;
            let (kind, name) = name.split_once('.')?;
            Some((kind.to_owned(), name.to_owned()))
        };
        files.filter(is_ours).filter_map(key).collect()
    }
}

fn failure(operation: &'static str, kind: &str, name: &str, error: &io::Error) -> DeployError {
    DeployError::new(Category::Resource, operation, "").of(kind, name).because(error)
}
