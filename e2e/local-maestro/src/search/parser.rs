//! The grammar of searches, in both dialects.

use super::lexer::Token;
use super::{Expression, Literal, Operand, Operator};
use crate::rest::Columns;

/// The most logical operators in the dialect with JSON.
const MOST_OPERATORS: usize = 10;

/// Reads all tokens as one condition.
pub(super) fn parse(tokens: &[Token], columns: &Columns, is_json: bool) -> Result<Expression, String> {
    let mut parser = Parser { tokens, columns, is_json, operators: 0 };
    let expression = parser.disjunction()?;
    match parser.tokens.first() {
        Some(token) => Err(format!("unexpected {token:?}")),
        None if is_json && parser.operators > MOST_OPERATORS => {
            Err(format!("maximum number of logical operators ({MOST_OPERATORS}) is exceeded"))
        }
        None => Ok(expression),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    columns: &'a Columns,
    is_json: bool,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Result<&'a Token, String> {
        let (first, rest) = self.tokens.split_first().ok_or("unexpected end")?;
        self.tokens = rest;
        Ok(first)
    }

    fn takes(&mut self, is_wanted: impl Fn(&Token) -> bool) -> bool {
        let is_next = self.tokens.first().is_some_and(is_wanted);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.takes(|token| matches!(token, Token::Word(found) if found.eq_ignore_ascii_case(word)))
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        self.takes(|token| matches!(token, Token::Sign(found) if *found == sign))
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), String> {
        if self.takes_sign(sign) { Ok(()) } else { Err(format!("expected {sign:?}")) }
    }

    fn disjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.conjunction()?;
        while self.takes_word("or") {
            self.operators += 1;
            left = Expression::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.condition()?;
        while self.takes_word("and") {
            self.operators += 1;
            left = Expression::And(Box::new(left), Box::new(self.condition()?));
        }
        Ok(left)
    }

    fn condition(&mut self) -> Result<Expression, String> {
        if !self.is_json && self.takes_word("not") {
            return Ok(Expression::Not(Box::new(self.condition()?)));
        }
        if self.takes_sign("(") {
            let inner = self.disjunction()?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        let column = match self.next()? {
            Token::Word(word) if self.is_json => word.to_lowercase(),
            Token::Word(word) => word.clone(),
            token => return Err(format!("expected a column instead of {token:?}")),
        };
        if self.columns.json.contains(&column.as_str()) && self.is_json {
            return self.member(column);
        }
        if !self.columns.plain.contains(&column.as_str()) {
            return Err(format!("{column:?} is not a valid column name"));
        }
        self.comparison(Operand::Column(column))
    }

    /// What follows a column of JSON.
    fn member(&mut self, column: String) -> Result<Expression, String> {
        let mut steps = Vec::new();
        loop {
            let is_last = match self.next()? {
                Token::Sign("@>") => {
                    let Token::Text(text) = self.next()? else { return Err("expected a quoted JSON value".to_owned()) };
                    let value = serde_json::from_str(text).map_err(|error| format!("{text:?} is no JSON: {error}"))?;
                    return Ok(Expression::Contains { column, steps, value });
                }
                Token::Sign("->") => false,
                Token::Sign("->>") => true,
                token => return Err(format!("unexpected {token:?}")),
            };
            let Token::Text(step) = self.next()? else { return Err("expected a quoted key".to_owned()) };
            steps.push(step.clone());
            if is_last {
                return self.comparison(Operand::Member { column, steps });
            }
        }
    }

    fn comparison(&mut self, operand: Operand) -> Result<Expression, String> {
        if self.takes_word("in") {
            return self.list(operand, false);
        }
        if self.takes_word("not") {
            return if self.takes_word("in") { self.list(operand, true) } else { Err("expected \"in\"".to_owned()) };
        }
        if !self.is_json && self.takes_word("is") {
            let is_negated = self.takes_word("not");
            return match self.takes_word("null") {
                true => Ok(Expression::IsNull { operand, is_negated }),
                false => Err("expected \"null\"".to_owned()),
            };
        }
        let operator = match self.next()? {
            Token::Sign("=") => Operator::Equal,
            Token::Sign("<>") if self.is_json => Operator::Unequal,
            Token::Sign("!=") if !self.is_json => Operator::Unequal,
            Token::Sign("<") => Operator::Less,
            Token::Sign("<=") => Operator::LessOrEqual,
            Token::Sign(">") => Operator::Greater,
            Token::Sign(">=") => Operator::GreaterOrEqual,
            Token::Word(word) if word.eq_ignore_ascii_case("like") => Operator::Like,
            Token::Word(word) if word.eq_ignore_ascii_case("ilike") => Operator::LikeAnyCase,
            token => return Err(format!("expected an operator instead of {token:?}")),
        };
        Ok(Expression::Compare { operand, operator, value: self.literal()? })
    }

    fn list(&mut self, operand: Operand, is_negated: bool) -> Result<Expression, String> {
        self.expect_sign("(")?;
        let mut values = vec![self.literal()?];
        while self.takes_sign(",") {
            values.push(self.literal()?);
        }
        self.expect_sign(")")?;
        Ok(Expression::In { operand, values, is_negated })
    }

    fn literal(&mut self) -> Result<Literal, String> {
        match self.next()? {
            Token::Text(text) => Ok(Literal::Text(text.clone())),
            Token::Number(number) => Ok(Literal::Number(*number)),
            Token::Word(word) if self.is_json && word.eq_ignore_ascii_case("null") => Ok(Literal::Null),
            token => Err(format!("expected a value instead of {token:?}")),
        }
    }
}
