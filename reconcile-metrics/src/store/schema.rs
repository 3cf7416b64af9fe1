//! Explains why the API's tables cannot be read, after PostgreSQL refused a statement.
//!
//! In: PostgreSQL's catalogue, which every role may read. Out: an error that says what to change, or nothing if the
//! catalogue shows no reason. Fails: if the catalogue cannot be read.

use sqlx::{PgConnection, Row as _};

use super::StoreError;

/// The tables that the exporter reads.
const TABLES: [&str; 3] = ["resources", "resource_conditions", "adapter_statuses"];
/// The tables of the API before v0.3.1, which kept conditions as JSONB.
const OLDER_TABLES: [&str; 2] = ["clusters", "node_pools"];

const FIND: &str = "
    SELECT c.relname::text AS name, n.nspname::text AS schema, pg_table_is_visible(c.oid) AS visible,
           has_schema_privilege(n.oid, 'USAGE') AS has_usage, has_table_privilege(c.oid, 'SELECT') AS has_select
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = ANY($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY n.nspname";

/// A table in the catalogue, with the rights of the role.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    name: String,
    schema: String,
    /// Whether its schema is in the role's search path.
    visible: bool,
    usage: bool,
    select: bool,
}

/// Whether the catalogue may explain an error.
pub(super) fn may_explain(error: &sqlx::Error) -> bool {
    // In this order: undefined table, undefined column, insufficient privilege, invalid schema name.
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| ["42P01", "42703", "42501", "3F000"].contains(&code.as_ref()))
}

/// Reads the catalogue and returns the reason, if it shows one.
pub(super) async fn explain(connection: &mut PgConnection) -> Result<Option<StoreError>, StoreError> {
    let names = [TABLES.as_slice(), OLDER_TABLES.as_slice()].concat();
    let rows = sqlx::query(FIND).bind(names).fetch_all(&mut *connection).await?;
    let table = |row: &sqlx::postgres::PgRow| {
        Ok(Table {
            name: row.try_get("name")?,
            schema: row.try_get("schema")?,
            visible: row.try_get("visible")?,
            usage: row.try_get("has_usage")?,
            select: row.try_get("has_select")?,
        })
    };
    let tables = rows.iter().map(table).collect::<Result<Vec<_>, sqlx::Error>>()?;
    let role: String = sqlx::query_scalar("SELECT current_user::text").fetch_one(connection).await?;
    Ok(reason(&tables, &role))
}

fn reason(tables: &[Table], role: &str) -> Option<StoreError> {
    let visible = |name: &str| tables.iter().find(|table| table.name == name && table.visible);
    for name in TABLES {
        if let Some(table) = visible(name) {
            if !table.select {
                let grant = format!("GRANT SELECT ON {} TO \"{role}\"", TABLES.join(", "));
                return Some(StoreError::Permission(format!("role \"{role}\" may not read `{name}`; run `{grant}`")));
            }
            continue;
        }
        let elsewhere: Vec<_> = tables.iter().filter(|table| table.name == name).collect();
        if let Some(Table { schema, .. }) = elsewhere.iter().find(|table| !table.usage) {
            let grant = format!("GRANT USAGE ON SCHEMA \"{schema}\" TO \"{role}\"");
            return Some(StoreError::Permission(format!(
                "role \"{role}\" has no USAGE on schema \"{schema}\", which has `{name}`; run `{grant}`"
            )));
        }
        let problem = match elsewhere.first() {
            Some(Table { schema, .. }) => {
                format!("`{name}` is in schema \"{schema}\"; set `database.schema`")
            }
            None if OLDER_TABLES.into_iter().any(|older| visible(older).is_some()) => {
                "they are those of an API before v0.3.1 (`clusters`, `node_pools`), which the exporter does not read; upgrade the API"
                    .to_owned()
            }
            None => format!("there is no table `{name}`; is `database.name` wrong, or has the API's `migrate` not run?"),
        };
        return Some(StoreError::Schema(problem));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, visible: bool, usage: bool, select: bool) -> Table {
        Table { name: name.to_owned(), schema: "fleet".to_owned(), visible, usage, select }
    }

    #[test]
    fn reason_says_what_to_change() {
        let all = |visible, usage, select| TABLES.map(|name| table(name, visible, usage, select)).to_vec();
        let cases = [
            ("all tables are readable, so a column must be missing", all(true, true, true), None),
            ("an empty database", Vec::new(), Some("there is no table `resources`; is `database.name` wrong")),
            ("the API's older schema", vec![table("clusters", true, true, true)], Some("an API before v0.3.1")),
            (
                "no grant",
                all(true, true, false),
                Some(
                    "role \"r\" may not read `resources`; run `GRANT SELECT ON resources, resource_conditions, adapter_statuses TO \"r\"`",
                ),
            ),
            ("no USAGE", all(false, false, true), Some("run `GRANT USAGE ON SCHEMA \"fleet\" TO \"r\"`")),
            (
                "another schema",
                all(false, true, true),
                Some("`resources` is in schema \"fleet\"; set `database.schema`"),
            ),
            (
                "one table of three",
                vec![table("resources", true, true, true)],
                Some("there is no table `resource_conditions`"),
            ),
        ];
        for (name, tables, expected) in cases {
            let reason = reason(&tables, "r").map(|error| error.to_string());
            match (&reason, expected) {
                (Some(reason), Some(expected)) => assert!(reason.contains(expected), "{name}: {reason}"),
                _ => assert_eq!(reason.as_deref(), expected, "{name}"),
            }
        }
    }
}
