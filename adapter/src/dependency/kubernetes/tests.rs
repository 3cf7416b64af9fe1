use std::time::Duration;

use lifecycle_kube::Verb;

use super::*;
use crate::metrics::MetricIdentity;

fn metrics() -> Arc<Metrics> {
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    Arc::new(Metrics::new(&identity))
}

#[test]
fn only_requests_without_the_api_servers_answer_raise_suspicion() {
    let cases = [
        ("a success", Some(200), true, false),
        ("a missing object", Some(404), true, false),
        ("a conflict", Some(409), true, false),
        ("a server that fails", Some(500), true, false),
        ("a gateway without a server", Some(502), true, true),
        ("a gateway that sheds load", Some(503), true, true),
        ("a gateway that waits in vain", Some(504), true, true),
        ("an answer that was cut", Some(200), false, true),
        ("no answer", None, false, true),
    ];
    for (name, status, is_answered, expected) in cases {
        let suspicion = Suspicion::default();
        let end = observer(metrics(), suspicion.clone())();
        assert!(!suspicion.is_raised(), "{name}: it has only begun");
        end(&CallRecord { verb: Verb::Get, kind: "Job", status, is_answered, duration: Duration::ZERO, warnings: 0 });
        assert_eq!(suspicion.is_raised(), expected, "{name}");
        if let Some(status) = status.filter(|_| is_answered) {
            assert_eq!(verdict(Ok(status)).is_err(), expected, "{name}: the probe");
        }
    }
}

#[test]
fn cancelled_request_raises_suspicion() {
    let suspicion = Suspicion::default();
    drop(observer(metrics(), suspicion.clone())());
    assert!(suspicion.is_raised());
}
