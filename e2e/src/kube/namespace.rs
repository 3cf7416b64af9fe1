//! A namespace per test, and users with limited permissions.

use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, Client, Resource};
use tempfile::TempDir;

use super::Access;
use crate::{PATIENCE, await_condition, unique};

/// Limits the time that the deletion of the namespace may take at the end of a test.
const CLEANUP: Duration = Duration::from_secs(5);

/// A namespace for one test. Dropping it requests the namespace's deletion.
#[derive(Debug)]
pub struct TestNamespace {
    name: String,
    access: Access,
    kubeconfigs: TempDir,
}

impl TestNamespace {
    pub(super) async fn create(access: &Access) -> anyhow::Result<Self> {
        let name = unique("test");
        let namespaces: Api<Namespace> = Api::all(access.client().await?);
        let namespace = Namespace {
            metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
            ..Namespace::default()
        };
        namespaces.create(&PostParams::default(), &namespace).await.context("failed to create a test namespace")?;
        let kubeconfigs = TempDir::new().context("failed to create a directory for kubeconfigs")?;
        Ok(Self { name, access: access.clone(), kubeconfigs })
    }

    /// Returns the name of the test's namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An API client for one kind in this namespace, with all permissions.
    pub async fn api<K>(&self) -> anyhow::Result<Api<K>>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Ok(Api::namespaced(self.access.client().await?, &self.name))
    }

    /// Creates a user with permissions by `rules` in this namespace, and none elsewhere.
    ///
    /// Waits until the API server enforces the rules, which takes a moment.
    pub async fn user(&self, rules: &[PolicyRule]) -> anyhow::Result<Access> {
        let user = unique("user");
        let client = self.access.client().await?;
        bind(&client, &self.name, &user, rules).await?;
        for rule in rules {
            await_permission(&client, &self.name, &user, rule).await?;
        }
        let kubeconfig = self.kubeconfigs.path().join(format!("{user}.json"));
        let Access { url, certificate_authority, token, .. } = self.access.clone();
        ensure!(!token.is_empty(), "restricted users need a control plane started by the tests");
        Access::write(kubeconfig, url, certificate_authority, token, Some(user))
    }
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        let (name, access) = (self.name.clone(), self.access.clone());
        // The test's runtime may be shutting down, so the deletion runs in its own. Its failure is ignored,
        // because the control plane is removed at the end of the run anyway.
        let cleaner = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let delete = async {
                let namespaces: Api<Namespace> = Api::all(access.client().await.ok()?);
                namespaces.delete(&name, &DeleteParams::background()).await.ok()
            };
            runtime.block_on(async { tokio::time::timeout(CLEANUP, delete).await.ok().flatten() })
        });
        let _ = cleaner.join();
    }
}

async fn bind(client: &Client, namespace: &str, user: &str, rules: &[PolicyRule]) -> anyhow::Result<()> {
    let metadata = ObjectMeta { name: Some(user.to_owned()), ..ObjectMeta::default() };
    let role = Role { metadata: metadata.clone(), rules: Some(rules.to_vec()) };
    let binding = RoleBinding {
        metadata,
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "Role".to_owned(),
            name: user.to_owned(),
        },
        subjects: Some(vec![Subject {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "User".to_owned(),
            name: user.to_owned(),
            namespace: None,
        }]),
    };
    let params = PostParams::default();
    Api::namespaced(client.clone(), namespace).create(&params, &role).await.context("failed to create a role")?;
    Api::namespaced(client.clone(), namespace).create(&params, &binding).await.context("failed to bind a role")?;
    Ok(())
}

async fn await_permission(client: &Client, namespace: &str, user: &str, rule: &PolicyRule) -> anyhow::Result<()> {
    let first = |list: &Option<Vec<String>>| list.as_ref().and_then(|list| list.first()).cloned();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(namespace.to_owned()),
                group: first(&rule.api_groups),
                resource: first(&rule.resources),
                name: first(&rule.resource_names),
                verb: rule.verbs.first().cloned(),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    await_condition("a role to take effect", PATIENCE, async || {
        let answer = reviews.create(&PostParams::default(), &review).await?;
        ensure!(answer.status.is_some_and(|status| status.allowed), "{user} is not allowed yet");
        Ok(())
    })
    .await
}
