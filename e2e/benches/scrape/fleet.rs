//! Fills the database with resources, conditions and reports, as the API would write them.

use sqlx::PgConnection;

use crate::{Arguments, run};

pub(crate) const KINDS: &str = "kinds:
- {kind: Cluster, required_adapters: [validation, dns, pullsecret, hypershift]}
- {kind: NodePool, required_adapters: [validation, hypershift], stuck_after: 15m}
";

/// Inserts the fleet. Every fifth resource is a cluster, and so is every fifth unreconciled one. Ids rise with time, as the
/// API's do, and every condition has another time of transition.
pub(crate) async fn load(connection: &mut PgConnection, fleet: &Arguments) {
    let resources = fleet.resources;
    let every = resources / fleet.unreconciled;
    assert!(every >= 5, "at most one resource in five can be unreconciled");
    // Spreads the unreconciled resources evenly over all ids and kinds.
    let is_unreconciled = format!("n % {every} = n / {every} % 5");
    // Turn foreign keys off: checking them for each condition takes minutes.
    run(connection, "SET session_replication_role = replica").await;
    eprintln!("loading {resources} resources");
    run(
        connection,
        &format!(
            "INSERT INTO resources (id, kind, name, href, created_by, updated_by, owner_id, spec, generation, created_time, deleted_time)
             SELECT '0198f1c2-7a00-7000-8000-' || lpad(to_hex(n), 12, '0'),
                 CASE WHEN n % 5 = 0 THEN 'Cluster' ELSE 'NodePool' END,
                 'name-' || n, '/api/hyperfleet/v1/resources/' || n, 'bench', 'bench',
                 CASE WHEN n % 5 <> 0 THEN '0198f1c2-7a00-7000-8000-' || lpad(to_hex(n - n % 5), 12, '0') END,
                 '{{\"platform\": {{\"type\": \"gcp\", \"gcp\": {{\"region\": \"europe-west1\"}}}}, \"replicas\": 3}}',
                 1, now() - interval '30 days',
                 CASE WHEN {is_unreconciled} AND n / {every} % 11 = 0 THEN now() END
             FROM generate_series(1, {resources}) n"
        ),
    )
    .await;
    eprintln!("loading their conditions");
    run(
        connection,
        &format!(
            "INSERT INTO resource_conditions (resource_id, type, status, reason, message, observed_generation,
                 created_time, last_updated_time, last_transition_time)
             SELECT '0198f1c2-7a00-7000-8000-' || lpad(to_hex(n), 12, '0'), type,
                 CASE WHEN {is_unreconciled} THEN 'False' ELSE 'True' END,
                 'ReconciledAll', 'All required adapters are reconciled', 1, now(), now(),
                 now() - make_interval(secs => (n * 7919::bigint) % 7200 + n * 1e-6)
             FROM generate_series(1, {resources}) n,
                 unnest(ARRAY['Reconciled', 'LastKnownReconciled', 'HypershiftSuccessful']) AS type"
        ),
    )
    .await;
    eprintln!("loading their reports");
    run(
        connection,
        &format!(
            "INSERT INTO adapter_statuses (id, resource_type, resource_id, adapter, observed_generation, last_report_time, conditions)
             SELECT 's' || n, CASE WHEN n % 5 = 0 THEN 'Cluster' ELSE 'NodePool' END,
                 '0198f1c2-7a00-7000-8000-' || lpad(to_hex(n), 12, '0'), 'hypershift', 1, now(),
                 '[{{\"type\": \"Available\", \"status\": \"True\"}}, {{\"type\": \"Applied\", \"status\": \"True\"}},
                   {{\"type\": \"Health\", \"status\": \"True\"}}]'
             FROM generate_series(1, {resources}) n"
        ),
    )
    .await;
    run(connection, "RESET session_replication_role").await;
    eprintln!("vacuuming");
    run(connection, "VACUUM (FREEZE, ANALYZE) resources").await;
    run(connection, "VACUUM (FREEZE, ANALYZE) resource_conditions").await;
    run(connection, "VACUUM (FREEZE, ANALYZE) adapter_statuses").await;
    run(connection, "CHECKPOINT").await;
}
