//! The server as its client sees it: bytes in, bytes out.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod calls;
mod ends;
mod lines;
mod properties;
mod scripted;

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use promptkit_deploy::serve::serve;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::scripted::Scripted;

/// An output that a test reads afterwards.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).expect("the answers are UTF-8");
        assert!(text.is_empty() || text.ends_with('\n'), "every line ends");
        text.lines().map(str::to_owned).collect()
    }
}

/// Serves an input to its end, and returns the lines.
fn talk(input: impl Into<Vec<u8>>) -> Vec<String> {
    let written = Written::default();
    let input = Cursor::new(input.into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(serve(&Scripted::default(), input, written.clone(), &CancellationToken::new())).unwrap();
    written.lines()
}

/// A request's line.
fn request(method: &str, params: &Value) -> String {
    format!("{}\n", serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Asks once, and returns the answer.
fn ask(method: &str, params: &Value) -> Value {
    let lines = talk(request(method, params));
    assert_eq!(lines.len(), 1, "{lines:?}");
    serde_json::from_str(&lines[0]).unwrap()
}
