//! The count of what is pending on our schema, against the plain one of the API's.

use std::collections::BTreeMap;

use reconcile_metrics::store::query;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::world::World;

/// What a statement says of a kind, a flow and a band.
#[derive(Debug, Default)]
struct Group {
    count: i64,
    oldest: f64,
    age_sum: f64,
    future: i64,
}

impl PartialEq for Group {
    /// Floating-point sums depend on the order of their terms.
    fn eq(&self, other: &Self) -> bool {
        let close = |one: f64, two: f64| (one - two).abs() <= one.abs().max(1.0) * 1e-12;
        (self.count, self.oldest, self.future) == (other.count, other.oldest, other.future)
            && close(self.age_sum, other.age_sum)
    }
}

fn groups(rows: &[PgRow]) -> BTreeMap<(String, bool, i32), Group> {
    let mut groups: BTreeMap<_, Group> = BTreeMap::new();
    for row in rows {
        let group = groups.entry((row.get(0), row.get(1), row.get(2))).or_default();
        let (oldest, age_sum): (f64, f64) = (row.get("oldest"), row.get("age_sum"));
        group.count += row.get::<i64, _>(3);
        group.oldest = group.oldest.max(oldest);
        group.age_sum += age_sum;
        group.future += row.get::<i64, _>("future");
    }
    groups
}

/// Many kinds and ages, among them those that lie on an edge, in the future, and nowhere.
const RESOURCES: &str = "
    INSERT INTO resources (id, kind, name, created_by, updated_by, spec, deleted_time)
    SELECT n::text, CASE WHEN n % 3 = 0 THEN 'Cluster' WHEN n % 50 = 1 THEN 'Kind ' || n ELSE 'NodePool' END, n::text,
        't', 't', '{}', CASE WHEN n % 7 = 0 THEN now() END
    FROM generate_series(1, 3000) n;
    INSERT INTO resource_conditions (resource_id, type, status, last_transition_time)
    SELECT n::text, 'Reconciled', CASE WHEN n % 11 = 0 THEN 'True' ELSE 'False' END, CASE n % 13
        WHEN 0 THEN 'infinity'
        WHEN 1 THEN '-infinity'
        WHEN 2 THEN now()
        WHEN 3 THEN now() - make_interval(secs => 600)
        WHEN 4 THEN now() - make_interval(secs => 600.000001)
        WHEN 5 THEN now() + make_interval(secs => n)
        WHEN 6 THEN '1969-12-31 23:00:00+00'
        ELSE now() - make_interval(secs => n * 0.7919)
    END
    FROM generate_series(1, 3000) n;";

#[tokio::test]
async fn both_schemas_count_the_same() {
    let mut world = World::ours().await;
    let edges: [&[f64]; 3] = [&[600.0], &[60.0, 300.0, 600.0, 900.0, 1800.5, 86_400.0, 604_800.0], &[1e-6, 1e9]];
    // One transaction: both see the same time.
    let mut transaction = world.connection.begin().await.unwrap();
    for step in [RESOURCES, "DELETE FROM resources WHERE id::integer > 1", "DELETE FROM resources"] {
        sqlx::raw_sql(AssertSqlSafe(step)).execute(&mut *transaction).await.unwrap();
        sqlx::raw_sql("SET CONSTRAINTS ALL IMMEDIATE").execute(&mut *transaction).await.unwrap();
        for edges in edges {
            let mut counted = Vec::new();
            for sql in [query::TRACKED_PENDING, query::ROWS_PENDING] {
                let rows = sqlx::query(sql).bind(edges).bind(None::<f64>).fetch_all(&mut *transaction).await.unwrap();
                counted.push(groups(&rows));
            }
            let [tracked, rows] = counted.as_slice() else { panic!("two statements") };
            assert_eq!(tracked, rows, "{edges:?} after {step}");
        }
        let kinds: i64 =
            sqlx::query_scalar("SELECT count(DISTINCT kind) FROM unsettled_resources WHERE state = 'pending'")
                .fetch_one(&mut *transaction)
                .await
                .unwrap();
        assert_eq!(kinds > 30, step == RESOURCES, "{kinds} kinds after {step}");
    }
}
