//! The structure of a search.
//!
//! In: the words. Out: the tree. Fails: at the first word that does not fit. Never looks back, so its time grows with
//! the number of words only.

use super::field::{Field, Operator};
use super::lexer::{Keyword, Kind, Token};
use super::{Node, SearchError, Test, Value};

/// The most parentheses and `not`s around a test: reading and evaluating a tree take stack for each level.
pub(super) const DEEPEST: usize = 64;

/// Reads a whole search.
pub(super) fn parse(tokens: Vec<Token>) -> Result<Node, SearchError> {
    let end = Token { kind: Kind::End, at: tokens.last().map_or(1, |last| last.at) };
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end };
    let node = parser.any(0)?;
    let rest = parser.next();
    match rest.kind {
        Kind::End => Ok(node),
        Kind::Mark(')') => Err(SearchError::new(rest.at, "`)` closes nothing, so remove it or add a `(`")),
        _ => Err(SearchError::new(rest.at, "the test before has ended, so join this one with `and` or `or`")),
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    end: Token,
}

impl Parser {
    fn next(&mut self) -> Token {
        self.tokens.next().unwrap_or_else(|| self.end.clone())
    }

    fn at(&mut self) -> usize {
        self.tokens.peek().unwrap_or(&self.end).at
    }

    /// Takes the next word if it is this one.
    fn takes(&mut self, kind: &Kind) -> bool {
        self.tokens.next_if(|token| token.kind == *kind).is_some()
    }

    fn takes_keyword(&mut self, keyword: Keyword) -> bool {
        self.takes(&Kind::Keyword(keyword))
    }

    fn expect(&mut self, kind: &Kind, problem: &str) -> Result<(), SearchError> {
        let at = self.at();
        if self.takes(kind) { Ok(()) } else { Err(SearchError::new(at, problem)) }
    }

    fn any(&mut self, depth: usize) -> Result<Node, SearchError> {
        let first = self.all(depth)?;
        let mut nodes = vec![first];
        while self.takes_keyword(Keyword::Or) {
            nodes.push(self.all(depth)?);
        }
        Ok(single_or(nodes, Node::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Node, SearchError> {
        let first = self.one(depth)?;
        let mut nodes = vec![first];
        while self.takes_keyword(Keyword::And) {
            nodes.push(self.one(depth)?);
        }
        Ok(single_or(nodes, Node::All))
    }

    fn one(&mut self, depth: usize) -> Result<Node, SearchError> {
        let token = self.next();
        if depth > DEEPEST {
            let problem = format!("more than {DEEPEST} parentheses and `not`s stand around this, so simplify it");
            return Err(SearchError::new(token.at, problem));
        }
        match token.kind {
            Kind::Keyword(Keyword::Not) => {
                let node = self.one(depth + 1)?;
                negate(node, token.at)
            }
            Kind::Mark('(') => {
                let node = self.any(depth + 1)?;
                self.expect(&Kind::Mark(')'), "a parenthesis is not closed, so add `)`")?;
                Ok(node)
            }
            Kind::Field(segments) => {
                let field = Field::find(segments).map_err(|problem| SearchError::new(token.at, problem))?;
                self.test(field)
            }
            _ => Err(SearchError::new(token.at, "a test begins with a field, so name one, such as name = 'a'")),
        }
    }

    fn test(&mut self, field: Field) -> Result<Node, SearchError> {
        let begin = self.at();
        let negated = self.takes_keyword(Keyword::Not);
        let token = self.next();
        let (operator, at) = (operator(&token, negated)?, token.at);
        field.check(operator).map_err(|problem| SearchError::new(at, problem))?;
        let test = match operator {
            Operator::Compare(comparison) => Test::Compare(comparison, self.value(&field, operator)?),
            Operator::In => Test::In(self.values(&field)?),
            Operator::Between => {
                let low = self.value(&field, operator)?;
                self.expect(&Kind::Keyword(Keyword::And), "between needs two values, so write `and` and the second")?;
                Test::Between(low.clone(), self.value_like(&field, operator, &low)?)
            }
            Operator::Like => Test::Like(self.pattern()?),
            Operator::Ilike => Test::Ilike(self.pattern()?),
            Operator::Null => {
                let negated = self.takes_keyword(Keyword::Not);
                self.expect(&Kind::Keyword(Keyword::Null), "after `is` stands `null` or `not null`, so write it")?;
                if negated { Test::NotNull } else { Test::Null }
            }
        };
        let node = Node::Test(field, test);
        if negated { negate(node, begin) } else { Ok(node) }
    }

    fn value(&mut self, field: &Field, operator: Operator) -> Result<Value, SearchError> {
        let Token { kind, at } = self.next();
        field.value(operator, kind).map_err(|problem| SearchError::new(at, problem))
    }

    /// Reads a value of the same type as another one. Only a field of the spec is compared with several types.
    fn value_like(&mut self, field: &Field, operator: Operator, other: &Value) -> Result<Value, SearchError> {
        let at = self.at();
        let value = self.value(field, operator)?;
        if std::mem::discriminant(&value) == std::mem::discriminant(other) {
            Ok(value)
        } else {
            Err(SearchError::new(at, "the value before is of another type, so write all of them alike"))
        }
    }

    fn values(&mut self, field: &Field) -> Result<Vec<Value>, SearchError> {
        self.expect(&Kind::Mark('['), "after `in` stands a list, so write one, such as ['a', 'b']")?;
        let first = self.value(field, Operator::In)?;
        let mut values = vec![first.clone()];
        while self.takes(&Kind::Mark(',')) {
            values.push(self.value_like(field, Operator::In, &first)?);
        }
        self.expect(&Kind::Mark(']'), "a list is not closed, so add `]`, or a comma before the next value")?;
        Ok(values)
    }

    fn pattern(&mut self) -> Result<String, SearchError> {
        let Token { kind, at } = self.next();
        let Kind::Text(pattern) = kind else {
            return Err(SearchError::new(at, "a pattern is a string in single quotes, so write one, such as 'a%'"));
        };
        let backslashes = pattern.len() - pattern.trim_end_matches('\\').len();
        if backslashes % 2 == 1 {
            return Err(SearchError::new(at, "the backslash at the pattern's end escapes nothing, so double it"));
        }
        Ok(pattern)
    }
}

fn operator(token: &Token, negated: bool) -> Result<Operator, SearchError> {
    match token.kind {
        Kind::Keyword(Keyword::In) => Ok(Operator::In),
        Kind::Keyword(Keyword::Between) => Ok(Operator::Between),
        Kind::Keyword(Keyword::Like) => Ok(Operator::Like),
        Kind::Keyword(Keyword::Ilike) => Ok(Operator::Ilike),
        _ if negated => {
            let problem = "`not` after a field negates in, between, like or ilike, so write one of them after it";
            Err(SearchError::new(token.at, problem))
        }
        Kind::Comparison(comparison) => Ok(Operator::Compare(comparison)),
        Kind::Keyword(Keyword::Is) => Ok(Operator::Null),
        _ => Err(SearchError::new(token.at, "after a field stands an operator, so write one, such as = or in")),
    }
}

fn negate(node: Node, at: usize) -> Result<Node, SearchError> {
    match unnegatable(&node) {
        None => Ok(Node::Not(Box::new(node))),
        Some(field) => {
            let problem = format!("`not` does not apply to a test of {field}, so write the opposite test");
            Err(SearchError::new(at, problem))
        }
    }
}

/// The first field in a tree to which `not` does not apply.
fn unnegatable(node: &Node) -> Option<&Field> {
    match node {
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().find_map(unnegatable),
        // Checked when the inner `not` was read.
        Node::Not(_) => None,
        Node::Test(field, _) => (!field.may_be_negated()).then_some(field),
    }
}

fn single_or(mut nodes: Vec<Node>, several: fn(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        last => {
            nodes.extend(last);
            several(nodes)
        }
    }
}
