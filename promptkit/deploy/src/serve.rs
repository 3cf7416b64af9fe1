//! The server: answers lines in order until the input ends or a signal arrives.
//!
//! In: lines. Out: one line for each, and with `lifecycle.stream` one for each event before it; then an exit code. Calls are
//! strictly sequential, as the client expects. The end of the input ends the program at once, with 0. An input or output that
//! fails ends it with 1. SIGINT and SIGTERM end the running call, answer it, and end the program with 0.
//!
//! A thread reads, because a read from standard input cannot be cancelled; the program ends while that thread still waits.

use std::future::Future;
use std::io::{self, BufReader, Read, Write};
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Output, RpcError};
use crate::lines::{self, Line};
use crate::methods::Server;
use crate::protocol::Request;
use crate::provider::Provider;

/// Serves standard input and output, and returns the program's exit code. This is all that a provider's `main` does.
pub fn run<P: Provider>(provider: &P) -> ExitCode {
    let served = on_a_runtime(async {
        let stop = stop_at_signals()?;
        serve(provider, io::stdin(), io::stdout(), &stop).await
    });
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a future, and leaves behind what still blocks a thread, such as the look-up of a name: the client waits for the exit.
fn on_a_runtime(serving: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serving);
    runtime.shutdown_background();
    served
}

/// Serves an input and an output until the input ends or `stop` is cancelled.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub async fn serve<P: Provider>(
    provider: &P,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: &CancellationToken,
) -> io::Result<()> {
    let (sender, receiver) = channel(1);
    std::thread::Builder::new()
        .name("lines".to_owned())
        .spawn(move || lines::read(BufReader::with_capacity(1 << 16, input), lines::LONGEST, &sender))?;
    let output = Output::new(output);
    let server = Server { provider, output: &output, stop };
    answer_all(&server, receiver).await
}

async fn answer_all<P: Provider>(server: &Server<'_, P>, mut lines: Receiver<Line>) -> io::Result<()> {
    loop {
        let line = tokio::select! {
            biased;
            () = server.stop.cancelled() => return Ok(()),
            line = lines.recv() => line,
        };
        match line {
            None => return Ok(()),
            Some(Line::Failed(error)) => return Err(error),
            Some(Line::TooLong) => {
                let limit = lines::LONGEST >> 20;
                let answer: Answer = Err(RpcError::parse(&format!("the line has more than {limit} MiB")));
                server.output.answer(None, &answer)?;
            }
            Some(Line::Text(text)) => answer(server, &text).await?,
        }
    }
}

async fn answer<P: Provider>(server: &Server<'_, P>, line: &[u8]) -> io::Result<()> {
    // An array would pass for a request with its members in order; a batch is not supported.
    let parsed = if line.trim_ascii_start().starts_with(b"[") {
        Err(RpcError::parse("an array, expected an object"))
    } else {
        serde_json::from_slice::<Option<Request<'_>>>(line).map_err(|error| RpcError::parse(&error.to_string()))
    };
    match parsed {
        Err(error) => server.output.answer(None, &Err(error)),
        Ok(request) => {
            let request = request.unwrap_or(Request { id: None, method: String::new(), params: None });
            let answer = server.answer(&request).await;
            server.output.answer(request.id, &answer)
        }
    }
}

fn stop_at_signals() -> io::Result<CancellationToken> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        cancelled.cancel();
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;
    use std::time::Instant;

    use super::*;

    #[test]
    fn exit_does_not_wait_for_a_thread_that_blocks() {
        let (sender, receiver) = channel::<()>();
        let (done, is_done) = channel();
        std::thread::spawn(move || {
            let served = on_a_runtime(async {
                tokio::task::spawn_blocking(move || receiver.recv());
                Ok(())
            });
            done.send(served.is_ok())
        });
        let started = Instant::now();
        assert_eq!(is_done.recv_timeout(Duration::from_secs(20)), Ok(true), "after {:?}", started.elapsed());
        drop(sender);
    }
}
