//! The two signals that end the process.
//!
//! In: SIGINT and SIGTERM. Out: a token that is cancelled by the first one; the second one ends the process at once,
//! for whoever has waited long enough. It does not say how the rest of the process winds down.

use std::future::Future;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Starts to listen; from now on neither signal kills the process by itself.
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

/// Returns when there is nothing left but to exit.
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
    async fn the_first_signal_asks_and_the_second_one_ends() {
        let stop = CancellationToken::new();
        let (send, receive) = oneshot::channel::<&'static str>();
        let watching = tokio::spawn({
            let stop = stop.clone();
            async move { watch(&stop, "SIGTERM", async { receive.await.unwrap_or("none") }).await }
        });
        stop.cancelled().await;
        assert!(!watching.is_finished(), "nothing ends before the second signal");
        assert_eq!(send.send("SIGTERM"), Ok(()));
        assert!(watching.await.is_ok());
    }
}
