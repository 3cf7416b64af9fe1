//! Where audit records are written to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Takes the lines of records.
pub(crate) trait Sink: Send {
    /// Writes one line, given without its line break; if `is_synced`, the line outlasts a crash of the machine.
    ///
    /// # Errors
    ///
    /// The line may be written, in part or as a whole.
    fn append(&mut self, line: &[u8], is_synced: bool) -> io::Result<()>;
}

/// A file that lines are appended to.
pub(super) struct AppendOnly {
    file: File,
    /// Whether the file's last line lacks its line break.
    is_torn: bool,
}

impl AppendOnly {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        // Without this, a crash of the machine can lose the name of a new file, and with it every line.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
        let mut last = *b"\n";
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Self { file, is_torn: last != *b"\n" })
    }
}

impl Sink for AppendOnly {
    fn append(&mut self, line: &[u8], is_synced: bool) -> io::Result<()> {
        let line = [if self.is_torn { b"\n".as_slice() } else { b"" }, line, b"\n"].concat();
        self.is_torn = true;
        self.file.write_all(&line)?;
        self.is_torn = false;
        if is_synced { self.file.sync_data() } else { Ok(()) }
    }
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
