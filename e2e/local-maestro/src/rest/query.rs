//! The query of a list: page, size, search, order and fields; and the list document.

use std::cmp::Ordering;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::refusal::ServiceError;
use crate::search::{self, Cell, Expression, Row};

/// The columns that a search or an order may name.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) plain: &'static [&'static str],
    /// Columns whose members a search can reach.
    pub(crate) json: &'static [&'static str],
}

const DEFAULT_SIZE: usize = 100;
const LARGEST_SIZE: usize = 65_500;

/// What a request asks of a list.
pub(super) struct ListQuery {
    page: usize,
    size: usize,
    search: Option<Expression>,
    order: Vec<(String, bool)>,
    fields: Vec<String>,
}

impl ListQuery {
    /// Reads the text after `?`.
    pub(super) fn parse(query: &str, columns: &Columns) -> Result<Self, ServiceError> {
        let mut parsed = Self { page: 1, size: DEFAULT_SIZE, search: None, order: Vec::new(), fields: Vec::new() };
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8_lossy();
            let value = value.trim();
            match name {
                // A page that is no number, or is before the first, is the first one.
                "page" => parsed.page = value.parse().unwrap_or(1).max(1),
                "size" => parsed.size = size(value),
                "search" if !value.is_empty() => {
                    let refused =
                        |reason: String| ServiceError::new(23, format!("Failed to parse search query: {reason}"));
                    parsed.search = Some(search::parse(value, columns).map_err(refused)?);
                }
                "orderBy" if !value.is_empty() => parsed.order = order(value, columns)?,
                "fields" => {
                    let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
                    parsed.fields = names.map(str::to_owned).collect();
                }
                _ => {}
            }
        }
        Ok(parsed)
    }

    /// Builds the list of the rows that the query asks for. Without an order, the last written row comes last.
    pub(super) fn answer<'a, R: Row + 'a>(
        &self,
        kind: &str,
        rows: impl Iterator<Item = &'a R>,
        document: impl Fn(&R) -> Value,
    ) -> Result<Value, ServiceError> {
        let mut found = Vec::new();
        for row in rows {
            let is_found = self.search.as_ref().map_or(Ok(Some(true)), |search| search.evaluate(row));
            if is_found.map_err(|reason| ServiceError::new(23, format!("Failed to parse search query: {reason}")))?
                == Some(true)
            {
                found.push(row);
            }
        }
        found.sort_by_key(|row| row.written());
        found.sort_by(|left, right| self.compare(*left, *right));
        let total = found.len();
        let first = (self.page - 1).saturating_mul(self.size);
        let items: Vec<Value> =
            found.into_iter().skip(first).take(self.size).map(|row| self.project(document(row))).collect();
        Ok(json!({ "kind": kind, "page": self.page, "size": items.len(), "total": total, "items": items }))
    }

    fn compare<R: Row>(&self, left: &R, right: &R) -> Ordering {
        let compare = |(column, is_descending): &(String, bool)| {
            let order = left.cell(column).order(&right.cell(column));
            if *is_descending { order.reverse() } else { order }
        };
        self.order.iter().map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn project(&self, document: Value) -> Value {
        match document {
            Value::Object(members) if !self.fields.is_empty() => {
                let is_asked = |name: &str| name == "id" || self.fields.iter().any(|field| field == name);
                Value::Object(members.into_iter().filter(|(name, _)| is_asked(name)).collect::<Map<_, _>>())
            }
            other => other,
        }
    }
}

/// The size of a page: too large and negative ones become the largest, zero only counts.
fn size(value: &str) -> usize {
    match value.parse::<i64>() {
        Ok(size) => usize::try_from(size).map_or(LARGEST_SIZE, |size| size.min(LARGEST_SIZE)),
        Err(_) => DEFAULT_SIZE,
    }
}

fn order(value: &str, columns: &Columns) -> Result<Vec<(String, bool)>, ServiceError> {
    let refused = |term: &str| ServiceError::new(21, format!("bad order value '{term}'"));
    let term = |term: &str| {
        let mut words = term.split_whitespace();
        let column = words.next().filter(|column| columns.plain.contains(column)).ok_or_else(|| refused(term))?;
        let is_descending = match (words.next(), words.next()) {
            (None | Some("asc"), None) => false,
            (Some("desc"), None) => true,
            _ => return Err(refused(term)),
        };
        Ok((column.to_owned(), is_descending))
    };
    value.split(',').map(term).collect()
}

impl Cell<'_> {
    /// The order of rows: as PostgreSQL has it, a missing value is the greatest.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Greater,
            (_, Self::Null) => Ordering::Less,
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::Number(left), Self::Number(right)) => left.cmp(right),
            (Self::Time(left), Self::Time(right)) => left.cmp(right),
            // One column has one type.
            (Self::Text(_) | Self::Number(_) | Self::Time(_), _) => Ordering::Equal,
        }
    }
}
