//! Searches: a condition in SQL's manner, with SQL's third truth value.
//!
//! In: the text of the parameter `search`. Out: an [`Expression`], which is true, false or unknown (`None`) of a row.
//! Fails: with the text behind `Failed to parse search query: `.
//!
//! The real server has two parsers. A text with `->>` or `@>` goes to the one that knows JSON, which knows less of the
//! rest: no `!=`, no `is null`, no `not (…)`, and ten logical operators at most.

mod lexer;
mod parser;

use jiff::Timestamp;
use serde_json::Value;

use crate::rest::Columns;

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    /// There is no value.
    Null,
    /// A text.
    Text(&'a str),
    /// A number.
    Number(i64),
    /// A time.
    Time(Timestamp),
}

/// A row that can be searched.
pub(crate) trait Row {
    /// The value of a plain column.
    fn cell(&self, column: &str) -> Cell<'_>;
    /// A member of a column of JSON.
    fn member(&self, column: &str, steps: &[String]) -> Option<&Value>;
    /// Orders rows by their last write.
    fn written(&self) -> u64;
}

/// A condition on rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Compare { operand: Operand, operator: Operator, value: Literal },
    In { operand: Operand, values: Vec<Literal>, is_negated: bool },
    IsNull { operand: Operand, is_negated: bool },
    Contains { column: String, steps: Vec<String>, value: Value },
}

/// What is compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    /// A plain column.
    Column(String),
    /// A member of a column of JSON, as text.
    Member {
        /// The column.
        column: String,
        /// The way to the member.
        steps: Vec<String>,
    },
}

/// How values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    LikeAnyCase,
}

/// A value in a search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    Number(i64),
    Null,
}

/// Reads a search.
pub(crate) fn parse(text: &str, columns: &Columns) -> Result<Expression, String> {
    let is_json = text.contains("->>") || text.contains("@>");
    parser::parse(&lexer::tokens(text)?, columns, is_json)
}

impl Expression {
    /// Says whether a row is found; `None` is SQL's unknown, by which no row is found.
    pub(crate) fn evaluate(&self, row: &impl Row) -> Result<Option<bool>, String> {
        Ok(match self {
            Self::And(left, right) => match (left.evaluate(row)?, right.evaluate(row)?) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(left, right) => match (left.evaluate(row)?, right.evaluate(row)?) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::Not(inner) => inner.evaluate(row)?.map(|value| !value),
            Self::Compare { operand, operator, value } => operand.compare(row, *operator, value)?,
            Self::In { operand, values, is_negated } => {
                let mut found = Some(false);
                for value in values {
                    match operand.compare(row, Operator::Equal, value)? {
                        Some(true) => found = Some(true),
                        None if found != Some(true) => found = None,
                        _ => {}
                    }
                }
                found.map(|found| found != *is_negated)
            }
            Self::IsNull { operand, is_negated } => Some(operand.is_null(row) != *is_negated),
            Self::Contains { column, steps, value } => row.member(column, steps).map(|found| contains(found, value)),
        })
    }
}

impl Operand {
    fn is_null(&self, row: &impl Row) -> bool {
        match self {
            Self::Column(column) => row.cell(column) == Cell::Null,
            Self::Member { column, steps } => row.member(column, steps).is_none_or(Value::is_null),
        }
    }

    fn compare(&self, row: &impl Row, operator: Operator, value: &Literal) -> Result<Option<bool>, String> {
        // The real client asks with `<>null` for labels that exist.
        if *value == Literal::Null {
            return Ok(match operator {
                Operator::Unequal => Some(!self.is_null(row)),
                _ => None,
            });
        }
        let member;
        let cell = match self {
            Self::Column(column) => row.cell(column),
            Self::Member { column, steps } => match row.member(column, steps) {
                None | Some(Value::Null) => Cell::Null,
                Some(Value::String(text)) => Cell::Text(text),
                Some(other) => {
                    member = other.to_string();
                    Cell::Text(&member)
                }
            },
        };
        Ok(match (cell, value) {
            (Cell::Null, _) | (_, Literal::Null) => None,
            (Cell::Text(left), Literal::Text(right)) => Some(operator.holds_of_text(left, right)?),
            (Cell::Text(left), Literal::Number(right)) => Some(operator.holds_of_text(left, &right.to_string())?),
            (Cell::Number(left), Literal::Number(right)) => Some(operator.holds(&left, right)?),
            (Cell::Number(left), Literal::Text(right)) => {
                let right = right.parse().map_err(|_| format!("{right:?} is no number"))?;
                Some(operator.holds(&left, &right)?)
            }
            (Cell::Time(left), Literal::Text(right)) => {
                let right = right.parse().map_err(|_| format!("{right:?} is no time"))?;
                Some(operator.holds(&left, &right)?)
            }
            (Cell::Time(_), Literal::Number(right)) => return Err(format!("{right} is no time")),
        })
    }
}

impl Operator {
    fn holds<T: Ord>(self, left: &T, right: &T) -> Result<bool, String> {
        Ok(match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Like | Self::LikeAnyCase => return Err("like needs a column of text".to_owned()),
        })
    }

    fn holds_of_text(self, left: &str, right: &str) -> Result<bool, String> {
        match self {
            Self::Like => Ok(is_like(left, right)),
            Self::LikeAnyCase => Ok(is_like(&left.to_lowercase(), &right.to_lowercase())),
            _ => self.holds(&left, &right),
        }
    }
}

/// `%` stands for any text, `_` for one character.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut characters = pattern.chars();
    match characters.next() {
        None => text.is_empty(),
        Some('%') => {
            let rest = characters.as_str();
            text.char_indices().map(|(index, _)| index).chain([text.len()]).any(|index| is_like(&text[index..], rest))
        }
        Some(wanted) => {
            let mut left = text.chars();
            left.next().is_some_and(|found| wanted == '_' || wanted == found)
                && is_like(left.as_str(), characters.as_str())
        }
    }
}

/// PostgreSQL's `@>`: every member and item of `part` is in `whole`.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|found| contains(found, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            part.iter().all(|value| whole.iter().any(|found| contains(found, value)))
        }
        (whole, part) => whole == part,
    }
}
