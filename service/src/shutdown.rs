//! SIGINT and SIGTERM.
//!
//! In: the signals. Out: a token, which the first signal cancels. The second signal exits the process at
//! once, for an operator who does not want to wait. How the program winds down after the first is its own
//! affair.

use std::future::Future;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Installs handlers for both signals; from now on the first one only cancels the returned token.
///
/// # Errors
/// The handlers cannot be installed.
pub fn listen() -> io::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = CancellationToken::new();
    let first = stop.clone();
    tokio::spawn(async move {
        let name = next(&mut interrupt, &mut terminate).await;
        watch(&first, name, next(&mut interrupt, &mut terminate)).await;
        std::process::exit(1);
    });
    Ok(stop)
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> &'static str {
    tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    }
}

/// Cancels `stop` at the first signal, and returns at the second one, after which the caller exits the process.
async fn watch(stop: &CancellationToken, first: &'static str, second: impl Future<Output = &'static str>) {
    tracing::info!(signal = first, "Shutting down");
    stop.cancel();
    let second = second.await;
    tracing::error!(signal = second, "Second signal, exiting without finishing");
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn first_signal_cancels_and_second_one_exits() {
        let stop = CancellationToken::new();
        let (send, receive) = oneshot::channel::<&'static str>();
        let watching = tokio::spawn({
            let stop = stop.clone();
            async move { watch(&stop, "SIGTERM", async { receive.await.unwrap_or("none") }).await }
        });
        stop.cancelled().await;
        assert!(!watching.is_finished(), "the process exits only at the second signal");
        assert_eq!(send.send("SIGTERM"), Ok(()));
        assert!(watching.await.is_ok());
    }
}
