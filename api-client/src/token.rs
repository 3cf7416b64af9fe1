//! Reads the token from a file that another program rotates.
//!
//! In: the file's path, and how long a token is used before the file is checked. Out: the value of the header
//! `Authorization`, marked as sensitive, so that `Debug` prints `Sensitive`. Fails: [`TokenError`]; once the
//! file cannot be read, its old token is not sent any more.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use lifecycle_service::files;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long a file must be unchanged before its metadata identify its content. Two writes within one tick of
/// the file system's clock leave the same metadata.
const SETTLED: Duration = Duration::from_secs(2);

/// Why the token file yields no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("reading token file {}", path.display())]
    #[expect(missing_docs, reason = "the message names them")]
    Unreadable { path: PathBuf, source: io::Error },
    /// The file holds nothing but white space.
    #[error("token file {} is empty", path.display())]
    #[expect(missing_docs, reason = "the message names it")]
    Empty { path: PathBuf },
    /// The token contains characters that HTTP headers cannot carry.
    #[error("the token is no valid header value")]
    Unsendable,
}

/// The authentication scheme: the word before the token in the header `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthScheme {
    /// `Bearer`, the scheme of OAuth 2.0.
    #[default]
    Bearer,
    /// `ServiceAccount`, by which a gateway recognises the tokens of machines.
    ServiceAccount,
}

impl AuthScheme {
    /// The schemes, each with the word by which configuration files name it.
    pub const CHOICES: [(&'static str, Self); 2] = [("Bearer", Self::Bearer), ("ServiceAccount", Self::ServiceAccount)];

    fn word(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::ServiceAccount => "ServiceAccount",
        }
    }
}

/// A token file with a cache of its last token.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    lifetime: Duration,
    scheme: AuthScheme,
    cached: Mutex<Option<Cached>>,
}

#[derive(Debug)]
struct Cached {
    /// The header's value, the scheme and the token.
    header: HeaderValue,
    read_at: Instant,
    /// The file's metadata when it was read; `None` if they do not identify the content, see [`SETTLED`].
    stamp: Option<Stamp>,
}

#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(self.changed.0).unwrap_or(0));
        now.duration_since(changed).is_ok_and(|age| age > SETTLED)
    }
}

impl TokenFile {
    /// The file of a `Bearer` token. With a `lifetime` of zero, each request checks the file's metadata and reads the
    /// file if they changed.
    #[must_use]
    pub fn new(path: PathBuf, lifetime: Duration) -> Self {
        Self { path, lifetime, scheme: AuthScheme::Bearer, cached: Mutex::default() }
    }

    /// The same file with another scheme.
    #[must_use]
    pub fn with_scheme(self, scheme: AuthScheme) -> Self {
        Self { scheme, ..self }
    }

    /// Returns the header's value for a request.
    ///
    /// # Errors
    /// The file cannot be read, or has no token.
    pub async fn token(&self) -> Result<HeaderValue, TokenError> {
        let mut cached = self.cached.lock().await;
        if let Some(known) = cached.as_ref() {
            let fresh = known.read_at.elapsed() < self.lifetime;
            if fresh || known.stamp.is_some() && known.stamp == self.stamp().await {
                return Ok(known.header.clone());
            }
        }
        self.read_into(&mut cached).await
    }

    /// Whether the file holds another token than the refused one. Reads the file and replaces the cached token.
    pub(crate) async fn has_replaced(&self, refused: &HeaderValue) -> bool {
        let mut cached = self.cached.lock().await;
        self.read_into(&mut cached).await.is_ok_and(|header| header != *refused)
    }

    async fn read_into(&self, cached: &mut Option<Cached>) -> Result<HeaderValue, TokenError> {
        *cached = None;
        // Read the metadata before the content: a change in between then shows as a difference at the next check.
        let stamp = self.stamp().await.filter(|stamp| stamp.is_settled(SystemTime::now()));
        let read_at = Instant::now();
        let text = files::read_text_aside(&self.path, files::SECRET)
            .await
            .map_err(|source| TokenError::Unreadable { path: self.path.clone(), source })?;
        if text.trim().is_empty() {
            return Err(TokenError::Empty { path: self.path.clone() });
        }
        let header = authorization(self.scheme, text.trim())?;
        *cached = Some(Cached { header: header.clone(), read_at, stamp });
        Ok(header)
    }

    async fn stamp(&self) -> Option<Stamp> {
        tokio::fs::metadata(&self.path).await.ok().map(|metadata| Stamp::of(&metadata))
    }
}

fn authorization(scheme: AuthScheme, token: &str) -> Result<HeaderValue, TokenError> {
    let text = format!("{} {token}", scheme.word());
    let mut header = HeaderValue::from_str(&text).map_err(|_| TokenError::Unsendable)?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn token_or_error(file: &TokenFile) -> String {
        match file.token().await {
            Ok(header) => header.to_str().unwrap_or_default().trim_start_matches("Bearer ").to_owned(),
            Err(error) => lifecycle_errors::Chain(&error).to_string(),
        }
    }

    #[tokio::test]
    async fn token_without_a_lifetime_follows_each_change_of_the_file() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("token");
        let file = TokenFile::new(path.clone(), Duration::ZERO);
        assert!(token_or_error(&file).await.starts_with("reading token file"), "missing");
        for token in ["one", "two", "thr"] {
            std::fs::write(&path, format!(" {token}\n"))?;
            assert_eq!(token_or_error(&file).await, token, "even after two writes within one tick of the clock");
        }
        std::fs::write(&path, "a\nb")?;
        assert_eq!(token_or_error(&file).await, "the token is no valid header value");
        assert!(
            !format!("{:?}", authorization(AuthScheme::Bearer, "hunter2")?).contains("hunter2"),
            "`Debug` prints no token"
        );
        std::fs::write(&path, " \n")?;
        assert!(token_or_error(&file).await.ends_with("is empty"), "blank");
        std::fs::remove_file(&path)?;
        std::os::unix::fs::symlink("/dev/zero", &path)?;
        assert!(token_or_error(&file).await.ends_with("more than 65536 bytes"), "without an end");
        std::fs::remove_file(&path)?;
        assert!(token_or_error(&file).await.starts_with("reading token file"), "gone");
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn token_is_kept_for_its_lifetime_unless_refused() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("token");
        let file = TokenFile::new(path.clone(), Duration::from_secs(30));
        std::fs::write(&path, "one")?;
        assert_eq!(token_or_error(&file).await, "one");
        std::fs::write(&path, "two")?;
        tokio::time::advance(Duration::from_secs(29)).await;
        assert_eq!(token_or_error(&file).await, "one", "within its lifetime");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(token_or_error(&file).await, "two", "after its lifetime");

        let two = authorization(AuthScheme::Bearer, "two")?;
        assert!(!file.has_replaced(&two).await, "the file still holds the refused token");
        std::fs::write(&path, "three")?;
        assert!(file.has_replaced(&two).await, "the file holds a new token");
        assert_eq!(token_or_error(&file).await, "three");
        Ok(())
    }

    #[test]
    fn metadata_identify_content_only_after_the_file_settled() {
        let stamp = Stamp { device: 1, inode: 1, length: 1, changed: (1000, 0) };
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let cases = [("long ago", 1010, true), ("just now", 1001, false), ("in the future, by its clock", 900, false)];
        for (name, now, expected) in cases {
            assert_eq!(stamp.is_settled(at(now)), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn scheme_is_the_word_before_the_token() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("token");
        std::fs::write(&path, "t0ken\n")?;
        for (word, scheme) in AuthScheme::CHOICES {
            let file = TokenFile::new(path.clone(), Duration::ZERO).with_scheme(scheme);
            assert_eq!(file.token().await?.to_str()?, format!("{word} t0ken"));
        }
        Ok(())
    }
}
