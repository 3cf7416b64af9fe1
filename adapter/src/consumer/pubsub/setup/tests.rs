#![expect(clippy::unwrap_used, reason = "tests")]

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use google_cloud_gax::error::rpc::Status;
use google_cloud_gax::options::RequestOptions;
use google_cloud_gax::response::Response;
use google_cloud_pubsub::model::{GetSubscriptionRequest, GetTopicRequest, Topic};
use google_cloud_pubsub::stub;

use super::*;

const TOPIC: &str = "projects/p/topics/clusters";
const DEAD_LETTERS: &str = "projects/p/topics/job-dlq";

/// A fake Pub/Sub service: stores topics and subscriptions by name, and fails requests with a code that a test
/// sets.
#[derive(Debug, Default)]
struct Service {
    topics: Mutex<Vec<String>>,
    subscriptions: Mutex<Vec<Subscription>>,
    refuses: Option<Code>,
}

#[derive(Debug)]
struct Stub(Arc<Service>);

impl Service {
    fn answer<T>(&self, found: Option<T>) -> google_cloud_pubsub::Result<Response<T>> {
        let code = self.refuses.or(found.is_none().then_some(Code::NotFound));
        match (code, found) {
            (None, Some(found)) => Ok(Response::from(found)),
            (code, _) => Err(Error::service(Status::default().set_code(code.unwrap_or(Code::NotFound)))),
        }
    }
}

impl stub::TopicAdmin for Stub {
    async fn get_topic(
        &self,
        request: GetTopicRequest,
        _: RequestOptions,
    ) -> google_cloud_pubsub::Result<Response<Topic>> {
        let known = self.0.topics.lock().unwrap().contains(&request.topic);
        self.0.answer(known.then(|| Topic::new().set_name(request.topic)))
    }

    async fn create_topic(&self, topic: Topic, _: RequestOptions) -> google_cloud_pubsub::Result<Response<Topic>> {
        self.0.topics.lock().unwrap().push(topic.name.clone());
        self.0.answer(Some(topic))
    }
}

impl stub::SubscriptionAdmin for Stub {
    async fn get_subscription(
        &self,
        request: GetSubscriptionRequest,
        _: RequestOptions,
    ) -> google_cloud_pubsub::Result<Response<Subscription>> {
        let known = self.0.subscriptions.lock().unwrap().iter().find(|s| s.name == request.subscription).cloned();
        self.0.answer(known)
    }

    async fn create_subscription(
        &self,
        subscription: Subscription,
        _: RequestOptions,
    ) -> google_cloud_pubsub::Result<Response<Subscription>> {
        self.0.subscriptions.lock().unwrap().push(subscription.clone());
        self.0.answer(Some(subscription))
    }
}

fn options(create_topic: bool, create_subscription: bool) -> PubSubOptions {
    PubSubOptions {
        project_id: "p".to_owned(),
        topic: "clusters".to_owned(),
        subscription_id: "job".to_owned(),
        max_outstanding_messages: NonZeroU32::new(32).unwrap(),
        max_outstanding_bytes: None,
        create_topic_if_missing: create_topic,
        create_subscription_if_missing: create_subscription,
        emulator: None,
        policies: SubscriptionPolicies::default(),
    }
}

async fn ensure(service: Service, options: &PubSubOptions) -> (Arc<Service>, Result<(), String>) {
    let service = Arc::new(service);
    let admin = Admin {
        topics: TopicAdmin::from_stub(Stub(Arc::clone(&service))),
        subscriptions: SubscriptionAdmin::from_stub(Stub(Arc::clone(&service))),
    };
    let result = admin.ensure(options).await.map_err(|error| Chain(&error).to_string());
    (service, result)
}

fn with(topics: &[&str], subscription_of_topic: Option<&str>) -> Service {
    let subscription = |topic| Subscription::new().set_name("projects/p/subscriptions/job").set_topic(topic);
    Service {
        topics: Mutex::new(topics.iter().map(|&topic| topic.to_owned()).collect()),
        subscriptions: Mutex::new(subscription_of_topic.into_iter().map(subscription).collect()),
        refuses: None,
    }
}

#[tokio::test]
async fn missing_topic_or_subscription_is_an_error_with_a_cure() {
    let cases = [
        ("the subscription is the topic's", with(&[], Some(TOPIC)), options(false, false), None),
        (
            "it is another topic's",
            with(&[], Some("projects/p/topics/other")),
            options(true, true),
            Some(
                "subscription `projects/p/subscriptions/job` is attached to topic `projects/p/topics/other` and not to `projects/p/topics/clusters`; correct ",
            ),
        ),
        (
            "it is missing",
            with(&[TOPIC], None),
            options(true, false),
            Some(
                "subscription `projects/p/subscriptions/job` does not exist; create it, or set broker.googlepubsub.create_subscription_if_missing",
            ),
        ),
        (
            "its topic is missing",
            with(&[], None),
            options(false, true),
            Some(
                "topic `projects/p/topics/clusters` does not exist; create it, or set broker.googlepubsub.create_topic_if_missing",
            ),
        ),
        (
            "the service refuses",
            Service { refuses: Some(Code::PermissionDenied), ..with(&[TOPIC], Some(TOPIC)) },
            options(true, true),
            Some("failed to look up subscription `projects/p/subscriptions/job`: "),
        ),
    ];
    for (name, service, options, expected) in cases {
        let (_, result) = ensure(service, &options).await;
        match (expected, result) {
            (None, result) => assert_eq!(result, Ok(()), "{name}"),
            (Some(expected), result) => {
                let error = result.unwrap_err();
                assert!(error.starts_with(expected), "{name}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn missing_topics_and_subscription_are_created_if_allowed() {
    for (create_topic, known, expected) in
        [(false, vec![TOPIC], vec![TOPIC]), (true, vec![], vec![TOPIC, DEAD_LETTERS])]
    {
        let (service, result) = ensure(with(&known, None), &options(create_topic, true)).await;
        assert_eq!(result, Ok(()));
        assert_eq!(*service.topics.lock().unwrap(), expected);
        let subscriptions = service.subscriptions.lock().unwrap();
        let policy = subscriptions[0].dead_letter_policy.as_ref().unwrap();
        assert_eq!((policy.dead_letter_topic.as_str(), policy.max_delivery_attempts), (DEAD_LETTERS, 5));
    }
}

#[test]
fn created_subscription_has_the_configured_policies() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let mut options = options(false, true);
    options.policies = SubscriptionPolicies {
        ack_deadline_seconds: Some(60),
        message_retention: seconds(600),
        expiration_ttl: seconds(0),
        retry_min_backoff: seconds(10),
        retry_max_backoff: None,
        dead_letter_max_attempts: Some(7),
        enable_message_ordering: true,
    };
    let subscription = subscription_of(&options).unwrap();
    let retry = subscription.retry_policy.unwrap();
    let ten = google_cloud_wkt::Duration::clamp(10, 0);
    assert_eq!(subscription.ack_deadline_seconds, 60);
    assert_eq!(subscription.message_retention_duration, Some(google_cloud_wkt::Duration::clamp(600, 0)));
    assert_eq!(subscription.expiration_policy.unwrap().ttl, None, "zero means for ever");
    assert_eq!((retry.minimum_backoff, retry.maximum_backoff), (Some(ten), None));
    assert_eq!(subscription.dead_letter_policy.unwrap().max_delivery_attempts, 7);
    assert!(subscription.enable_message_ordering);
}
