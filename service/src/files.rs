//! Reads files with a size limit.
//!
//! In: a path and a limit in bytes. Out: the content. Fails: with an I/O error. A path in a configuration may
//! name a device or a pipe without an end, such as `/dev/zero`; without the limit, reading it would use up
//! the memory.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::{Path, PathBuf};

/// The size limit, in bytes, of a configuration file and of files that it refers to: twice the limit of a
/// `ConfigMap`.
pub const CONFIGURATION: u64 = 2 << 20;
/// The size limit, in bytes, of a file with a key, a token or a password; a longer file is not one.
pub const SECRET: u64 = 64 << 10;

/// Reads a file.
///
/// # Errors
/// The file cannot be read, or is longer than `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Reads a file as text.
///
/// # Errors
/// The file cannot be read, is longer than `limit` bytes, or is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a file as text on a thread for blocking work.
///
/// # Errors
/// The same as [`read_text`].
pub async fn read_text_aside(path: impl Into<PathBuf>, limit: u64) -> Result<String> {
    let path = path.into();
    tokio::task::spawn_blocking(move || read_text(&path, limit)).await.unwrap_or_else(|error| Err(Error::other(error)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// A temporary file that is removed when this value is dropped.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str, content: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("{}-{name}", std::process::id()));
            std::fs::write(&path, content).unwrap();
            Self(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[tokio::test]
    async fn endless_file_is_refused_at_the_limit() {
        let zeros = Path::new("/dev/zero");
        let error = read(zeros, CONFIGURATION).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::FileTooLarge, "it has more than 2097152 bytes".into())
        );
        assert_eq!(read_text(zeros, SECRET).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_text_aside(zeros, SECRET).await.unwrap_err().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn file_is_read_up_to_its_limit() {
        let file = Temporary::new("limit", b"12345");
        assert_eq!(read_text(&file.0, 5).unwrap(), "12345");
        assert_eq!(read_text(&file.0, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn text_must_be_utf_8() {
        let file = Temporary::new("bytes", &[0xff]);
        assert_eq!(read(&file.0, 9).unwrap(), [0xff]);
        assert_eq!(read_text(&file.0, 9).unwrap_err().to_string(), "it is not UTF-8 text");
    }

    #[test]
    fn missing_file_is_distinguished_from_an_unreadable_one() {
        assert_eq!(read(Path::new("/nonexistent"), 9).unwrap_err().kind(), ErrorKind::NotFound);
        assert_ne!(read(Path::new("/"), 9).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
