//! Where audit records are written to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Takes the lines of records.
pub(crate) trait Sink: Send {
    /// Writes one line, given without its line break; if `is_synced`, the line outlasts a crash of the machine.
    ///
    /// # Errors
    ///
    /// The line may be written, in part or as a whole.
    fn append(&mut self, line: &[u8], is_synced: bool) -> io::Result<()>;
}

/// The rights by which users other than the file's owner and group read or write it.
const OF_OTHERS: u32 = 0o006;

/// A file that lines are appended to, and which is there under its name whenever a line is: a line in a file that somebody
/// removed or moved away would be a record that nobody finds.
pub(super) struct AppendOnly {
    path: PathBuf,
    /// Whether lines contain the data of Secrets.
    secrets: bool,
    file: File,
    /// Whether the file's last line lacks its line break.
    is_torn: bool,
}

impl AppendOnly {
    pub(super) fn open(path: &Path, secrets: bool) -> io::Result<Self> {
        check_kind(path)?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        // Without this, a crash of the machine can lose the name of a new file, and with it every line.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
        let mut last = *b"\n";
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let opened = Self { path: path.to_owned(), secrets, file, is_torn: last != *b"\n" };
        opened.check_rights()?;
        Ok(opened)
    }

    /// Opens the file again, or creates it, if the name no longer leads to it.
    fn find_again(&mut self) -> io::Result<()> {
        let opened = self.file.metadata()?;
        let is_there = match fs::metadata(&self.path) {
            Ok(named) => (named.dev(), named.ino()) == (opened.dev(), opened.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if is_there {
            return self.check_rights();
        }
        *self = Self::open(&self.path.clone(), self.secrets)?;
        tracing::warn!(file = %self.path.display(), "Somebody removed or moved the audit file; the records go on in a new one");
        Ok(())
    }

    /// Refuses to write Secrets where everybody on the machine reads them, or may change them before a restore.
    fn check_rights(&self) -> io::Result<()> {
        let mode = self.file.metadata()?.mode() & 0o777;
        if self.secrets && mode & OF_OTHERS != 0 {
            let why = format!(
                "its mode is {mode:03o}, so others may read or write it, and with `audit.secrets` it gets the data of \
                 Secrets: chmod o-rw"
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(())
    }
}

impl Sink for AppendOnly {
    fn append(&mut self, line: &[u8], is_synced: bool) -> io::Result<()> {
        self.find_again()?;
        let line = [if self.is_torn { b"\n".as_slice() } else { b"" }, line, b"\n"].concat();
        self.is_torn = true;
        self.file.write_all(&line)?;
        self.is_torn = false;
        if is_synced { self.file.sync_data() } else { Ok(()) }
    }
}

/// Refuses what blocks whoever opens it or writes to it until somebody reads, such as a FIFO: the pass would stand still, and
/// the replica would go on to lead. Nothing is opened to find out.
fn check_kind(path: &Path) -> io::Result<()> {
    let kind = match fs::metadata(path) {
        Ok(found) => found.file_type(),
        // It will be created.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if kind.is_file() || kind.is_char_device() {
        return Ok(());
    }
    let what = if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_dir() {
        "a directory"
    } else {
        "no regular file"
    };
    let why = format!("it is {what}, which cannot keep records: name a regular file, or none for standard output");
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Drops every line.
pub(super) struct Nowhere;

impl Sink for Nowhere {
    fn append(&mut self, _: &[u8], _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output. Nothing but the reader of the stream can make its lines last.
pub(super) struct Stdout;

impl Sink for Stdout {
    fn append(&mut self, line: &[u8], _: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&[line, b"\n"].concat())?;
        out.flush()
    }
}
