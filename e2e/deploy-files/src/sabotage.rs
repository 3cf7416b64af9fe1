//! What a test breaks on purpose, named by the variable `SABOTAGE`.
//!
//! Some break the provider, where it asks [`Sabotage::is`]. The others break the lines between the client and the server.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use promptkit_deploy::serve::serve;
use tokio_util::sync::CancellationToken;

use crate::provider::Files;

/// The sabotage of this process, if any.
pub(crate) struct Sabotage(Option<String>);

impl Sabotage {
    pub(crate) fn of_environment() -> Self {
        Self(std::env::var("SABOTAGE").ok())
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.0.as_deref() == Some(name)
    }
}

/// Serves with broken lines, and does not handle signals: they end the process.
pub(crate) fn run(provider: &Files) -> ExitCode {
    let name = provider.sabotage.0.clone().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (input, output) =
        (Broken { name: name.clone(), to: io::stdin() }, Broken { name: name.clone(), to: io::stdout() });
    if name == "greets" {
        let _ = writeln!(io::stdout(), "{{}}");
    }
    let served =
        runtime.and_then(|runtime| runtime.block_on(serve(provider, input, output, &CancellationToken::new())));
    if name == "lingers" {
        std::thread::sleep(Duration::from_secs(10));
    }
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// An input or an output with a sabotage.
struct Broken<T> {
    name: String,
    to: T,
}

impl<T: Read> Read for Broken<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.to.read(bytes)?;
        // As long as what it replaces, so that the count stays.
        let (from, to) = match self.name.as_str() {
            "takes a broken state for none" => (r#""prior_state":"{""#, r#""prior_state":"" "#),
            _ => return Ok(count),
        };
        let read = bytes.get_mut(..count).unwrap_or_default();
        if let Some(at) = read.windows(from.len()).position(|window| window == from.as_bytes())
            && let Some(place) = read.get_mut(at..at + to.len())
        {
            place.copy_from_slice(to.as_bytes());
        }
        Ok(count)
    }
}

impl<T: Write> Write for Broken<T> {
    /// The server writes a whole line at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let line = match self.name.as_str() {
            "has other codes" => line.replace("-32601", "-32603"),
            "has the standard's codes" => line.replace("-32700,\"message\":\"invalid", "-32602,\"message\":\"invalid"),
            "dies of garbage" if line.contains("parse error") => std::process::exit(1),
            "has integers as ids" => line.replace("\"id\":\"x\"", "\"id\":0").replace("\"id\":7.5", "\"id\":7"),
            "writes long lines" if line.len() > 1 << 20 => {
                line.replace("\"events\"", &format!("\"x\":\"{}\",\"events\"", "x".repeat(10 << 20)))
            }
            "writes empty members" => line.replace("\"status\":\"deployed\"", "\"status\":\"deployed\",\"links\":[]"),
            "is always deployed" => line.replace("not_deployed", "deployed"),
            "answers one status for all" => line.replace("\"status\":\"deployed\"", "\"status\":\"unknown\""),
            "counts from zero" => line.replace("\"seq\":1,", "\"seq\":0,"),
            _ => line.into_owned(),
        };
        self.to.write_all(line.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
