//! Searches and lists on a real PostgreSQL server.

use lifecycle_e2e::postgres::{Database, Server};
use local_api::list::ListQuery;
use local_api::search;
use sqlx::{Connection as _, PgConnection, QueryBuilder};

/// Four clusters `a` to `d` and a node pool `p`. Only `d` is deleted, and only `a` and `b` have conditions. `c` is
/// inserted before `b`, which has the same creation time, so that the order of insertion is not that of the ids.
const ROWS: &str = r#"
    INSERT INTO resources (id, kind, name, created_time, updated_time, deleted_time, generation, created_by, updated_by,
        owner_id, spec) VALUES
    ('a', 'Cluster', 'alpha', '2026-09-01T10:00:00Z', '2026-09-01T10:00:00.123456Z', NULL, 1, 'x', 'x', NULL,
        '{"size": 3, "nodePool": {"machineType": "m5"}, "enabled": true, "a.b": "dot", "list": ["first"]}'),
    ('c', 'Cluster', '50%_\', '2026-09-02T10:00:00Z', '2026-09-02T10:00:00Z', NULL, 3, 'x', 'x', NULL,
        '{"size": "12", "enabled": "true"}'),
    ('b', 'Cluster', 'it''s', '2026-09-02T10:00:00Z', '2026-09-02T10:00:00Z', NULL, 2, 'x', 'x', NULL,
        '{"size": "many", "nodePool": {"machineType": "m6"}, "enabled": false}'),
    ('d', 'Cluster', 'Alpha', '2026-09-04T10:00:00Z', '2026-09-04T10:00:00Z', '2026-09-05T10:00:00Z', 4, 'x', 'x', NULL,
        '{"size": null}'),
    ('p', 'NodePool', 'alpha', '2026-09-05T10:00:00Z', '2026-09-05T10:00:00Z', NULL, 1, 'x', 'x', 'a',
        '{"size": 123456789012345678901234567890}');
    INSERT INTO resource_labels VALUES
    ('a', 'env', 'dev'), ('b', 'env', 'prod'), ('a', 'app.kubernetes.io/name', 'web'), ('c', 'app-tier', 'x');
    INSERT INTO resource_conditions (resource_id, type, status, observed_generation, last_updated_time,
        last_transition_time) VALUES
    ('a', 'Reconciled', 'True', 1, '2026-09-01T11:00:00Z', '2026-09-01T10:30:00Z'),
    ('b', 'Reconciled', 'False', 1, '2026-09-02T11:00:00Z', NULL),
    ('b', 'Other', 'True', 1, NULL, NULL);
"#;

async fn database() -> anyhow::Result<Database> {
    let database = Server::shared().await?.database().await?;
    let mut connection = PgConnection::connect(&database.url()).await?;
    lifecycle_migrations::apply(&mut connection).await?;
    connection.close().await?;
    database.execute(ROWS).await?;
    Ok(database)
}

/// Returns the ids of the found clusters in order, joined.
async fn found(connection: &mut PgConnection, search: &str) -> anyhow::Result<String> {
    let mut query =
        QueryBuilder::new("SELECT coalesce(string_agg(r.id, '' ORDER BY r.id), '') FROM resources r WHERE ");
    search::parse(search)?.push(&mut query);
    query.push(" AND r.kind = ").push_bind("Cluster");
    Ok(query.build_query_scalar().fetch_one(connection).await?)
}

#[tokio::test]
async fn search_finds_the_clusters_that_it_describes() -> anyhow::Result<()> {
    let database = database().await?;
    let mut connection = PgConnection::connect(&database.url()).await?;
    let overflow = format!("spec.size < {}", "9".repeat(2000));
    let many = format!("id in ['b'{}]", ",'x'".repeat(1000));
    let deep = format!("{}id = 'a'{}", "(".repeat(64), ")".repeat(64));
    let wide = format!("id = 'a'{}", " or id='b'".repeat(400));
    let cases = [
        // Columns
        ("name = 'alpha'", "a"),
        ("name != 'alpha'", "bcd"),
        ("not name = 'alpha'", "bcd"),
        ("name in ['alpha', 'Alpha']", "ad"),
        ("name not in ['alpha', 'Alpha']", "bc"),
        ("id between 'b' and 'c'", "bc"),
        ("id > 'b' and id <= 'd'", "cd"),
        ("kind = 'NodePool'", ""),
        ("owner_id is null", "abcd"),
        ("owner_id != 'a'", ""),
        ("href is not null", ""),
        ("generation > 1.5 and generation < 4", "bc"),
        ("generation in [1, 4]", "ad"),
        ("generation < 99999999999999999999", "abcd"),
        ("generation not between 2 and 3", "ad"),
        // Quotes and patterns
        ("name = 'it''s'", "b"),
        ("name = 'alpha'' or ''1''=''1'", ""),
        ("name like 'a%'", "a"),
        ("name ilike 'ALP%'", "ad"),
        ("name not like '%a'", "bc"),
        (r"name like '50\%\_\\'", "c"),
        (r"name = '50%_\'", "c"),
        ("name like '_t''_'", "b"),
        // Logic
        ("id = 'a' or id = 'b' and generation = 1", "a"),
        ("(id = 'a' or id = 'b') and generation = 2", "b"),
        ("not (id = 'a' or id = 'b')", "cd"),
        ("id = 'a' or name != ''", "abcd"),
        ("ID IS NULL", "refused"),
        ("NOT id IN ['a'] AND id IS NOT NULL", "bcd"),
        // Times
        ("deleted_time is null", "abc"),
        ("deleted_time is not null", "d"),
        ("deleted_time > '2026-09-05'", "d"),
        ("created_time >= '2026-09-02'", "bcd"),
        ("created_time = '2026-09-01T12:00:00+02:00'", "a"),
        ("updated_time = '2026-09-01T10:00:00.123456Z'", "a"),
        ("updated_time > 2026-09-01T10:00:00Z and updated_time < 2026-09-02", "a"),
        ("created_time between '2026-09-01' and '2026-09-02T10:00:00Z'", "abc"),
        ("created_time in ['2026-09-01T10:00:00Z', '2026-09-03']", "a"),
        ("created_time > '0001-01-01' and created_time < '9999-12-30'", "abcd"),
        // Labels
        ("labels.env = 'dev'", "a"),
        ("labels.env != 'dev'", "b"),
        ("labels.env != 'dev' or labels.env is null", "bcd"),
        ("labels.env in ['dev', 'prod', 'x']", "ab"),
        ("labels.env like '%d'", "b"),
        ("labels.env ilike 'D%'", "a"),
        ("labels.env is null", "cd"),
        ("labels.app.kubernetes.io/name = 'web'", "a"),
        ("labels.'app.kubernetes.io/name' is not null", "a"),
        ("labels.app-tier = 'x'", "c"),
        ("labels.'x'') or (''' = 'x'", ""),
        // The spec
        ("spec.nodePool.machineType = 'm5'", "a"),
        ("spec.nodePool.machineType != 'm5'", "b"),
        ("spec.nodePool.machineType is null", "cd"),
        ("spec.nodePool is not null", "ab"),
        ("spec.nodePool.machineType in ['m5', 'm6']", "ab"),
        ("spec.'a.b' = 'dot'", "a"),
        ("spec.a.b = 'dot'", ""),
        ("spec.list.0 = 'first'", "a"),
        ("spec.enabled = true", "ac"),
        ("spec.enabled != true", "b"),
        ("spec.enabled in [true, false]", "abc"),
        ("spec.size = 3", "a"),
        ("spec.size = 3.0", "a"),
        ("spec.size > 3", "c"),
        ("spec.size != 3", "c"),
        ("not spec.size = 3", "c"),
        ("spec.size in [3, 12]", "ac"),
        ("spec.size between 4 and 20", "c"),
        ("spec.size = 'many'", "b"),
        ("spec.size like 'm%'", "b"),
        ("spec.size is null", "d"),
        (&overflow, "ac"),
        // Conditions
        ("status.conditions.Reconciled = 'True'", "a"),
        ("status.conditions.Reconciled='False' and generation=2", "b"),
        ("status.conditions.Reconciled = 'Unknown'", ""),
        ("status.conditions.Reconciled is null", "cd"),
        ("status.conditions.Other is not null", "b"),
        ("status.conditions.Reconciled.last_updated_time < '2026-09-02'", "a"),
        ("status.conditions.Reconciled.last_updated_time != '2026-09-02'", "ab"),
        ("status.conditions.Reconciled.last_transition_time = '2026-09-01T10:30:00Z'", "a"),
        ("status.conditions.Reconciled.last_transition_time is null", "bcd"),
        ("status.conditions.Reconciled.observed_generation >= 1", "ab"),
        ("status.conditions.Reconciled.observed_generation = -2147483648", ""),
        // A search cannot escape the kind that the server adds.
        ("name='x') or (name!=''", "refused"),
        ("name='x' or name!=''", "abcd"),
        ("name='x' or kind!='Cluster' or name='it''s'", "b"),
        ("name='x'--", "refused"),
        // Large searches
        (&many, "b"),
        (&deep, "a"),
        (&wide, "ab"),
    ];
    for (search, expected) in cases {
        let found = match search::parse(search) {
            Ok(_) => found(&mut connection, search).await?,
            Err(_) => "refused".to_owned(),
        };
        assert_eq!(found, expected, "{search}");
    }
    Ok(())
}

#[tokio::test]
async fn pages_follow_the_order_and_the_id_decides_among_equals() -> anyhow::Result<()> {
    let database = database().await?;
    let mut connection = PgConnection::connect(&database.url()).await?;
    let cases = [
        ("", "pdbca"),
        ("order=created_time", "abcdp"),
        ("order=deleted_time", "dabcp"),
        ("order=kind desc,generation", "pabcd"),
        ("order=generation&size=2", "ap"),
        ("order=generation&size=2&page=2", "bc"),
        ("order=generation&size=2&page=3", "d"),
        ("order=name&page=100000&size=100", ""),
    ];
    for (text, expected) in cases {
        let mut query = QueryBuilder::new("SELECT r.id FROM resources r");
        let list = ListQuery::parse(&text.replace(' ', "%20")).map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
        list.push_order(&mut query);
        list.page.push(&mut query);
        let ids: Vec<String> = query.build_query_scalar().fetch_all(&mut connection).await?;
        assert_eq!(ids.concat(), expected, "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn database_evaluates_each_search_that_is_accepted() -> anyhow::Result<()> {
    let database = database().await?;
    let mut connection = PgConnection::connect(&database.url()).await?;
    let fields = [
        "name",
        "generation",
        "created_time",
        "labels.a",
        "spec.size",
        "status.conditions.Reconciled",
        "status.conditions.Reconciled.last_updated_time",
        "status.conditions.Reconciled.observed_generation",
    ];
    let operators = [
        "= V",
        "!= V",
        "< V",
        "<= V",
        "> V",
        ">= V",
        "in [V, V]",
        "not in [V]",
        "between V and V",
        "not between V and V",
        "like V",
        "not like V",
        "ilike V",
        "is null",
        "is not null",
    ];
    let values =
        ["'a'", r"'\'", "'True'", "5", "-0.50", "true", "'2026-09-01'", "0001-01-01", "9999-12-30T21:59:59.9999999Z"];
    let mut evaluated = 0;
    for (field, operator) in fields.iter().flat_map(|field| operators.map(|operator| (field, operator))) {
        for value in values {
            let search = format!("{field} {}", operator.replace('V', value));
            if search::parse(&search).is_ok() {
                found(&mut connection, &search).await.map_err(|error| error.context(search))?;
                evaluated += 1;
            }
        }
    }
    assert!(evaluated > 300, "{evaluated}");
    Ok(())
}
