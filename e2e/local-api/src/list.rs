//! The query of a list: page, order, projection, search and filters; and the list document.
//!
//! In: the query of a request's URL. Out: a [`ListQuery`], which completes an SQL statement on the row `r` of
//! `resources`, and builds the answer. Fails: with a 400 that names the parameter and the cure. Pure.
//!
//! Parameters without a value, repeated ones after the first, and unknown ones are ignored, as the real API does;
//! `order` and `fields` may be repeated.

use std::collections::BTreeSet;

use axum::extract::Query;
use axum::http::Uri;
use serde_json::{Map, Value, json};
use sqlx::{Postgres, QueryBuilder};

use crate::problem::Problem;
use crate::search::{self, COLUMNS, Column, Expression};

const LAST_PAGE: u32 = 100_000;
const LARGEST_SIZE: u32 = 100;
const DEFAULT_SIZE: u32 = 20;
const DEFAULT_ORDER: &str = "created_time desc";

/// What a request asks of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Which part of the list.
    pub page: Page,
    /// Which resources; all if `None`.
    pub search: Option<Expression>,
    /// The kind of the resources, for the list of all kinds.
    pub kind: Option<String>,
    /// To which resource the resources refer.
    pub reference: Option<Target>,
    /// Which members of each resource; all if `None`.
    pub projection: Option<Projection>,
    order: Vec<(&'static Column, Direction)>,
}

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    number: u32,
    size: u32,
}

/// A filter: the resources that refer to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The role of the other resource.
    pub ref_type: String,
    /// The other resource's id.
    pub id: String,
}

/// The members of a resource's document that a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection(BTreeSet<String>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

impl ListQuery {
    /// Reads the query of a URL, the text after `?`.
    pub fn parse(query: &str) -> Result<Self, Problem> {
        let parameters = Parameters::parse(query)?;
        let search = parameters.first("search").map(|text| {
            let refused = |error| Problem::bad_request(format!("search is not valid: {error}"));
            search::parse(text).map_err(refused)
        });
        let reference = match (parameters.first("ref_type"), parameters.first("ref_target_id")) {
            (None, None) => None,
            (Some(ref_type), Some(id)) => Some(Target { ref_type: ref_type.to_owned(), id: id.to_owned() }),
            (Some(_), None) => return Err(Problem::bad_request("ref_type needs ref_target_id, so add it")),
            (None, Some(_)) => return Err(Problem::bad_request("ref_target_id needs ref_type, so add it")),
        };
        Ok(Self {
            page: parameters.page()?,
            search: search.transpose()?,
            kind: parameters.first("kind").map(str::to_owned),
            reference,
            projection: parameters.projection(),
            order: parameters.order()?,
        })
    }

    /// Appends the order. Among equals the id decides: no page repeats or omits a resource that another page has.
    pub fn push_order(&self, query: &mut QueryBuilder<Postgres>) {
        query.push(" ORDER BY ");
        for (column, direction) in &self.order {
            let direction = match direction {
                Direction::Ascending => "ASC",
                Direction::Descending => "DESC",
            };
            query.push(format_args!("r.{} {direction}, ", column.name));
        }
        query.push("r.id");
    }

    /// Builds the list document of the page's items, projected. `total` counts the items of all pages.
    ///
    /// No projected items are `null`, as in the real API, because clients have to cope with that.
    #[must_use]
    pub fn document(&self, items: Vec<Map<String, Value>>, total: i64) -> Value {
        let Some(projection) = &self.projection else {
            return self.page.document(items.into_iter().map(Value::Object).collect(), total);
        };
        let items: Vec<Value> = items.into_iter().map(|item| Value::Object(projection.apply(item))).collect();
        let is_empty = items.is_empty();
        let mut document = self.page.document(items, total);
        if is_empty {
            document["items"] = Value::Null;
        }
        document
    }
}

impl Page {
    /// Reads `page` and `size` from the query of a URL, for lists without search and order.
    pub fn parse(query: &str) -> Result<Self, Problem> {
        Parameters::parse(query)?.page()
    }

    /// Appends the limits of the page to an SQL statement.
    pub fn push(&self, query: &mut QueryBuilder<Postgres>) {
        let offset = i64::from(self.number - 1) * i64::from(self.size);
        query.push(" LIMIT ").push_bind(i64::from(self.size)).push(" OFFSET ").push_bind(offset);
    }

    /// Builds the list document, whose `size` is the number of items, not that of the request.
    #[must_use]
    pub fn document(&self, items: Vec<Value>, total: i64) -> Value {
        json!({ "page": self.number, "size": items.len(), "total": total, "items": items })
    }
}

impl Projection {
    /// Reads `fields` from the query of a URL; `None` if a client wants all members.
    pub fn parse(query: &str) -> Result<Option<Self>, Problem> {
        Ok(Parameters::parse(query)?.projection())
    }

    /// Reduces a document to the wanted members and its id. A name that no member has selects nothing.
    ///
    /// A time keeps its fraction, which the real API cuts off here: otherwise a client that compares a projected
    /// document with a whole one would see a change where none is.
    #[must_use]
    pub fn apply(&self, mut document: Map<String, Value>) -> Map<String, Value> {
        document.retain(|name, _| name == "id" || self.0.contains(name));
        document
    }
}

/// The decoded names and values of a URL's query.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn parse(query: &str) -> Result<Self, Problem> {
        let refused = || Problem::bad_request("the URL's query is not valid, so percent-encode its values");
        let uri: Uri = format!("/?{query}").parse().map_err(|_| refused())?;
        let Query(parameters) = Query::<Vec<(String, String)>>::try_from_uri(&uri).map_err(|_| refused())?;
        // PostgreSQL's texts cannot contain the character, so it would refuse the statement.
        match parameters.iter().find(|(_, value)| value.contains('\0')) {
            None => Ok(Self(parameters)),
            Some((name, _)) => Err(Problem::bad_request(format!("{name} contains the character NUL, so remove it"))),
        }
    }

    /// The first value of a parameter, unless it is empty.
    fn first(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        value.filter(|value| !value.trim().is_empty())
    }

    /// All elements of a parameter that may be repeated, and whose values are separated by commas.
    fn elements(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(other, value)| other == name && !value.trim().is_empty());
        values.flat_map(|(_, value)| value.split(',')).map(str::trim)
    }

    fn page(&self) -> Result<Page, Problem> {
        let number = self.number("page", LAST_PAGE)?.unwrap_or(1);
        let size = self.number("size", LARGEST_SIZE)?.unwrap_or(DEFAULT_SIZE);
        Ok(Page { number, size })
    }

    fn number(&self, name: &str, largest: u32) -> Result<Option<u32>, Problem> {
        let Some(value) = self.first(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if (1..=largest).contains(&number) => Ok(Some(number)),
            _ => Err(Problem::bad_request(format!("{name} is {value:?}, so write a number from 1 to {largest}"))),
        }
    }

    fn projection(&self) -> Option<Projection> {
        let fields: BTreeSet<String> = self.elements("fields").map(str::to_owned).collect();
        (!fields.is_empty()).then_some(Projection(fields))
    }

    fn order(&self) -> Result<Vec<(&'static Column, Direction)>, Problem> {
        let columns: Result<Vec<_>, _> = self.elements("order").map(order).collect();
        match columns {
            Ok(columns) if columns.is_empty() => Ok(vec![order(DEFAULT_ORDER)?]),
            columns => columns,
        }
    }
}

fn order(element: &str) -> Result<(&'static Column, Direction), Problem> {
    let words: Vec<&str> = element.split_whitespace().collect();
    let (name, direction) = match words.as_slice() {
        [name] | [name, "asc"] => (*name, Direction::Ascending),
        [name, "desc"] => (*name, Direction::Descending),
        _ => {
            let problem = format!("order contains {element:?}, so write a column, and asc or desc after it");
            return Err(Problem::bad_request(problem));
        }
    };
    let Some(column) = COLUMNS.iter().find(|column| column.name == name) else {
        let columns = COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
        return Err(Problem::bad_request(format!("order names the unknown column {name:?}, so name one of {columns}")));
    };
    Ok((column, direction))
}

#[cfg(test)]
mod tests;
