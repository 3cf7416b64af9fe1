use std::cell::{Cell, RefCell};

use lifecycle_api_client::lookup::Unknown;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::Generation;
use serde_json::json;

use super::*;

/// An API that counts the look-ups of each id, and says what the test tells it.
#[derive(Default)]
struct Counting {
    asked: RefCell<BTreeMap<String, u32>>,
    living: Cell<bool>,
    failing: Cell<bool>,
    /// How long an answer takes.
    latency: Cell<Duration>,
}

impl Api for Counting {
    async fn look_up(&self, id: &str) -> Lookup {
        *self.asked.borrow_mut().entry(id.to_owned()).or_default() += 1;
        tokio::time::sleep(self.latency.get()).await;
        match (self.failing.get(), self.living.get()) {
            (true, _) => Lookup::Unknown(Unknown::NoProblem),
            (false, true) => Lookup::Found(json!({ "id": id })),
            (false, false) => Lookup::NotFound,
        }
    }

    async fn search(&self, _: &[&str]) -> Result<BTreeMap<String, Generation>, String> {
        Err("a search proves nothing".to_owned())
    }

    async fn any(&self) -> Result<Option<String>, String> {
        Err("a list proves nothing".to_owned())
    }
}

impl Counting {
    fn asked(&self, id: &str) -> u32 {
        self.asked.borrow().get(id).copied().unwrap_or_default()
    }
}

/// An object of a resource.
fn object(name: &str, resource_id: &str) -> Candidate {
    let labels = json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": resource_id });
    let metadata = json!({ "name": name, "namespace": "team", "uid": name, "labels": labels });
    Candidate::of(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }), Destination::ThisCluster)
}

fn plan() -> SweepPlan {
    let objects = [("x1", "x"), ("x2", "x"), ("x3", "x"), ("y1", "y")].map(|(name, id)| object(name, id));
    SweepPlan::new(objects.to_vec(), Vec::new())
}

async fn second_passes() {
    tokio::time::advance(FRESH).await;
}

#[tokio::test(start_paused = true)]
async fn owner_is_asked_for_once_a_second_however_many_objects_it_has() {
    let (api, plan) = (Counting::default(), plan());
    api.latency.set(Duration::from_millis(100));
    let evidence = PlanEvidence::new(&api, &plan, async || true);
    for seconds in 1..=3 {
        let answers = futures::future::join_all(plan.objects().iter().map(|object| evidence.confirm(object))).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(evidence.confirm(&plan.objects()[0]).await, Ok(()), "the answer still counts");
        assert_eq!((api.asked("x"), api.asked("y")), (seconds, seconds));
        second_passes().await;
    }
}

/// Name, what happens to the API, and why no answer counts after that.
type Change = (&'static str, fn(&Counting), &'static str);

#[tokio::test(start_paused = true)]
async fn first_answer_that_confirms_nothing_ends_all_deletions() {
    let cases: [Change; 2] = [
        ("the API was repaired", |api| api.living.set(true), "the API says by now that the resource x exists"),
        (
            "a proxy answers",
            |api| api.failing.set(true),
            "the API does not say any more that the resource x is gone: HTTP status 404 without a problem document of \
             the API",
        ),
    ];
    for (name, change, why) in cases {
        let (api, plan) = (Counting::default(), plan());
        let evidence = PlanEvidence::new(&api, &plan, async || true);
        for object in plan.objects() {
            assert_eq!(evidence.confirm(object).await, Ok(()), "{name}");
        }
        change(&api);
        second_passes().await;
        for object in plan.objects() {
            let said = evidence.confirm(object).await.map_err(|withdrawn| withdrawn.to_string());
            assert_eq!(said, Err(why.to_owned()), "{name}");
        }
        assert_eq!((api.asked("x"), api.asked("y")), (2, 1), "{name}: nothing is asked after that");
        api.living.set(false);
        api.failing.set(false);
        second_passes().await;
        assert!(evidence.confirm(&plan.objects()[0]).await.is_err(), "{name}: the pass has ended");
    }
}

#[tokio::test(start_paused = true)]
async fn approval_that_is_taken_back_ends_all_deletions() {
    let (api, plan) = (Counting::default(), plan());
    let (approved, asked) = (Cell::new(true), Cell::new(0));
    let is_released = async || {
        asked.set(asked.get() + 1);
        approved.get()
    };
    let evidence = PlanEvidence::new(&api, &plan, is_released);
    let [first, second, ..] = plan.objects() else { unreachable!("the plan has four objects") };
    assert_eq!((evidence.confirm(first).await, evidence.confirm(second).await), (Ok(()), Ok(())));
    assert_eq!(asked.get(), 1, "the Lease is read once a second");
    approved.set(false);
    assert_eq!(evidence.confirm(second).await, Ok(()), "the answer still counts");
    second_passes().await;
    assert_eq!(evidence.confirm(second).await, Err(Withdrawn::Approval));
    assert_eq!(evidence.withdrawn(), Some(&Withdrawn::Approval));
}

#[tokio::test(start_paused = true)]
async fn object_that_waited_for_an_answer_heeds_what_another_one_heard() {
    let (api, plan) = (Counting::default(), plan());
    api.latency.set(Duration::from_millis(100));
    let approved = Cell::new(true);
    let evidence = PlanEvidence::new(&api, &plan, async || approved.replace(false));
    let (of_x, of_y) = (object("x1", "x"), object("y1", "y"));
    let later = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        api.living.set(true);
        evidence.confirm(&of_y).await
    };
    let (first, second) = futures::join!(evidence.confirm(&of_x), later);
    assert_eq!(first, Err(Withdrawn::Exists("x".to_owned())));
    assert!(second.is_err(), "{second:?}");
}
