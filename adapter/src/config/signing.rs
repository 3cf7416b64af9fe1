//! Reads the key that signs ownership proofs, from a file that is mounted beside the configuration.
//!
//! In: a path. Out: a [`Signer`], whose `Debug` hides the key, and whether every user may read the file. Fails
//! with a sentence for the diagnostic.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lifecycle_config::diagnostics::why_unreadable;
use lifecycle_objects::proof::Signer;
use lifecycle_service::files;

/// A signing key, ready to use.
#[derive(Debug)]
pub struct Key {
    /// Signs labels with the key.
    pub signer: Signer,
    /// Whether every user of the machine may read the file, for which the loader warns.
    pub open_to_all: bool,
}

/// A function that reads a key: [`read`], or one that tests pass instead.
pub type Source<'s> = dyn Fn(&Path) -> Result<Key, String> + 's;

/// Reads a key file.
///
/// # Errors
/// A sentence that says why the file has no usable key.
pub fn read(path: &Path) -> Result<Key, String> {
    // Check the type before opening: opening a named pipe would block until another process writes to it.
    let metadata = std::fs::metadata(path).map_err(|error| why_unreadable(&error))?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    let key = files::read(path, files::SECRET).map_err(|error| why_unreadable(&error))?;
    let signer = Signer::new(&key).map_err(|error| error.to_string())?;
    Ok(Key { signer, open_to_all: metadata.mode() & 0o004 != 0 })
}
