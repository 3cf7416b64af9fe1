//! Tables of the older schema that are not as the API left them: what can be read is, and what cannot is said.

use reconcile_metrics::config;
use serde_json::Value;

use crate::world::{DOCUMENTS, Exporter, KINDS, Samples, World};

const PENDING: &str = r#"[{"type": "Reconciled", "status": "False", "last_transition_time": "2024-05-01T12:00:00Z"}]"#;

fn is_read(samples: &Samples, resource_type: &str) -> f64 {
    samples.get(&format!("hyperfleet_reconcile_metrics_kind_read{{resource_type=\"{resource_type}\"}}"))
}

fn has_figures(samples: &Samples, resource_type: &str) -> bool {
    let label = format!("resource_type=\"{resource_type}\"");
    samples.0.keys().any(|series| series.starts_with("hyperfleet_api_") && series.contains(&label))
}

/// Tables that cannot be read, with what is said of each.
#[tokio::test]
async fn a_kind_that_cannot_be_read_has_no_figures_and_keeps_none_from_being_read() {
    let cases = [
        ("", "name: nodepools_v2", "there is no table `nodepools_v2`; set `table.name`"),
        ("DROP TABLE node_pools", "name: node_pools", "there is no table `node_pools`"),
        (
            "ALTER TABLE node_pools RENAME deleted_at TO removed_at",
            "name: node_pools",
            "table `node_pools` has no column `deleted_time` or `deleted_at`; set `table.deleted`",
        ),
        ("", "name: node_pools, owner: cluster_id", "table `node_pools` has no column `cluster_id`; set `table.owner`"),
        ("", "name: node_pools, generation: name", "column `name` of table `node_pools` is of type varchar"),
        (
            "ALTER TABLE node_pools ALTER status_conditions TYPE text USING status_conditions::text",
            "name: node_pools",
            "column `status_conditions` of table `node_pools` is of type text, and not of jsonb, json; set `table.conditions`",
        ),
    ];
    for (change, table, said) in cases {
        let mut world = World::theirs(DOCUMENTS).await;
        world.sql(change).await;
        world.sql(&format!("INSERT INTO clusters (id, name, status_conditions) VALUES ('c', 'c', '{PENDING}')")).await;
        let kinds = format!(
            "kinds:
- {{kind: Cluster, required_adapters: [dns]}}
- {{kind: NodePool, parent_kind: Cluster, required_adapters: [dns], table: {{{table}}}}}
stuck: {{anonymous: true}}"
        );
        let exporter = world.exporter(&kinds).await;
        exporter.scraper.renew_details().await;
        exporter.scraper.renew_pass().await;
        let samples = exporter.scrape().await;
        assert_eq!((samples.success(), samples.flow("cluster", false).1), (1.0, 1.0), "{said}");
        assert_eq!((is_read(&samples, "cluster"), is_read(&samples, "nodepool")), (1.0, 0.0), "{said}");
        assert!(!has_figures(&samples, "nodepool"), "nothing is known of it, which is not zero: {said}");
        for collector in ["details", "missing"] {
            let series = format!("hyperfleet_reconcile_metrics_scrape_success{{collector=\"{collector}\"}}");
            assert_eq!(samples.get(&series), 1.0, "{collector}: {said}");
        }
        let (status, body) = exporter.get("/stuck?kind=cluster", &[]).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"unread\":[]"), "it was not asked for: {body}");
        for query in ["", "?deleting=true", "?missing=true"] {
            let (_, body) = exporter.get(&format!("/stuck{query}"), &[]).await;
            let unread = serde_json::from_str::<serde_json::Value>(&body).unwrap()["unread"].clone();
            assert_eq!(unread[0]["kind"], "NodePool", "{query}: {body}");
            assert!(unread[0]["problem"].as_str().unwrap().contains(said), "{query}: {body}");
            let (_, page) = exporter.get(&format!("/stuck{query}"), &[("accept", "text/html")]).await;
            assert!(page.contains("<p>Not read: kind NodePool: "), "{query}: {page}");
            assert_eq!(page.contains("<p>Of the kinds that are read, nothing"), !query.is_empty(), "{query}: {page}");
        }
        let (status, body) = exporter.get("/stuck?kind=nodepool", &[]).await;
        assert!(status == 503 && body.contains(said), "an empty list would be a lie: {body}");
    }
}

#[tokio::test]
async fn where_no_kind_can_be_read_the_reading_says_why() {
    let mut world = World::theirs(DOCUMENTS).await;
    world.sql("ALTER TABLE clusters DROP status_conditions; DROP TABLE node_pools").await;
    let exporter = world.exporter("kinds: [{kind: Cluster}]\nstuck: {anonymous: true}").await;
    let samples = exporter.scrape().await;
    let errors = "hyperfleet_reconcile_metrics_scrape_errors_total{collector=\"snapshot\",reason=\"schema\"}";
    assert_eq!((samples.success(), samples.get(errors)), (0.0, 1.0));
    let (_, body) = exporter.get("/stuck", &[]).await;
    assert!(body.contains("kind Cluster: table `clusters` has no column `status_conditions`"), "{body}");
}

/// A table by other names: every column is configured, conditions are nested in JSON, times have no zone.
#[tokio::test]
async fn a_table_by_other_names_is_read_by_its_configuration() {
    let mut world = World::theirs(DOCUMENTS).await;
    world
        .sql(
            r#"CREATE TABLE "Wild Things" (
                   uid uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text, rev numeric, made timestamp, gone date,
                   parent uuid, state json
               );
               INSERT INTO "Wild Things" (title, rev, made, state) VALUES
                   ('one', 3, now() - interval '1 day', '{"status": {"conditions":
                       [{"type": "Reconciled", "status": "False", "last_transition_time": "2024-05-01T12:00:00Z"}]}}'),
                   ('two', 1, now() - interval '1 day', '{"status": {"conditions": [{"type": "Reconciled", "status": "True"}]}}'),
                   ('three', 1, now() - interval '1 day', '{"status": {}}'),
                   ('four', 1, now() - interval '1 day', NULL);
               INSERT INTO "Wild Things" (title, rev, made, gone, state) VALUES
                   ('five', 1, now() - interval '9 days', now() - interval '8 days',
                       '{"status": {"conditions": [{"type": "Reconciled", "status": "True"}]}}')"#,
        )
        .await;
    let kinds = "
kinds:
- kind: Wild
  required_adapters: [dns]
  table:
    {name: Wild Things, id: uid, resource_name: title, generation: rev, created: made, deleted: gone, owner: parent,
     conditions: state.status.conditions}
stuck: {anonymous: true}";
    let exporter = world.exporter(kinds).await;
    exporter.scraper.renew_details().await;
    exporter.scraper.renew_pass().await;
    let samples = exporter.scrape().await;
    assert_eq!((samples.success(), samples.flow("wild", false).1, is_read(&samples, "wild")), (1.0, 1.0, 1.0));
    let missing = "hyperfleet_api_resource_without_reconciled_condition{is_delete=\"false\",resource_type=\"wild\"}";
    assert_eq!(samples.get(missing), 2.0);
    let lingering = "hyperfleet_api_resource_deletion_lingering{held_by=\"nothing\",resource_type=\"wild\"}";
    assert_eq!(samples.get(lingering), 1.0);
    let items = async |path: &str| -> Vec<(Value, Value)> {
        let (status, body) = exporter.get(path, &[]).await;
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        body["items"].as_array().unwrap().iter().map(|i| (i["name"].clone(), i["generation"].clone())).collect()
    };
    assert_eq!(items("/stuck").await, [("one".into(), 3.into())]);
    assert_eq!(items("/stuck?lingering=true").await, [("five".into(), 1.into())]);
    assert_eq!(items("/stuck?missing=true").await.len(), 2);

    // The index that is offered has the same expression.
    let config = config::parse("test.yaml", kinds, &config::Environment::new(), &config::Overrides::new()).unwrap().0;
    let (_, indexes) = reconcile_metrics::index::offered(&mut world.connection, &config.kinds).await.unwrap();
    for index in &indexes {
        reconcile_metrics::index::build(&mut world.connection, index).await.unwrap();
    }
    assert!(indexes.iter().any(|index| index.name.contains("Wild Things")), "{indexes:?}");
}

/// Without a column of generations the newest one that was reported on is the wanted one.
#[tokio::test]
async fn a_table_without_names_and_generations_is_read() {
    let mut world = World::theirs(DOCUMENTS).await;
    world.sql("ALTER TABLE clusters DROP name, DROP generation").await;
    world.sql(&format!("INSERT INTO clusters (id, status_conditions) VALUES ('c1', '{PENDING}')")).await;
    let good = r#"[{"type": "Available", "status": "True"}]"#;
    world.report("Cluster", "c1", "dns", 4, good).await;
    world.report("Cluster", "c1", "hypershift", 3, good).await;
    let config = world.config(&format!("stuck: {{anonymous: true}}\n{}", crate::world::KINDS));
    let exporter = Exporter::start(config).await;
    assert_eq!(exporter.scrape().await.flow("cluster", false).1, 1.0);
    let (_, body) = exporter.get("/stuck", &[]).await;
    let item = serde_json::from_str::<Value>(&body).unwrap()["items"][0].clone();
    assert_eq!((&item["name"], &item["generation"]), (&Value::from("c1"), &Value::from(4)));
    assert_eq!(item["waits_on"].as_array().unwrap().len(), 1, "{item}");
    assert_eq!(item["waits_on"][0]["cause"], "older_generation");
}

/// One kind's table is not granted: that kind is not read.
#[tokio::test]
async fn a_table_that_may_not_be_read_is_said_and_others_are_read() {
    let mut world = World::theirs(DOCUMENTS).await;
    let role = lifecycle_e2e::unique("reader").replace('-', "_");
    world.sql(&format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON clusters, adapter_statuses TO {role}")).await;
    let mut config = world.config(&format!("stuck: {{anonymous: true}}\n{}", crate::world::KINDS));
    config.database.options = config.database.options.username(&role);
    let exporter = Exporter::start(config).await;
    let samples = exporter.scrape().await;
    assert_eq!((samples.success(), is_read(&samples, "cluster"), is_read(&samples, "nodepool")), (1.0, 1.0, 0.0));
    let (_, body) = exporter.get("/stuck?kind=NodePool", &[]).await;
    assert!(body.contains("may not be read; `GRANT SELECT` on the table"), "{body}");
}

/// Nothing in somebody else's table has to be there.
#[tokio::test]
async fn a_row_without_name_and_generation_is_read_like_any_other() {
    let mut world = World::theirs(DOCUMENTS).await;
    for table in ["clusters", "node_pools"] {
        world.sql(&format!("ALTER TABLE {table} ALTER name DROP NOT NULL, ALTER generation DROP NOT NULL")).await;
    }
    world
        .sql(&format!(
            "INSERT INTO clusters (id, generation, deleted_time, status_conditions)
                 VALUES ('c', NULL, now() - interval '1 hour', '[{{\"type\": \"Reconciled\", \"status\": \"True\"}}]');
             INSERT INTO node_pools (id, generation, owner_id, deleted_at, status_conditions)
                 VALUES ('n', NULL, 'c', now() - interval '1 hour', '{PENDING}')"
        ))
        .await;
    let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    for collector in ["details", "lingering"] {
        let series = format!("hyperfleet_reconcile_metrics_scrape_success{{collector=\"{collector}\"}}");
        assert_eq!(samples.get(&series), 1.0, "{collector}");
    }
    for (query, id) in [("?deleting=true", "n"), ("?lingering=true", "c")] {
        let (status, body) = exporter.get(&format!("/stuck{query}"), &[]).await;
        let item = serde_json::from_str::<Value>(&body).unwrap()["items"][0].clone();
        assert_eq!((status, &item["id"], &item["name"], &item["generation"]), (200, &id.into(), &id.into(), &0.into()));
    }
}

/// The column of parents is found by its name, wherever the table is; without one, nothing is claimed of whom children hold.
#[tokio::test]
async fn a_table_without_owners_is_no_reason_to_say_that_nobody_waits() {
    let mut world = World::theirs(DOCUMENTS).await;
    world
        .sql(&format!(
            "ALTER TABLE node_pools RENAME TO pools;
             INSERT INTO clusters (id, name, deleted_time, status_conditions)
                 VALUES ('c', 'c', now() - interval '1 hour', '[{{\"type\": \"Reconciled\", \"status\": \"True\"}}]');
             INSERT INTO pools (id, name, owner_id, deleted_at, status_conditions)
                 VALUES ('n', 'n', 'c', now() - interval '1 hour', '{PENDING}')"
        ))
        .await;
    let kinds = "stuck: {anonymous: true}\nkinds: [{kind: Cluster}, {kind: NodePool, parent_kind: Cluster, table: {name: pools}}]";
    let exporter = world.exporter(kinds).await;
    let blocked =
        "hyperfleet_api_resource_deletion_waiting_on_child{child_resource_type=\"nodepool\",resource_type=\"cluster\"}";
    exporter.scraper.renew_details().await;
    assert_eq!(exporter.scrape().await.get(blocked), 1.0);
    world.sql("ALTER TABLE pools RENAME owner_id TO of").await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    exporter.scraper.renew_details().await;
    assert_eq!((samples.success(), exporter.scrape().await.0.contains_key(blocked)), (1.0, false));
    let held_by = |held_by: &str| {
        samples.get(&format!(
            "hyperfleet_api_resource_deletion_lingering{{held_by=\"{held_by}\",resource_type=\"cluster\"}}"
        ))
    };
    assert_eq!((held_by("nothing"), held_by("child")), (0.0, 1.0));
    let (_, body) = exporter.get("/stuck?lingering=true", &[]).await;
    assert!(!body.contains("held_by"), "{body}");
}

/// Each table counts its ids for itself.
#[tokio::test]
async fn resources_of_one_id_have_their_own_texts() {
    let mut world = World::theirs(DOCUMENTS).await;
    world.sql("ALTER TABLE node_pools ALTER owner_id DROP NOT NULL").await;
    for (table, created, message) in
        [("clusters", "created_time", "of the cluster"), ("node_pools", "created_at", "of the pool")]
    {
        let conditions = format!(r#"[{{"type": "Reconciled", "status": "False", "message": "{message}"}}]"#);
        world
            .sql(&format!("INSERT INTO {table} (id, name, status_conditions) VALUES ('7', 'n', '{conditions}')"))
            .await;
        world.sql(&format!("UPDATE {table} SET {created} = now() - interval '1 day'")).await;
    }
    let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
    let (_, body) = exporter.get("/stuck", &[]).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    let mut texts: Vec<_> = body["items"].as_array().unwrap().iter().map(|i| (&i["kind"], &i["message"])).collect();
    texts.sort_by_key(|(kind, _)| kind.to_string());
    let expected = [("Cluster", "of the cluster"), ("NodePool", "of the pool")].map(|(k, m)| (k.into(), m.into()));
    assert_eq!(texts, expected.each_ref().map(|(k, m): &(Value, Value)| (k, m)));
}
