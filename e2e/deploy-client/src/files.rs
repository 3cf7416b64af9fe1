//! State, saved plan and lock, in `.promptarena` of the project.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The file `deploy.state`: one for all environments.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StateFile {
    pub(crate) version: u32,
    pub(crate) provider: String,
    pub(crate) environment: String,
    pub(crate) last_deployed: String,
    pub(crate) pack_version: String,
    pub(crate) pack_checksum: String,
    pub(crate) adapter_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) last_refreshed: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) state: String,
}

/// The file `deploy.plan`: the request is sent again, with the state of its time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlanFile {
    pub(crate) version: u32,
    pub(crate) created_at: String,
    pub(crate) provider: String,
    pub(crate) environment: String,
    pub(crate) pack_checksum: String,
    pub(crate) plan: Value,
    pub(crate) request: Value,
}

/// The directory `.promptarena`.
pub(crate) struct Files(PathBuf);

/// The lock is held while this lives; its file goes with it.
pub(crate) struct Lock {
    _held: File,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that is left is no lock: the kernel's lock ends with the process.
        let _ = fs::remove_file(&self.path);
    }
}

impl Files {
    pub(crate) fn of(project: &Path) -> Self {
        Self(project.join(".promptarena"))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Option<T>> {
        match fs::read(self.0.join(name)) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).with_context(|| format!("failed to parse {name}"))?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("failed to read {name}")),
        }
    }

    fn write(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        DirBuilder::new().recursive(true).mode(0o750).create(&self.0)?;
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(self.0.join(name))?;
        Ok(file.write_all(serde_json::to_string_pretty(value)?.as_bytes())?)
    }

    fn remove(&self, name: &str) -> anyhow::Result<()> {
        match fs::remove_file(self.0.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(crate) fn state(&self) -> anyhow::Result<Option<StateFile>> {
        self.read("deploy.state")
    }

    pub(crate) fn save_state(&self, state: &StateFile) -> anyhow::Result<()> {
        self.write("deploy.state", state)
    }

    pub(crate) fn remove_state(&self) -> anyhow::Result<()> {
        self.remove("deploy.state")
    }

    pub(crate) fn plan(&self) -> anyhow::Result<Option<PlanFile>> {
        self.read("deploy.plan")
    }

    pub(crate) fn save_plan(&self, plan: &PlanFile) -> anyhow::Result<()> {
        self.write("deploy.plan", plan)
    }

    pub(crate) fn remove_plan(&self) -> anyhow::Result<()> {
        self.remove("deploy.plan")
    }

    /// Takes the lock, or fails at once.
    pub(crate) fn lock(&self) -> anyhow::Result<Lock> {
        DirBuilder::new().recursive(true).mode(0o750).create(&self.0)?;
        let path = self.0.join("deploy.lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        if file.try_lock().is_err() {
            bail!("another deploy is running");
        }
        Ok(Lock { _held: file, path })
    }
}

/// The checksum of a pack, as the files have it.
pub(crate) fn checksum(pack: &str) -> String {
    let digest = Sha256::digest(pack.as_bytes());
    digest.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn files_are_private_and_the_lock_is_exclusive() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::of(folder.path());
        assert!(files.state().unwrap().is_none());
        files.save_state(&StateFile { state: "s".into(), ..StateFile::default() }).unwrap();
        assert_eq!(files.state().unwrap().unwrap().state, "s");
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(".promptarena"), mode(".promptarena/deploy.state")), (0o750, 0o600));
        let lock = files.lock().unwrap();
        assert!(files.lock().is_err());
        drop(lock);
        assert!(files.lock().is_ok());
        files.remove_state().unwrap();
        files.remove_state().unwrap();
    }

    #[test]
    fn checksum_is_sha256() {
        assert_eq!(checksum(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
