//! Deletes resources: on request, and by force.
//!
//! A deletion is a mark until every required adapter reports `Finalized` for the generation that the mark raised, and no
//! child is left. The request that makes both true removes the row, and looks at the parent, which may have waited for
//! this child.

use std::collections::BTreeMap;

use sqlx::PgConnection;

use super::create::name_taken;
use super::{Api, Failure, Target};
use crate::aggregation::is_finalized;
use crate::body::Force;
use crate::model::{BASE, CALLER, Reference, Resource};
use crate::problem::Problem;
use crate::registry::OnParentDelete;
use crate::store::{self, Child, Lock};

impl Api {
    /// Marks a resource as deleted, with its children by their kind's policy. Removes what has nothing to wait for.
    ///
    /// # Errors
    /// The resource does not exist, or children or references forbid its deletion.
    pub async fn delete(&self, target: &Target) -> Result<Resource, Problem> {
        Ok(in_transaction!(self, |connection| self.delete_once(connection, target).await))
    }

    async fn delete_once(&self, connection: &mut PgConnection, target: &Target) -> Result<Resource, Failure> {
        let resource = self.lock(connection, target).await?;
        let resource = self.mark(connection, resource).await?;
        self.remove_finished(connection, &resource).await?;
        Ok(resource)
    }

    /// Removes a deleted resource and all its descendants at once, without their adapters' consent.
    ///
    /// # Errors
    /// The resource does not exist, its deletion was not requested, or a live resource cannot do without it.
    pub async fn force_delete(&self, target: &Target, force: &Force) -> Result<(), Problem> {
        force.check()?;
        let Resource { kind, id, .. } =
            in_transaction!(self, |connection| self.force_delete_once(connection, target).await);
        tracing::warn!(kind, id, reason = force.reason, "Removed a resource by force");
        Ok(())
    }

    async fn force_delete_once(&self, connection: &mut PgConnection, target: &Target) -> Result<Resource, Failure> {
        let resource = self.lock(connection, target).await?;
        let Resource { kind, id, .. } = &resource;
        if !resource.is_deleted() {
            let message = format!("{kind} {id} is not being deleted: DELETE it first");
            return Err(Problem::conflict(message).into());
        }
        self.remove_tree(connection, &resource).await?;
        self.remove_finished_parent(connection, &resource).await?;
        Ok(resource)
    }

    /// Marks the children, then the resource itself. Does nothing to what is marked already.
    async fn mark(&self, connection: &mut PgConnection, mut resource: Resource) -> Result<Resource, Failure> {
        if resource.is_deleted() {
            return Ok(resource);
        }
        let mut kept: BTreeMap<String, u64> = BTreeMap::new();
        for Child { id, kind, is_deleted } in store::children(connection, &resource.id).await? {
            let policy = self.registry.of_kind(&kind).map_or(OnParentDelete::Restrict, |kind| kind.on_parent_delete);
            match policy {
                _ if is_deleted => {}
                OnParentDelete::Restrict => *kept.entry(kind).or_default() += 1,
                OnParentDelete::Orphan => self.orphan(connection, &id).await?,
                OnParentDelete::Cascade => {
                    let child = self.read(connection, &Target::of(&id), Lock::Update).await?;
                    let child = Box::pin(self.mark(connection, child)).await?;
                    self.remove_if_finished(connection, &child).await?;
                }
            }
        }
        let Resource { kind, id, .. } = &resource;
        if !kept.is_empty() {
            let kept: Vec<_> = kept.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let message = format!("{kind} {id} has children that must be deleted first: {}", kept.join(", "));
            return Err(Problem::conflict(message).into());
        }
        let referrers = store::referrers(connection, id).await?;
        if !referrers.is_empty() {
            let names: Vec<_> = referrers.iter().map(|other| format!("{} {}", other.kind, other.id)).collect();
            return Err(Problem::conflict(format!("other resources refer to {kind} {id}: {}", names.join(", "))).into());
        }
        let now = self.now();
        resource.generation += 1;
        (resource.deleted_time, resource.deleted_by) = (Some(now), Some(CALLER.to_owned()));
        (resource.updated_time, resource.updated_by) = (now, CALLER.to_owned());
        resource.references.clear();
        store::put_references(connection, &resource.id, &[]).await?;
        store::update(connection, &resource).await?;
        self.aggregate(connection, &mut resource).await?;
        Ok(resource)
    }

    /// Lets a child live on without its parent: as it is, but for its path.
    async fn orphan(&self, connection: &mut PgConnection, id: &str) -> Result<(), Failure> {
        let mut child = self.read(connection, &Target::of(id), Lock::Update).await?;
        (child.owner_id, child.owner_kind, child.owner_href) = (None, None, None);
        child.href = format!("{BASE}/{}/{id}", self.entity(&child)?.plural);
        store::update(connection, &child).await.map_err(|error| name_taken(error, &child))?;
        Box::pin(self.rebase(connection, &child)).await
    }

    /// Gives the descendants of a resource the paths that follow from its own.
    async fn rebase(&self, connection: &mut PgConnection, parent: &Resource) -> Result<(), Failure> {
        for Child { id, .. } in store::children(connection, &parent.id).await? {
            let mut child = self.read(connection, &Target::of(&id), Lock::Update).await?;
            child.href = format!("{}/{}/{id}", parent.href, self.entity(&child)?.plural);
            child.owner_href = Some(parent.href.clone());
            store::update(connection, &child).await?;
            Box::pin(self.rebase(connection, &child)).await?;
        }
        Ok(())
    }

    /// Removes a deleted resource that waits for nothing, and then its ancestors as far as the same is true of them.
    pub(super) async fn remove_finished(
        &self,
        connection: &mut PgConnection,
        resource: &Resource,
    ) -> Result<(), Failure> {
        if self.remove_if_finished(connection, resource).await? {
            self.remove_finished_parent(connection, resource).await?;
        }
        Ok(())
    }

    async fn remove_finished_parent(&self, connection: &mut PgConnection, child: &Resource) -> Result<(), Failure> {
        let Some(id) = &child.owner_id else { return Ok(()) };
        // A live parent waits for nothing, so it is not locked: it should be locked before its child.
        let seen = store::find(connection, id, Lock::None).await?;
        if !seen.is_some_and(|parent| parent.is_deleted()) {
            return Ok(());
        }
        let Some(mut parent) = self.find(connection, id, Lock::Update).await? else { return Ok(()) };
        self.aggregate(connection, &mut parent).await?;
        Box::pin(self.remove_finished(connection, &parent)).await
    }

    /// Whether it removed the resource.
    async fn remove_if_finished(&self, connection: &mut PgConnection, resource: &Resource) -> Result<bool, Failure> {
        if !resource.is_deleted() {
            return Ok(false);
        }
        let required = &self.entity(resource)?.required_adapters;
        let reports = store::reports(connection, &resource.kind, &resource.id).await?;
        let is_finished =
            is_finalized(resource, required, &reports) && store::children(connection, &resource.id).await?.is_empty();
        if is_finished {
            store::remove(connection, resource).await?;
        }
        Ok(is_finished)
    }

    async fn remove_tree(&self, connection: &mut PgConnection, resource: &Resource) -> Result<(), Failure> {
        for Child { id, .. } in store::children(connection, &resource.id).await? {
            let child = self.read(connection, &Target::of(&id), Lock::Update).await?;
            Box::pin(self.remove_tree(connection, &child)).await?;
        }
        for other in store::referrers(connection, &resource.id).await? {
            let rules = self.entity(&other)?.references.iter();
            let left = |role: &str| {
                let stays = |reference: &&Reference| reference.ref_type == role && reference.id != resource.id;
                other.references.iter().filter(stays).count()
            };
            if let Some(rule) = rules.into_iter().find(|rule| left(&rule.ref_type) < *rule.count.start()) {
                let (kind, id, role) = (&other.kind, &other.id, &rule.ref_type);
                let message = format!("{kind} {id} needs {} {} as its {role}", resource.kind, resource.id);
                return Err(Problem::conflict(message).into());
            }
        }
        Ok(store::remove(connection, resource).await?)
    }
}
