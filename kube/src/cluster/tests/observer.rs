//! Tests of what a [`CallObserver`] is called with.

use super::*;
use crate::call::CallRecord;

/// Settings with an observer that records a line for the beginning and the end of each request.
fn observed() -> (Settings, Arc<Mutex<Vec<String>>>) {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&heard);
    let observer: CallObserver = Arc::new(move || {
        log.lock().unwrap().push("begin".to_owned());
        let log = Arc::clone(&log);
        Box::new(move |record: &CallRecord<'_>| {
            let answered = if record.is_answered { "answered" } else { "not answered" };
            let line = format!("{} {} {:?} {answered}", record.verb.label(), record.kind, record.status);
            log.lock().unwrap().push(line);
        })
    });
    (Settings { observer: Some(observer), ..Settings::default() }, heard)
}

#[tokio::test]
async fn observer_is_notified_of_every_request() {
    let (_server, client) = Server::start(|_| status(403, "Forbidden", Value::Null)).await;
    let (settings, heard) = observed();
    Cluster::new(client, "me", settings).dry_run_create(&config_map()).await.unwrap_err();
    assert_eq!(
        *heard.lock().unwrap(),
        ["begin", "discover ConfigMap Some(200) answered", "begin", "dry_run ConfigMap Some(403) answered"]
    );
}

#[tokio::test]
async fn observer_is_notified_of_a_missing_answer() {
    let (settings, heard) = observed();
    let cluster = Cluster::new(client(&closed_port().await).await, "me", settings);
    cluster.create(&config_map()).await.unwrap_err();
    assert_eq!(*heard.lock().unwrap(), ["begin", "discover ConfigMap None not answered"]);
}

#[tokio::test]
async fn observer_is_not_notified_of_the_end_of_a_cancelled_request() {
    let (server, client) = Server::start_with_barrier(2, |_| (200, Value::Null)).await;
    let (settings, heard) = observed();
    let cluster = Cluster::new(client, "me", settings);
    let object = named("ConfigMap", "team", "a");
    let sent = async {
        while server.lines().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    // Drops the call once its second request has arrived, which is never answered.
    let ended = tokio::select! {
        answer = cluster.get(&object) => Some(answer),
        sent = tokio::time::timeout(Duration::from_secs(60), sent) => sent.map(|()| None).unwrap(),
    };
    assert!(ended.is_none(), "the call ended by itself: {ended:?}");
    assert_eq!(*heard.lock().unwrap(), ["begin", "discover ConfigMap Some(200) answered", "begin"]);
}

#[tokio::test]
async fn endless_answer_is_refused_and_counts_as_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        // The write fails once the client has closed the connection.
        while stream.write_all(&[b' '; 64 * 1024]).await.is_ok() {}
    });
    let (settings, heard) = observed();
    let error = Cluster::new(client(&url).await, "me", settings).create(&config_map()).await.unwrap_err();
    assert!(error.message.contains("the answer is longer than 64 MiB"), "{error}");
    assert_eq!(error.status, Some(200));
    assert_eq!(heard.lock().unwrap()[1], "discover ConfigMap Some(200) answered");
    server.await.unwrap();
}

#[tokio::test]
async fn probe_returns_any_status() {
    let refusing = answering(|_| status(503, "ServiceUnavailable", Value::Null)).await;
    assert_eq!(refusing.probe().await, Ok(503));
    let reason = cluster(client(&closed_port().await).await).probe().await.unwrap_err();
    assert!(reason.contains("Connection refused"), "{reason}");
}
