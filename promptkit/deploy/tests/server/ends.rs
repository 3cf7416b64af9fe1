//! How the server ends: at a signal, and when input or output fails.

use std::io::{self, Read, Write};
use std::time::Duration;

use promptkit_deploy::provider::GRACE;
use promptkit_deploy::serve::serve;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Scripted, Written, request};

fn apply(does: &str) -> Vec<u8> {
    let config = json!({"does": does, "scope": "s"}).to_string();
    request("apply", &json!({"deploy_config": config, "lifecycle": {"stream": true}})).into_bytes()
}

/// Serves two requests, and cancels as soon as the first one has begun.
async fn interrupted(does: &str) -> (Vec<Value>, Duration) {
    let written = Written::default();
    let stop = CancellationToken::new();
    let input = io::Cursor::new([apply(does), apply("work")].concat());
    let scripted = Scripted::default();
    let serving = serve(&scripted, input, written.clone(), &stop);
    let cancel = async {
        while written.lines().is_empty() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
        tokio::time::Instant::now()
    };
    let (served, cancelled) = tokio::join!(serving, cancel);
    served.unwrap();
    let lines = written.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines, cancelled.elapsed())
}

#[tokio::test(start_paused = true)]
async fn signal_ends_the_running_call_with_its_state_and_starts_no_other() {
    for (does, longest) in [("wait", Duration::ZERO), ("hang", GRACE)] {
        let (lines, took) = interrupted(does).await;
        let answers: Vec<_> = lines.iter().filter(|line| line["method"].is_null()).collect();
        assert_eq!(answers.len(), 1, "{does}: {answers:?}");
        let data = &answers[0]["error"]["data"];
        assert!(data["adapter_state"].as_str().unwrap().contains(r#""name":"a""#), "{does}: {data}");
        assert_eq!(data["errors"][0]["category"], "timeout", "{does}");
        assert!(took <= longest + Duration::from_millis(10), "{does}: {took:?}");
    }
}

#[tokio::test]
async fn signal_without_a_call_ends_at_once() {
    let (reader, _writer) = io::pipe().unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    serve(&Scripted::default(), reader, Written::default(), &stop).await.unwrap();
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::BrokenPipe))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn input_or_output_that_fails_is_an_error() {
    let stop = CancellationToken::new();
    assert!(serve(&Scripted::default(), Broken, Written::default(), &stop).await.is_err());
    assert!(serve(&Scripted::default(), io::Cursor::new(apply("work")), Broken, &stop).await.is_err());
}
