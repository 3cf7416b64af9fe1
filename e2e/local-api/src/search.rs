//! The search language of lists, such as `kind = 'Cluster' and labels.env in ['dev', 'test']`.
//!
//! In: the text of the parameter `search`. Out: an [`Expression`], which writes itself as an SQL condition with bind
//! parameters. Fails: with a [`SearchError`], which names the character and the cure. Pure: the caller runs the SQL.
//!
//! ```text
//! any   = all { "or" all }
//! all   = one { "and" one }
//! one   = "not" one | "(" any ")" | field test
//! test  = ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value | "is" [ "not" ] "null"
//!       | [ "not" ] ( "in" "[" value { "," value } "]" | "between" value "and" value | ( "like" | "ilike" ) string )
//! value = string | number | time | "true" | "false"
//! ```
//!
//! Keywords have any case. A string stands in single quotes, and `''` in it is one quote. A field is a column, or
//! `labels.<key>`, `spec.<path>`, `status.conditions.<Type>` or `status.conditions.<Type>.<field>`. Each segment of a
//! field may be quoted, which is needed for characters other than letters, digits, `_`, `-` and `/`, or for a dot in a
//! segment of a spec path. A label's key has no segments, so `labels.app.kubernetes.io/name` and
//! `labels.'app.kubernetes.io/name'` are the same.
//!
//! The logic is SQL's: a comparison with a value that does not exist is neither true nor false, so neither
//! `spec.size = 3` nor `not spec.size = 3` finds a resource without a size. In a comparison with a number, a stored
//! string of digits counts as a number, and every other stored value that is not a number counts as missing.

mod field;
mod lexer;
mod parser;
mod sql;

use sqlx::{Postgres, QueryBuilder};

use field::Field;
pub(crate) use field::{COLUMNS, Column};

/// The most characters of a search.
const LONGEST: usize = 4096;

/// A search: a condition on resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(Node);

/// The reason why a text is not a search.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("character {position} of the search: {problem}")]
pub struct SearchError {
    position: usize,
    problem: String,
}

/// Reads a search.
pub fn parse(text: &str) -> Result<Expression, SearchError> {
    if text.chars().nth(LONGEST).is_some() {
        let problem = format!("a search has at most {LONGEST} characters, so split it");
        return Err(SearchError::new(LONGEST + 1, problem));
    }
    parser::parse(lexer::tokens(text)?).map(Expression)
}

impl Expression {
    /// Appends the search to an SQL statement, as a condition in parentheses on the row `r` of `resources`.
    ///
    /// Searches differ in their SQL, so run the statement with `persistent(false)`: a prepared one is seldom reused.
    pub fn push(&self, query: &mut QueryBuilder<Postgres>) {
        sql::push(&self.0, query);
    }
}

impl SearchError {
    fn new(position: usize, problem: impl Into<String>) -> Self {
        Self { position, problem: problem.into() }
    }

    /// The character of the search at which reading stopped; the first is 1.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }
}

/// A node of the tree that a search is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Test(Field, Test),
}

/// What a field is tested for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Compare(Comparison, Value),
    In(Vec<Value>),
    Between(Value, Value),
    Like(String),
    Ilike(String),
    Null,
    NotNull,
}

/// The six comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value of the type that a field is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    /// Digits with an optional sign and fraction: PostgreSQL reads them without loss.
    Number(String),
    Integer(i32),
    Time(jiff::Timestamp),
}

impl Comparison {
    /// The operator, which the search language and SQL write alike.
    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

#[cfg(test)]
mod tests;
