#![expect(clippy::unwrap_used, reason = "tests")]

use std::net::SocketAddr;

use lifecycle_core::sweep::{Approval, Doubt};
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_service::probes::Readiness;
use lifecycle_service::servers::serve_health;
use lifecycle_service::version::THIS;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::act::Refused;
use crate::audit::Audit;
use crate::config::{CONFIGURATION, Environment, Flags};
use crate::leader::{Claim, Lease};
use crate::lease_notes::Notes;
use crate::metrics::Metrics;
use crate::pass::{Clock, Sweeper};
use crate::world::World;

const SECRET: &str = "aHVudGVyMi1hbmQtbW9yZQ==";
const HOLDER: &str = "pod-0_1";

/// Notes that nobody keeps.
struct Forgetful;

impl Notes for Forgetful {
    async fn approval(&self) -> Option<Approval> {
        None
    }

    async fn keep(&self, _: &[Doubt], _: Option<&str>) {}
}

/// A sweeper of a world with one living resource, and so many orphans, which are Secrets.
fn sweeper(settings: &str, orphans: usize) -> Sweeper<World, World> {
    let (objects, api) = (World::default(), World::default());
    api.set_resources([("r0".to_owned(), Generation(1))].into());
    for number in 0..orphans {
        let labels = json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "r1" });
        let metadata = json!({ "name": format!("s-{number}"), "namespace": "team", "labels": labels });
        let data = json!({ "token": SECRET });
        objects.add(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data }));
    }
    let text = format!(
        "adapters: [a]\nresource_id_pattern: 'r[0-9]'\napi: {{base_url: 'http://user:passw0rd@api'}}\ngrace: 1ns\n{settings}"
    );
    let config = CONFIGURATION.parse("test", &text, &Environment::new(), &Flags::new()).unwrap().0;
    let metrics = Arc::new(Metrics::new(&THIS, config.policy.grace, config.dry_run));
    let (audit, refused) = (Audit::to_nowhere(), Refused::default());
    let page = PlanPage::new(&config.plan_access, Timestamp::UNIX_EPOCH);
    Sweeper { objects, api, audit, refused, metrics, page, clock: Clock::start(), config }
}

/// Makes two passes, of which the second may delete; returns what the page says then.
async fn page_after_two_passes(sweeper: &Sweeper<World, World>) -> Value {
    let (claim, mut strikes) = (Claim::of(41), Strikes::default());
    for _ in 0..2 {
        sweeper.pass(&mut strikes, &claim, &Forgetful).await;
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
    source(sweeper, Leadership::of(Ok(claim))).body(Timestamp::UNIX_EPOCH)
}

fn source(sweeper: &Sweeper<World, World>, leadership: Leadership) -> Source {
    Source {
        page: sweeper.page.clone(),
        access: sweeper.config.plan_access.clone(),
        leadership,
        identity: Identity { component: "sweeper".to_owned(), version: "1".to_owned(), hostname: "pod-0".to_owned() },
        holder: HOLDER.to_owned(),
        config: sweeper.config.clone(),
    }
}

#[tokio::test(start_paused = true)]
async fn page_tells_the_last_pass_and_what_became_of_its_objects() {
    let deletes = "dry_run: false\nlimits: {percent: 100}\nplan: {anonymous: true}\n";
    let held = "dry_run: false\nlimits: {objects: 1, percent: 100}\nplan: {anonymous: true}\n";
    let reports = "limits: {percent: 100}\nplan: {anonymous: true}\n";
    // The result, whether a plan can be approved, and the outcomes of objects and of the history.
    let cases = [
        ("deletes", deletes, "done", false, vec!["deleted", "deleted"]),
        ("holds", held, "held", true, vec![]),
        ("only reports", reports, "dry_run", false, vec![]),
    ];
    for (name, settings, result, can_be_approved, outcomes) in cases {
        let page = page_after_two_passes(&sweeper(settings, 2)).await;
        let pass = &page["pass"];
        assert_eq!((&pass["result"], &pass["objects_total"]), (&json!(result), &json!(2)), "{name}: {page}");
        let command = can_be_approved.then(|| format!("sweeper approve {}", pass["plan"].as_str().unwrap()));
        assert_eq!(page["approve"], json!(command), "{name}: {page}");
        let of = |objects: &Value, key: &str| -> Vec<Value> {
            objects.as_array().into_iter().flatten().filter_map(|object| object.get(key).cloned()).collect()
        };
        assert_eq!(of(&pass["objects"], "first_strike").len(), 2, "{name}: {page}");
        assert_eq!(of(&pass["objects"], "outcome"), outcomes, "{name}: {page}");
        assert_eq!(of(&page["history"], "result"), outcomes, "{name}: {page}");
        assert_eq!(page["history_since"], "1970-01-01T00:00:00Z", "{name}");
        assert_eq!((&page["leads"], &page["term"], &page["holder"]), (&json!(true), &json!(41), &json!(HOLDER)));
        for secret in [SECRET, "passw0rd"] {
            assert!(!page.to_string().contains(secret), "{name}: {page}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn page_has_no_more_than_500_objects_and_attempts() {
    let settings = "dry_run: false\nlimits: {objects: 1000, percent: 100}\nplan: {anonymous: true}\n";
    let page = page_after_two_passes(&sweeper(settings, 510)).await;
    let count = |objects: &Value| objects.as_array().map(Vec::len);
    assert_eq!((count(&page["pass"]["objects"]), count(&page["history"])), (Some(500), Some(500)));
    assert_eq!(page["pass"]["objects_total"], 510);
}

#[tokio::test(start_paused = true)]
async fn page_that_is_off_keeps_nothing() {
    let sweeper = sweeper("dry_run: false\nlimits: {percent: 100}\n", 2);
    page_after_two_passes(&sweeper).await;
    assert!(sweeper.page.known().is_none());
}

#[tokio::test(start_paused = true)]
async fn replica_that_does_not_lead_names_the_holder_and_has_no_plan() {
    let sweeper = sweeper("limits: {objects: 1, percent: 100}\nplan: {anonymous: true}\n", 2);
    page_after_two_passes(&sweeper).await;
    sweeper.page.term_ended();
    let kind = GroupVersionKind::new("coordination.k8s.io/v1", "Lease");
    let lease = Lease {
        object: ObjectRef { kind, namespace: Some("n".to_owned()), name: "sweeper".to_owned() },
        annotations: [].into(),
        other_holder: Some("pod-1_2".to_owned()),
    };
    let page = source(&sweeper, Leadership::of(Err(lease))).body(Timestamp::UNIX_EPOCH);
    let told = ["leads", "term", "holder", "pass", "approve"].map(|key| page[key].clone());
    assert_eq!(told, [json!(false), Value::Null, json!("pod-1_2"), Value::Null, Value::Null], "{page}");
}

#[tokio::test]
async fn page_is_off_unless_a_token_or_anonymous_opens_it() {
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&token, "s3cret").unwrap();
    let with_token = format!("plan: {{token_file: {}}}\n", token.path().display());
    let cases = [
        ("off", String::new(), None, 403, "/plan is off: set plan.token_file, or plan.anonymous to open it to all"),
        ("no token", with_token.clone(), None, 401, "send the token"),
        ("the token", with_token, Some("s3cret"), 200, "\"leads\":true"),
        ("open", "plan: {anonymous: true}\n".to_owned(), None, 200, "\"leads\":true"),
    ];
    for (name, settings, token, status, part) in cases {
        let page = served(source(&sweeper(&settings, 0), Leadership::of(Ok(Claim::of(1)))));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = serve_health("sweeper", any, CancellationToken::new(), Readiness::default, [page]).await.unwrap();
        lifecycle_e2e::init();
        let mut request = reqwest::Client::new().get(format!("http://{}/plan", server.address()));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        let (found, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert!(found == status && text.contains(part), "{name}: {found}: {text}");
    }
}
