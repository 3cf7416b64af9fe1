//! `check --database`: warnings where the configuration does not match the database.

use crate::cli::{run, run_with};
use crate::world::{API_SCHEMA, World};

const GOOD: &str = r#"[{"type": "Available", "status": "True"}]"#;

#[tokio::test(flavor = "multi_thread")]
async fn check_warns_of_a_required_adapter_that_never_reported() {
    let mut world = World::with_schema(API_SCHEMA).await;
    for n in 0..3 {
        world.resource(&format!("c{n}"), "Cluster", Some("True"), "1 hour").await;
        world.report("Cluster", &format!("c{n}"), "hypershift", 1, GOOD).await;
    }
    let misspelt =
        "kinds: [{kind: Cluster, required_adapters: [hypershfit]}, {kind: NodePool, required_adapters: [dns]}]";
    let (good, text, error) = run_with(&world, misspelt, &["check", "--database"]);
    assert!(good && text.contains("the database has 3 resources"), "{text}{error}");
    let warning = r#"adapter "hypershfit" never reported on any resource of kind "Cluster", which requires it"#;
    assert!(text.contains(warning) && text.contains(r#"did you mean "hypershift"?"#), "{text}");
    assert!(!text.contains("NodePool"), "a kind without resources has no reports: {text}");
    let right = misspelt.replace("hypershfit", "hypershift");
    let (_, text, _) = run_with(&world, &right, &["check", "--database"]);
    assert!(text.contains("0 warnings"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_lists_resources_without_the_condition() {
    let mut world = World::with_schema(API_SCHEMA).await;
    for n in 0..7 {
        world.resource(&format!("c{n}"), "Cluster", (n == 0).then_some("False"), "1 hour").await;
        world.report("Cluster", &format!("c{n}"), "dns", 1, GOOD).await;
    }
    world.resource("odd\u{200b}", "Channel", None, "").await;
    world
        .sql("INSERT INTO resource_conditions (resource_id, type, status) VALUES ('c1', 'Reconciled', 'Perhaps')")
        .await;
    let kinds = "kinds: [{kind: Cluster, required_adapters: [dns]}, {kind: Channel}]";
    let (good, text, error) = run_with(&world, kinds, &["check", "--database"]);
    assert!(good, "{error}");
    assert!(text.contains(r#"kind "Cluster": 6 resources without a condition Reconciled"#), "{text}");
    assert!(text.contains("c1, c2, c3, c4, c5, …"), "{text}");
    assert!(!text.contains("Channel"), "the API writes no condition for kinds without adapters: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_reads_resources_in_several_parts() {
    let mut world = World::with_schema(API_SCHEMA).await;
    world
        .sql(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec)
             SELECT 'r' || n, CASE WHEN n % 2 = 0 THEN 'Cluster' ELSE 'NodePool' END, n::text, 't', 't', '{}'
             FROM generate_series(1, 25000) n",
        )
        .await;
    let (good, text, error) = run(&world, &["check", "--database"]);
    assert!(good && text.contains("the database has 25000 resources"), "{text}{error}");
    assert!(text.contains("12500 resources without a condition"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_ends_if_the_collation_orders_ids_differently() {
    let mut world = World::with_schema(API_SCHEMA).await;
    world.sql(r#"ALTER TABLE resources ALTER COLUMN id TYPE varchar(255) COLLATE "und-x-icu""#).await;
    // The order of bytes puts `B` first, this collation puts `a` first.
    world.resource("a", "Cluster", Some("True"), "1 hour").await;
    world.resource("B", "NodePool", Some("True"), "1 hour").await;
    let (good, text, error) = run(&world, &["check", "--database"]);
    assert!(good && text.contains("the database has 2 resources"), "{text}{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_warns_of_missing_files_with_secrets() {
    let world = World::empty().await;
    let config =
        "database: {password_file: /nonexistent/p}\nstuck: {token_file: /nonexistent/t}\nkinds: [{kind: Cluster}]";
    let (good, text, error) = run_with(&world, config, &["check"]);
    assert!(good && text.contains("2 warnings"), "{text}{error}");
    for (key, file) in [("database.password_file", "/nonexistent/p"), ("stuck.token_file", "/nonexistent/t")] {
        assert!(text.contains(key) && text.contains(&format!("`{file}` cannot be read")), "{text}");
    }
}
