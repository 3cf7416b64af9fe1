//! The key that ownership proofs are made with, from a file that is mounted beside the configuration.
//!
//! In: a path. Out: a [`Signer`], which does not show the key, and whether the file is open to everybody; or in words why
//! there is none.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lifecycle_config::diagnostics::why_unreadable;
use lifecycle_core::proof::Signer;
use lifecycle_service::files;

/// A key that can be used.
#[derive(Debug)]
pub struct Key {
    /// Signs with it.
    pub signer: Signer,
    /// Whether every user of the machine may read its file.
    pub open_to_all: bool,
}

/// Where keys come from: [`read`], or what has none and stands in its place.
pub type Source<'s> = dyn Fn(&Path) -> Result<Key, String> + 's;

/// Reads a key file.
///
/// # Errors
/// Words that say why there is no key in it.
pub fn read(path: &Path) -> Result<Key, String> {
    // To open something else, a pipe say, may take for ever.
    let metadata = std::fs::metadata(path).map_err(|error| why_unreadable(&error))?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    let key = files::read(path, files::SECRET).map_err(|error| why_unreadable(&error))?;
    let signer = Signer::new(&key).map_err(|error| error.to_string())?;
    Ok(Key { signer, open_to_all: metadata.mode() & 0o004 != 0 })
}
