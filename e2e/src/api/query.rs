//! The query of a list, or of one resource: paging, search, projection.
//!
//! In: a request's URL. Out: a [`Query`]. Fails: with the detail of a 400, also for everything that the fake does not
//! implement, so that no test takes an unfiltered list for a filtered one.

use std::collections::BTreeSet;

use axum::extract::Query as Parsed;
use http::Uri;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The most characters of a search, and the most items of a page.
const LONGEST_SEARCH: usize = 4096;
const LARGEST_SIZE: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    page: usize,
    size: usize,
    search: Option<String>,
    fields: Option<String>,
}

impl Default for Written {
    fn default() -> Self {
        Self { page: 1, size: 20, search: None, fields: None }
    }
}

/// What a request asks of a list.
#[derive(Debug)]
pub(super) struct Query {
    page: usize,
    size: usize,
    /// The ids of the search `id in ['…', '…']`.
    ids: Option<BTreeSet<String>>,
    fields: Option<BTreeSet<String>>,
}

impl Query {
    pub(super) fn parse(uri: &Uri) -> Result<Self, String> {
        let Parsed(written) = Parsed::<Written>::try_from_uri(uri).map_err(|error| error.to_string())?;
        if !(1..=100_000).contains(&written.page) || !(1..=LARGEST_SIZE).contains(&written.size) {
            return Err(format!("page {} or size {} is out of range", written.page, written.size));
        }
        let search = written.search.filter(|search| !search.is_empty());
        let ids = search.map(|search| ids(&search).ok_or(format!("the fake cannot search by {search}"))).transpose()?;
        let fields = written.fields.filter(|fields| !fields.is_empty());
        let fields = fields.map(|fields| fields.split(',').chain(["id"]).map(|name| name.trim().to_owned()).collect());
        Ok(Self { page: written.page, size: written.size, ids, fields })
    }

    /// Builds the list document of the chosen page.
    pub(super) fn page<'a>(&self, all: impl Iterator<Item = &'a Value>) -> Value {
        let id = |document: &Value| document.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let found: Vec<_> = all.filter(|item| self.ids.as_ref().is_none_or(|ids| ids.contains(&id(item)))).collect();
        let chosen = found.iter().skip((self.page - 1) * self.size).take(self.size);
        let items: Vec<Value> = chosen.map(|item| self.project(item)).collect();
        let size = items.len();
        // The real API filters by fields into a Go slice, which is null while it is empty.
        let items = if items.is_empty() && self.fields.is_some() { Value::Null } else { items.into() };
        json!({"items": items, "page": self.page, "size": size, "total": found.len()})
    }

    /// Reduces a document to the chosen fields.
    pub(super) fn project(&self, document: &Value) -> Value {
        match (&self.fields, document) {
            (Some(fields), Value::Object(all)) => {
                let chosen: Map<_, _> = all.clone().into_iter().filter(|(name, _)| fields.contains(name)).collect();
                chosen.into()
            }
            _ => document.clone(),
        }
    }
}

fn ids(search: &str) -> Option<BTreeSet<String>> {
    if search.chars().count() > LONGEST_SEARCH {
        return None;
    }
    let list = search.trim().strip_prefix("id in [")?.strip_suffix(']')?;
    let id = |item: &str| {
        let id = item.trim().strip_prefix('\'')?.strip_suffix('\'')?;
        (!id.contains('\'')).then(|| id.to_owned())
    };
    list.split(',').map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str) -> anyhow::Result<Value> {
        let all = ["a", "b", "c"].map(|id| json!({"id": id, "generation": 1, "spec": {}}));
        let query = Query::parse(&format!("/x?{query}").parse()?).map_err(anyhow::Error::msg)?;
        Ok(query.page(all.iter()))
    }

    #[test]
    fn list_is_searched_paged_and_projected() -> anyhow::Result<()> {
        let cases = [
            ("", vec!["a", "b", "c"], 3),
            ("page=2&size=2", vec!["c"], 3),
            ("search=", vec!["a", "b", "c"], 3),
            ("search=id%20in%20%5B'a',%20'c','x'%5D", vec!["a", "c"], 2),
            ("search=id+in+['a','c']&size=1", vec!["a"], 2),
        ];
        for (query, expected, total) in cases {
            let list = page(query)?;
            let items = list["items"].as_array().cloned().unwrap_or_default();
            let ids: Vec<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
            assert_eq!((ids, &list["total"]), (expected, &json!(total)), "{query}");
        }
        assert_eq!(page("fields=generation&size=1")?["items"], json!([{"id": "a", "generation": 1}]));
        assert_eq!(page("fields=id&page=9")?["items"], Value::Null);
        assert_eq!(page("page=9")?["items"], json!([]));
        Ok(())
    }

    #[test]
    fn query_out_of_range_or_not_implemented_is_refused() {
        let long = format!("search=id+in+['{}']", "x".repeat(4_096));
        let cases = [
            "page=0",
            "size=101",
            "size=x",
            "search=name='a'",
            "search=id+in+['a'+or+'b']",
            "order=id",
            "kind=Cluster",
        ];
        for query in cases.into_iter().chain([long.as_str()]) {
            assert!(page(query).is_err(), "{query}");
        }
    }
}
