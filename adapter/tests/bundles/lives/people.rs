//! What people, strangers and controllers do between events.

use std::fmt::Write as _;

use anyhow::Result;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Map, Value, json};

use super::cluster::{
    CONTENT, Cluster, LABELS, OWNER, PART_OF, STRANGER, Site, THING, is_inside, is_member, is_observable,
    is_terminating, label,
};
use super::judge::departure;
use super::life::{Act, Kind, Mark};
use super::model::Model;
use crate::world::{ENTRY, api, text};

/// What the server writes into the metadata of an object, and what holds the object.
const NOT_COPIED: [&str; 8] = [
    "uid",
    "resourceVersion",
    "managedFields",
    "creationTimestamp",
    "generation",
    "finalizers",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

impl Model {
    async fn merge(&self, name: &str, metadata: Value) -> Result<()> {
        self.world.merge("person", name, &json!({ "metadata": metadata })).await
    }

    async fn strip(&self, name: &str) -> Result<()> {
        let gone: Map<String, Value> = LABELS.into_iter().map(|key| (key.to_owned(), Value::Null)).collect();
        self.merge(name, json!({ "labels": gone })).await
    }

    /// Does what people do. What is impossible is not done.
    pub(crate) async fn act(&mut self, act: &Act) -> Result<()> {
        writeln!(self.journal, "{act:?}")?;
        let count = self.demand.shapes.len();
        let cluster = self.witness.cluster().await?;
        match act {
            Act::Change(place) => self.demand.contents[place % count] += 1,
            Act::Toggle(place) => self.demand.is_wanted[place % count] ^= true,
            Act::Reset(place, settings) => self.reset(place % count, settings),
            Act::Wait => self.world.now += jiff::SignedDuration::from_mins(61),
            Act::Generation => self.world.generation += 1,
            Act::EditParent if cluster.parent.is_some() => {
                let keys = ["tooling", "contains-group-kinds", "additional-namespaces"];
                let gone: Map<String, Value> =
                    keys.map(|key| (format!("applyset.kubernetes.io/{key}"), Value::Null)).into_iter().collect();
                self.world.know(&self.world.map(ENTRY, ""));
                self.merge(ENTRY, json!({ "annotations": gone })).await?;
            }
            Act::EditParent => {}
            Act::Squat(place, is_owned) => self.squat(place % count, *is_owned, &cluster).await?,
            Act::Intrude(kind) if self.site.has_outer => {
                let mut object = match kind {
                    Kind::Instance => self.world.own(THING, "foreign"),
                    _ => self.world.map("foreign", "1"),
                };
                if *kind == Kind::Content {
                    object["metadata"]["namespace"] = json!(self.site.team);
                }
                self.intrude(object, &cluster).await?;
            }
            Act::Intrude(_) => {}
            Act::Withdraw(which) => {
                let all = &cluster.strangers;
                if let Some(object) = all.get(which % all.len().max(1)) {
                    self.take_away(object).await?;
                }
            }
            Act::Observe(place)
            | Act::Remove(place)
            | Act::Edit(place)
            | Act::Strip(place)
            | Act::Unmark(place, _)
            | Act::Copy(place, _)
            | Act::Hold(place) => {
                let place = place % count;
                if let Some(object) = cluster.objects.get(&self.demand.names[place]) {
                    self.act_on(act, place, object, &cluster).await?;
                }
            }
        }
        Ok(())
    }

    /// Does what people do to an object that is there.
    async fn act_on(&mut self, act: &Act, place: usize, object: &Value, cluster: &Cluster) -> Result<()> {
        let name = &self.demand.names[place];
        // People do not delete or hold a namespace or a type: whatever is in it would go, too, at a time that the life does not know.
        let is_outer = self.demand.shapes[place].kind.is_outer();
        match act {
            Act::Observe(_) if is_observable(object) => self.world.ready(name).await,
            Act::Remove(_) if !is_outer => self.world.delete(name).await,
            Act::Edit(_) => self.merge(name, json!({ "annotations": { CONTENT: "edited" } })).await,
            Act::Strip(_) => {
                self.witness.give_away(object);
                self.strip(name).await
            }
            Act::Unmark(_, Mark::Owner) => self.merge(name, json!({ "labels": { OWNER: null } })).await,
            Act::Unmark(_, Mark::Digest) => {
                self.merge(name, json!({ "annotations": { "hyperfleet.io/digest": null } })).await
            }
            Act::Hold(_) if !is_outer => match object["metadata"].get("finalizers") {
                Some(_) => self.world.release(name).await,
                None if !is_terminating(object) => self.world.hold(name).await,
                None => Ok(()),
            },
            Act::Copy(_, is_elsewhere) if !is_outer && is_member(object) => {
                self.intrude(self.copy(object, *is_elsewhere), cluster).await
            }
            _ => Ok(()),
        }
    }

    /// Whether the namespace and the type of an object are there, and stay for now.
    async fn is_possible(&self, object: &Value, cluster: &Cluster) -> Result<bool> {
        let (team, type_name) = (&self.site.team, self.site.name(0, Kind::Type));
        let stays = |name: &str| cluster.objects.get(name).is_some_and(|outer| !is_terminating(outer));
        let is_instance = object["kind"] == THING;
        if text(object, "/metadata/namespace") == team && !stays(team) || is_instance && !stays(&type_name) {
            return Ok(false);
        }
        if is_instance {
            self.world.await_established(&type_name).await?;
        }
        Ok(true)
    }

    /// Has somebody else take the name of an object that is not there.
    async fn squat(&mut self, place: usize, is_owned: bool, cluster: &Cluster) -> Result<()> {
        let mut object = self.manifest(place);
        if cluster.objects.contains_key(&self.demand.names[place]) || !self.is_possible(&object, cluster).await? {
            return Ok(());
        }
        object["metadata"]["annotations"] = json!({ "of": "somebody" });
        if is_owned {
            object["metadata"]["labels"] = json!({ OWNER: "other" });
        }
        self.world.create(&object).await
    }

    /// A copy of an object under another name, as `kubectl get --output yaml` and `kubectl create` make it.
    fn copy(&self, object: &Value, is_elsewhere: bool) -> Value {
        let mut copy = object.clone();
        if let Some(metadata) = copy["metadata"].as_object_mut() {
            metadata.retain(|key, _| !NOT_COPIED.contains(&key.as_str()));
        }
        copy["metadata"]["name"] = json!(format!("copy-of-{}", text(object, "/metadata/name")));
        if is_elsewhere {
            let Site { namespace, team, .. } = &self.site;
            let is_in_team = text(object, "/metadata/namespace") == team;
            copy["metadata"]["namespace"] = json!(if is_in_team { namespace } else { team });
        }
        copy
    }

    /// Has a stranger create an object, unless it is there.
    async fn intrude(&mut self, mut object: Value, cluster: &Cluster) -> Result<()> {
        object["metadata"]["labels"][STRANGER] = json!("yes");
        let identity =
            |it: &Value| ["/kind", "/metadata/namespace", "/metadata/name"].map(|key| text(it, key).to_owned());
        let is_same = |it: &Value| identity(it) == identity(&object);
        if cluster.strangers.iter().any(is_same) || !self.is_possible(&object, cluster).await? {
            return Ok(());
        }
        let desired = serde_json::from_value(object.clone())?;
        let created = api(&self.world.client, &object).create(&PostParams::default(), &desired).await?;
        self.strangers.extend(created.metadata.uid);
        Ok(())
    }

    /// Has people take away an object that is theirs.
    async fn take_away(&mut self, object: &Value) -> Result<()> {
        self.strangers.remove(text(object, "/metadata/uid"));
        let api = api(&self.world.client, object);
        api.delete(text(object, "/metadata/name"), &DeleteParams::background()).await?;
        Ok(())
    }

    /// Has people end whatever keeps the bundle from its end, and controllers observe everything.
    pub(crate) async fn mend(&mut self) -> Result<()> {
        let cluster = self.witness.cluster().await?;
        for (name, object) in &cluster.objects {
            if object["metadata"].get("finalizers").is_some_and(|all| all[0] == "example.com/hold") {
                self.world.release(name).await?;
                if is_terminating(object) {
                    continue;
                }
            }
            let has_digest = object["metadata"]["annotations"].get("hyperfleet.io/digest").is_some();
            // A disowned bundle loses all of its marks without help.
            let is_lost = label(object, PART_OF).is_some() && !(is_member(object) && has_digest);
            if is_lost && !self.demand.is_disowning {
                self.witness.give_away(object);
                self.strip(name).await?;
            }
            if is_observable(object) {
                self.world.ready(name).await?;
            }
        }
        self.clear_the_way().await
    }

    /// Has people take away what is theirs, where it would go with a namespace or a type.
    async fn clear_the_way(&mut self) -> Result<()> {
        let cluster = self.witness.cluster().await?;
        let going = cluster.members().filter(|(name, _)| self.demand.is_to_go(name)).map(|(_, object)| object);
        let going: Vec<&Value> = going.collect();
        // An instance that is to stay keeps its type, until somebody lets it go.
        let is_asked = self.world.why().contains("is to stay, but would go with");
        for instance in going.iter().filter(|it| is_asked && it["kind"] == THING && !is_terminating(it)) {
            let (_, order) = departure(instance)?;
            let said = text(instance, "/metadata/annotations/hyperfleet.io~1deletion");
            let goes = format!("delete,{order},{}", said.splitn(3, ',').nth(2).unwrap_or_default());
            let annotations = json!({ "annotations": { "hyperfleet.io/deletion": goes } });
            self.merge(text(instance, "/metadata/name"), annotations).await?;
        }
        for object in cluster.objects.values().chain(&cluster.strangers) {
            let is_theirs = label(object, STRANGER).is_some() || !is_member(object);
            if is_theirs && !is_terminating(object) && going.iter().any(|outer| is_inside(object, outer)) {
                self.take_away(object).await?;
            }
        }
        Ok(())
    }

    /// Waits until Kubernetes has removed the namespace and the type that are deleted, and serves the type that is there.
    pub(crate) async fn settle(&self) -> Result<()> {
        if !self.site.has_outer {
            return Ok(());
        }
        let cluster = self.witness.cluster().await?;
        for place in self.demand.places().filter(|place| self.demand.shapes[*place].kind.is_outer()) {
            let name = &self.demand.names[place];
            match cluster.objects.get(name) {
                Some(object) if is_terminating(object) => self.world.await_gone(name).await?,
                Some(_) if self.demand.shapes[place].kind == Kind::Type => self.world.await_established(name).await?,
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Removes what the deletion of the test's namespace leaves behind.
    pub(crate) async fn clear(&self) -> Result<()> {
        let cluster = self.witness.cluster().await?;
        for name in [&self.site.team, &self.site.name(0, Kind::Type)] {
            if cluster.objects.get(name).is_some_and(|object| !is_terminating(object)) {
                self.world.delete(name).await?;
            }
        }
        Ok(())
    }
}
