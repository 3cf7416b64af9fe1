//! Where the older schema keeps each kind: one table for each, by names that may differ.
//!
//! In: the configured tables, or the API's own two, and what the catalogue says about their columns. Out: the tables
//! that can be read, and for each kind that cannot, what is wrong and what cures it. One kind that cannot be read keeps
//! no other from being read.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::connections::{StoreError, quoted};
use crate::config::{KNOWN_TABLES, Kinds, Table, known_table};

/// What the older schema has of the kinds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tables {
    /// The tables that are read.
    pub read: Vec<DocumentTable>,
    /// The kinds that are not.
    pub unread: Vec<Unread>,
}

/// A kind that cannot be read: it has no figures, rather than zeros.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The kind.
    pub kind: String,
    /// What is wrong, and the cure.
    pub problem: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kind {}: {}", self.kind, self.problem)
    }
}

/// A table, by the names that it really has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentTable {
    /// The kind that it holds.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The column of ids.
    pub id: String,
    /// The column of names; the id is shown without one.
    pub(super) resource_name: Option<String>,
    /// The column that holds the conditions.
    pub(super) conditions: Column,
    /// The keys that lead to the list of conditions within it.
    pub(super) path: Vec<String>,
    /// The column of the wanted generation; without one, that is the newest that was reported on.
    pub(super) generation: Option<String>,
    /// The column of the time of deletion, null until then.
    pub(super) deleted: Column,
    /// The column of the time of creation.
    pub(super) created: Column,
    /// The column of the parent's id.
    pub(super) owner: Option<String>,
}

/// A column and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) type_name: String,
}

impl DocumentTable {
    /// The list of conditions as JSONB; `of` is the table's alias with its dot, or nothing.
    #[must_use]
    pub fn conditions(&self, of: &str) -> String {
        let mut sql = format!("{of}{}", quoted(&self.conditions.name));
        if self.conditions.type_name != "jsonb" {
            sql.push_str("::jsonb");
        }
        if self.path.is_empty() {
            return sql;
        }
        let keys: Vec<_> = self.path.iter().map(|key| literal(key)).collect();
        format!("({sql} #> ARRAY[{}])", keys.join(", "))
    }
}

impl Column {
    /// The column as a time with its zone, which is UTC where the type has none.
    pub(super) fn instant(&self, of: &str) -> String {
        let column = format!("{of}{}", quoted(&self.name));
        if self.type_name == "timestamptz" { column } else { format!("({column}::timestamp AT TIME ZONE 'UTC')") }
    }
}

/// A text in SQL.
pub(super) fn literal(text: &str) -> String {
    // With standard_conforming_strings, which has been on by default since 9.1, only the quote is special.
    format!("'{}'::text", text.replace('\'', "''"))
}

/// Looks for the table of each kind.
pub(super) async fn find(connection: &mut PgConnection, kinds: &Kinds) -> Result<Tables, StoreError> {
    let listed: Vec<(&str, Option<Table>)> =
        kinds.all().iter().map(|kind| (kind.name.as_str(), kind.table.clone())).collect();
    // A kind that nobody listed is counted as an unknown one, as on the newer schema.
    let unlisted = KNOWN_TABLES.iter().filter(|(kind, name)| {
        let taken = |(other, table): &(&str, Option<Table>)| {
            other.eq_ignore_ascii_case(kind) || table.as_ref().is_some_and(|table| table.name == *name)
        };
        !listed.iter().any(taken)
    });
    let unlisted: Vec<_> = unlisted.filter_map(|(kind, _)| Some((*kind, known_table(kind)?))).collect();

    let named = listed.iter().filter_map(|(_, table)| table.as_ref()).chain(unlisted.iter().map(|(_, table)| table));
    let names: Vec<&str> = named.map(|table| table.name.as_str()).collect();
    let catalogue = Catalogue::read(connection, &names).await?;
    let mut tables = Tables::default();
    for (kind, table) in &listed {
        let found = match table {
            Some(table) => catalogue.find(kind, table),
            None => Err("no table of it is known; set `table.name`, or take it off the list".to_owned()),
        };
        match found {
            Ok(table) => tables.read.push(table),
            Err(problem) => tables.unread.push(Unread { kind: (*kind).to_owned(), problem }),
        }
    }
    tables.read.extend(unlisted.iter().filter_map(|(kind, table)| catalogue.find(kind, table).ok()));
    Ok(tables)
}

/// Which of the API's schemas hold resources, where both are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    pub(super) older: bool,
    pub(super) newer: bool,
}

/// Looks where resources are; not where none of the older tables can be read.
pub(super) async fn used(connection: &mut PgConnection, tables: &Tables) -> Result<Used, StoreError> {
    if tables.read.is_empty() {
        return Ok(Used::default());
    }
    let older = tables.read.iter().map(|table| format!("EXISTS (SELECT FROM {})", quoted(&table.name)));
    let sql = format!("SELECT {}, EXISTS (SELECT FROM resources)", older.collect::<Vec<_>>().join(" OR "));
    let (older, newer) = sqlx::query_as(AssertSqlSafe(sql)).fetch_one(connection).await?;
    Ok(Used { older, newer })
}

/// The columns of each table: their types, and whether they may be read.
struct Catalogue(BTreeMap<String, BTreeMap<String, (String, bool)>>);

/// What a column is for, and which types serve it.
struct Role {
    /// The key below `table` that names it.
    key: &'static str,
    /// The names that it has where none is configured.
    defaults: &'static [&'static str],
    /// The types that serve; all if there are none.
    types: &'static [&'static str],
}

const TIMES: &[&str] = &["timestamptz", "timestamp", "date"];
const ID: Role = Role { key: "id", defaults: &["id"], types: &[] };
const RESOURCE_NAME: Role = Role { key: "resource_name", defaults: &["name"], types: &[] };
const CONDITIONS: Role = Role { key: "conditions", defaults: &[], types: &["jsonb", "json"] };
const GENERATION: Role =
    Role { key: "generation", defaults: &["generation"], types: &["int2", "int4", "int8", "numeric"] };
const DELETED: Role = Role { key: "deleted", defaults: &["deleted_time", "deleted_at"], types: TIMES };
const CREATED: Role = Role { key: "created", defaults: &["created_time", "created_at"], types: TIMES };
const OWNER: Role = Role { key: "owner", defaults: &["owner_id"], types: &[] };

impl Catalogue {
    async fn read(connection: &mut PgConnection, tables: &[&str]) -> Result<Self, StoreError> {
        let rows = sqlx::query(
            "SELECT n.name, a.attname::text, t.typname::text, has_column_privilege(a.attrelid, a.attnum, 'SELECT')
             FROM unnest($1::text[]) AS n(name)
             JOIN pg_attribute a ON a.attrelid = to_regclass(quote_ident(n.name)) AND a.attnum > 0 AND NOT a.attisdropped
             JOIN pg_type t ON t.oid = a.atttypid",
        )
        .bind(tables)
        .fetch_all(connection)
        .await?;
        let mut catalogue: BTreeMap<String, BTreeMap<String, (String, bool)>> = BTreeMap::new();
        for row in rows {
            let column = (row.try_get(2)?, row.try_get(3)?);
            catalogue.entry(row.try_get(0)?).or_default().insert(row.try_get(1)?, column);
        }
        Ok(Self(catalogue))
    }

    /// The table of a kind, or what is wrong with it.
    fn find(&self, kind: &str, table: &Table) -> Result<DocumentTable, String> {
        let name = &table.name;
        let columns = self.0.get(name).ok_or_else(|| {
            format!("there is no table `{name}`; set `table.name`, or take the kind off the list if there are none")
        })?;
        let (conditions, path) = match table.conditions.split_once('.') {
            // A column may be named with a dot, though nobody should.
            Some((column, keys)) if !columns.contains_key(&table.conditions) => {
                (column, keys.split('.').map(str::to_owned).collect())
            }
            Some(_) | None => (table.conditions.as_str(), Vec::new()),
        };
        let needed = |role: &Role, given: Option<&str>| required(name, columns, role, given);
        let optional = |role: &Role, given: Option<&str>| match given {
            None if !role.defaults.iter().any(|name| columns.contains_key(*name)) => Ok(None),
            given => needed(role, given).map(|column| Some(column.name)),
        };
        Ok(DocumentTable {
            kind: kind.to_owned(),
            name: name.clone(),
            id: needed(&ID, table.id.as_deref())?.name,
            resource_name: optional(&RESOURCE_NAME, table.resource_name.as_deref())?,
            conditions: needed(&CONDITIONS, Some(conditions))?,
            path,
            generation: optional(&GENERATION, table.generation.as_deref())?,
            deleted: needed(&DELETED, table.deleted.as_deref())?,
            created: needed(&CREATED, table.created.as_deref())?,
            owner: optional(&OWNER, table.owner.as_deref())?,
        })
    }
}

/// The column that plays a role: the one that is configured, or the first of its default names that is there.
fn required(
    table: &str,
    columns: &BTreeMap<String, (String, bool)>,
    role: &Role,
    given: Option<&str>,
) -> Result<Column, String> {
    let names: Vec<&str> = given.map_or(role.defaults.to_vec(), |given| vec![given]);
    let found = names.iter().find_map(|name| Some((*name, columns.get(*name)?)));
    let key = role.key;
    let Some((name, (type_name, readable))) = found else {
        let names = names.join("` or `");
        return Err(format!("table `{table}` has no column `{names}`; set `table.{key}`"));
    };
    if !role.types.is_empty() && !role.types.contains(&type_name.as_str()) {
        let types = role.types.join(", ");
        return Err(format!(
            "column `{name}` of table `{table}` is of type {type_name}, and not of {types}; set `table.{key}`"
        ));
    }
    if !readable {
        return Err(format!("column `{name}` of table `{table}` may not be read; `GRANT SELECT` on the table"));
    }
    Ok(Column { name: name.to_owned(), type_name: type_name.clone() })
}
