//! Electors on a real API server.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::FutureExt as _;
use hyperfleet_sweeper::leader::{Claim, Elector, End, Leadership, Settings, TermOver};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use lifecycle_e2e::fault::{Fault, Proxy, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

const NAME: &str = "sweeper";
const LEASE_DURATION: Duration = Duration::from_secs(8);

struct World {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    leases: Api<Lease>,
    /// The duration of the Lease, and the renew deadline, of every replica.
    duration: Duration,
    renew_deadline: Duration,
}

/// One elector, which runs as a task.
struct Replica {
    leadership: Leadership,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl World {
    /// A world with a Lease that the first replica may take at once.
    async fn new() -> Result<Self> {
        let world = Self::without_lease().await?;
        let spec =
            LeaseSpec { holder_identity: Some(String::new()), lease_duration_seconds: Some(1), ..LeaseSpec::default() };
        world.create_lease(Some(spec)).await?;
        Ok(world)
    }

    /// A world in which nothing expires, and no request is given up, while a busy machine holds the test up.
    async fn patient() -> Result<Self> {
        let (duration, renew_deadline) = (Duration::from_secs(30), Duration::from_secs(20));
        Ok(Self { duration, renew_deadline, ..Self::new().await? })
    }

    async fn without_lease() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let leases = namespace.api().await?;
        let (duration, renew_deadline) = (LEASE_DURATION, Duration::from_secs(6));
        Ok(Self { control_plane, namespace, leases, duration, renew_deadline })
    }

    async fn create_lease(&self, spec: Option<LeaseSpec>) -> Result<()> {
        let annotations = [("example.com/kept".to_owned(), "yes".to_owned())].into();
        let metadata =
            ObjectMeta { name: Some(NAME.to_owned()), annotations: Some(annotations), ..ObjectMeta::default() };
        self.leases.create(&PostParams::default(), &Lease { metadata, spec }).await?;
        Ok(())
    }

    async fn patch_lease(&self, patch: serde_json::Value) -> Result<()> {
        self.leases.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn lease(&self) -> Result<(ObjectMeta, LeaseSpec)> {
        let Lease { metadata, spec } = self.leases.get(NAME).await?;
        Ok((metadata, spec.context("the Lease has no spec")?))
    }

    async fn holder(&self) -> Result<String> {
        Ok(self.lease().await?.1.holder_identity.unwrap_or_default())
    }

    async fn start(&self, identity: &str) -> Result<Replica> {
        self.start_with(identity, self.control_plane.kubeconfig_path()).await
    }

    async fn start_behind(&self, identity: &str, proxy: &Proxy) -> Result<Replica> {
        self.start_with(identity, &proxy.access()?.kubeconfig).await
    }

    async fn start_with(&self, identity: &str, kubeconfig: &Path) -> Result<Replica> {
        let client = lifecycle_kube::connect(Some(kubeconfig), "lifecycle-test/1").await?;
        let settings = Settings {
            namespace: Some(self.namespace.name().to_owned()),
            name: NAME.to_owned(),
            duration: self.duration,
            renew_deadline: self.renew_deadline,
            retry: Duration::from_millis(500),
        };
        let (elector, leadership) = Elector::new(client, settings, identity.to_owned())?;
        let stop = CancellationToken::new();
        Ok(Replica { leadership, task: tokio::spawn(elector.run(stop.clone())), stop })
    }
}

impl Replica {
    async fn claim(&self) -> Result<Claim> {
        timeout(PATIENCE, self.leadership.claim()).await.context("no term began")?.context("the election ended")
    }

    /// The term in which the replica leads now.
    fn term(&self) -> Option<u32> {
        let claim = self.leadership.claim().now_or_never().flatten()?;
        claim.permit().is_ok().then(|| claim.term())
    }

    async fn has_seen_the_lease(&self) -> Result<()> {
        await_condition("the replica to see the Lease", PATIENCE, async || {
            self.leadership.lease().map(drop).context("it has seen none")
        })
        .await
    }
}

/// Waits until the term of the claim ends, and returns why.
async fn end_of(claim: &Claim) -> Result<End> {
    timeout(PATIENCE, claim.over().cancelled()).await.context("the term does not end")?;
    let TermOver { term, end } = claim.permit().err().context("the claim still permits calls")?;
    ensure!(term == claim.term(), "{term}");
    Ok(end)
}

fn requests(method: &'static str) -> When {
    When::method(method).path_ends(format!("/leases/{NAME}"))
}

/// Waits until the replica behind the proxy has sent `more` further requests.
async fn await_more(proxy: &Proxy, method: &'static str, more: usize) -> Result<()> {
    let wanted = proxy.count(&requests(method)) + more;
    proxy.await_count(&requests(method), wanted, PATIENCE).await
}

#[tokio::test]
async fn lease_has_the_fields_of_its_kind_and_keeps_its_annotations() -> Result<()> {
    let world = World::without_lease().await?;
    world.create_lease(None).await?;
    let start = Instant::now();
    let replica = world.start("a").await?;
    let claim = replica.claim().await?;
    ensure!(start.elapsed() >= LEASE_DURATION, "a Lease without a spec may be held by somebody");

    let (metadata, spec) = world.lease().await?;
    assert_eq!(spec.holder_identity.as_deref(), Some("a"));
    assert_eq!(spec.lease_duration_seconds, Some(8));
    assert_eq!(spec.lease_transitions, Some(claim.term().cast_signed()));
    ensure!(spec.acquire_time.is_some() && spec.renew_time >= spec.acquire_time, "{spec:?}");
    let annotations = metadata.annotations.unwrap_or_default();
    assert_eq!(annotations.get("example.com/kept").map(String::as_str), Some("yes"));

    let seen = replica.leadership.lease().context("the Lease as seen")?;
    assert_eq!(seen.annotations, annotations);
    assert_eq!(seen.object.to_string(), format!("Lease {}/{NAME}", world.namespace.name()));
    assert_eq!(replica.term(), Some(claim.term()));
    Ok(())
}

#[tokio::test]
async fn cut_off_leader_steps_down_before_another_replica_leads() -> Result<()> {
    let world = World::new().await?;
    let proxy = world.control_plane.proxy().await?;
    let cut_off = world.start_behind("a", &proxy).await?;
    let first = cut_off.claim().await?;
    let other = world.start("b").await?;
    other.has_seen_the_lease().await?;

    proxy.inject(When::any(), Fault::Silence);
    let end = async { anyhow::Ok((end_of(&first).await?, Instant::now())) };
    let begin = async { anyhow::Ok((other.claim().await?, Instant::now())) };
    let ((end, ended), (second, began)) = tokio::try_join!(end, begin)?;
    assert_eq!(end, End::Deadline);
    ensure!(began > ended, "the other replica led before the end of the term");
    assert_eq!(second.term(), first.term() + 1);

    proxy.heal();
    await_more(&proxy, "GET", 2).await?;
    assert_eq!((cut_off.term(), other.term()), (None, Some(second.term())));
    Ok(())
}

#[tokio::test]
async fn stopping_leader_hands_over_once_its_last_permit_is_dropped() -> Result<()> {
    let world = World::patient().await?;
    let leader = world.start("a").await?;
    let first = leader.claim().await?;
    let proxy = world.control_plane.proxy().await?;
    let other = world.start_behind("b", &proxy).await?;
    other.has_seen_the_lease().await?;

    let permit = first.permit()?;
    leader.stop.cancel();
    assert_eq!(end_of(&first).await?, End::Stopped);
    await_more(&proxy, "GET", 2).await?;
    assert_eq!((world.holder().await?.as_str(), other.term()), ("a", None));

    drop(permit);
    let dropped = Instant::now();
    let second = other.claim().await?;
    assert_eq!(second.term(), first.term() + 1);
    ensure!(dropped.elapsed() < world.duration / 2, "the other replica waited for the Lease to expire");
    timeout(PATIENCE, leader.task).await??;
    assert!(leader.leadership.claim().await.is_none());
    Ok(())
}

#[tokio::test]
async fn stop_ends_the_term_while_a_renewal_hangs() -> Result<()> {
    let world = World::patient().await?;
    let proxy = world.control_plane.proxy().await?;
    let replica = world.start_behind("a", &proxy).await?;
    let claim = replica.claim().await?;
    let gate = proxy.hold(requests("PATCH"));
    timeout(PATIENCE, gate.reached_by(1)).await?;
    let stopped = Instant::now();
    replica.stop.cancel();
    assert_eq!(end_of(&claim).await?, End::Stopped);
    // A renewal is given up after nearly half of the renew deadline.
    ensure!(stopped.elapsed() < world.renew_deadline / 4, "the term lasted until the renewal was given up");
    gate.release();
    timeout(PATIENCE, replica.task).await??;
    Ok(())
}

#[tokio::test]
async fn only_one_of_two_concurrent_acquisitions_succeeds() -> Result<()> {
    let world = World::new().await?;
    let proxy = world.control_plane.proxy().await?;
    let gate = proxy.hold(requests("PATCH"));
    let replicas = [world.start_behind("a", &proxy).await?, world.start_behind("b", &proxy).await?];
    timeout(PATIENCE, gate.reached_by(2)).await?;
    gate.release();

    let [a, b] = &replicas;
    let (claim, loser) = tokio::select! {
        claim = a.claim() => (claim?, b),
        claim = b.claim() => (claim?, a),
    };
    await_more(&proxy, "GET", 2).await?;
    assert_eq!(loser.term(), None);
    assert_eq!((claim.term(), world.lease().await?.1.lease_transitions), (1, Some(1)));
    ensure!(claim.permit().is_ok(), "the winner leads");
    Ok(())
}

#[tokio::test]
async fn term_survives_foreign_annotations_and_lost_answers() -> Result<()> {
    let world = World::new().await?;
    let proxy = world.control_plane.proxy().await?;
    let replica = world.start_behind("a", &proxy).await?;
    let claim = replica.claim().await?;

    world.patch_lease(json!({ "metadata": { "annotations": { "example.com/approved": "hash" } } })).await?;
    await_condition("the leader to see the annotation", PATIENCE, async || {
        let lease = replica.leadership.lease().context("it has seen no Lease")?;
        lease.annotations.get("example.com/approved").cloned().context("it has not seen it")
    })
    .await?;
    await_more(&proxy, "PATCH", 2).await?;
    proxy.inject(requests("PATCH").first(1), Fault::ResetAfter);
    await_more(&proxy, "PATCH", 4).await?;
    assert_eq!((claim.permit().is_ok(), claim.term()), (true, 1));
    assert_eq!(world.lease().await?.0.annotations.map(|annotations| annotations.len()), Some(2));
    Ok(())
}

#[tokio::test]
async fn deleted_lease_ends_the_term_and_is_not_taken_at_once() -> Result<()> {
    let world = World::new().await?;
    let replica = world.start("a").await?;
    let first = replica.claim().await?;
    let deleted = Instant::now();
    world.leases.delete(NAME, &DeleteParams::default()).await?;
    assert_eq!(end_of(&first).await?, End::Deleted);
    let second = replica.claim().await?;
    ensure!(deleted.elapsed() >= LEASE_DURATION, "the former claim could still hold");
    assert_eq!((second.term(), world.holder().await?.as_str()), (first.term() + 1, "a"));
    ensure!(first.permit().is_err() && second.permit().is_ok(), "a claim is good for its own term");
    Ok(())
}

#[tokio::test]
async fn emptied_lease_ends_the_term_and_is_not_taken_at_once() -> Result<()> {
    let world = World::new().await?;
    let leader = world.start("a").await?;
    let first = leader.claim().await?;
    let other = world.start("b").await?;
    other.has_seen_the_lease().await?;
    let emptied = Instant::now();
    world.patch_lease(json!({ "spec": { "holderIdentity": "" } })).await?;
    assert_eq!(end_of(&first).await?, End::TakenOver { holder: String::new() });
    tokio::select! {
        claim = leader.claim() => claim?,
        claim = other.claim() => claim?,
    };
    ensure!(emptied.elapsed() >= LEASE_DURATION, "the former claim could still hold");
    Ok(())
}

#[tokio::test]
async fn dropped_elector_ends_the_term() -> Result<()> {
    let world = World::new().await?;
    let replica = world.start("a").await?;
    let claim = replica.claim().await?;
    replica.task.abort();
    timeout(PATIENCE, claim.over().cancelled()).await?;
    Ok(())
}
