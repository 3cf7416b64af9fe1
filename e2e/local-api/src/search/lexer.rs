//! The words of a search.
//!
//! In: the text. Out: its [`Token`]s, the last of which is [`Kind::End`]. Fails: at a character that begins no word.
//! One idea with [`field`](super::field), which says what a word may be compared with, and reads times for both.

use super::{Comparison, SearchError};

/// A word, and the place of its first character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Counted in characters from 1.
    pub(super) at: usize,
}

/// What a word is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Keyword(Keyword),
    /// The segments of a field, without dots and quotes.
    Field(Vec<String>),
    /// A string without its quotes, or a time.
    Text(String),
    /// Digits with an optional sign and fraction.
    Number(String),
    Comparison(Comparison),
    /// A parenthesis, a bracket or a comma.
    Mark(char),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    And,
    Or,
    Not,
    In,
    Between,
    Like,
    Ilike,
    Is,
    Null,
    True,
    False,
}

const KEYWORDS: [(&str, Keyword); 11] = [
    ("and", Keyword::And),
    ("or", Keyword::Or),
    ("not", Keyword::Not),
    ("in", Keyword::In),
    ("between", Keyword::Between),
    ("like", Keyword::Like),
    ("ilike", Keyword::Ilike),
    ("is", Keyword::Is),
    ("null", Keyword::Null),
    ("true", Keyword::True),
    ("false", Keyword::False),
];

/// Splits a search into its words.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SearchError> {
    let mut lexer = Lexer { rest: text, at: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.run(char::is_whitespace);
        let at = lexer.at;
        let kind = lexer.next()?;
        let is_end = kind == Kind::End;
        tokens.push(Token { kind, at });
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Result<Kind, SearchError> {
        let at = self.at;
        let Some(first) = self.rest.chars().next() else { return Ok(Kind::End) };
        match first {
            '\'' => self.string().map(Kind::Text),
            '(' | ')' | '[' | ']' | ',' => {
                self.take(1);
                Ok(Kind::Mark(first))
            }
            '=' | '!' | '<' | '>' => self.comparison(),
            _ if first.is_ascii_alphabetic() || first == '_' => self.field_or_keyword(),
            _ if first.is_ascii_digit() || first == '-' => self.number_or_time(),
            '"' => Err(SearchError::new(at, "a string stands in single quotes, so replace the double quotes")),
            _ => Err(SearchError::new(at, format!("{first:?} begins no word, so remove or quote it"))),
        }
    }

    /// Takes this many bytes, all of one-byte characters.
    fn take(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.at += bytes;
    }

    /// Takes the characters up to the first that is not wanted.
    fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|character| !wanted(character)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.at += run.chars().count();
        run
    }

    fn string(&mut self) -> Result<String, SearchError> {
        let begin = self.at;
        let mut string = String::new();
        self.take(1);
        loop {
            string.push_str(self.run(|character| character != '\'' && character != '\0'));
            if self.rest.starts_with("''") {
                string.push('\'');
                self.take(2);
            } else if self.rest.starts_with('\'') {
                self.take(1);
                return Ok(string);
            } else if self.rest.starts_with('\0') {
                return Err(SearchError::new(self.at, "no stored text contains the character NUL, so remove it"));
            } else {
                return Err(SearchError::new(begin, "the string does not end, so add a single quote"));
            }
        }
    }

    fn comparison(&mut self) -> Result<Kind, SearchError> {
        // The longer symbols first, because `<` also begins `<=`.
        let all = [
            Comparison::LessOrEqual,
            Comparison::GreaterOrEqual,
            Comparison::NotEqual,
            Comparison::Equal,
            Comparison::Less,
            Comparison::Greater,
        ];
        match all.into_iter().find(|comparison| self.rest.starts_with(comparison.symbol())) {
            Some(comparison) => {
                self.take(comparison.symbol().len());
                Ok(Kind::Comparison(comparison))
            }
            None => Err(SearchError::new(self.at, "`!` alone is no operator, so write `!=` or `not`")),
        }
    }

    fn field_or_keyword(&mut self) -> Result<Kind, SearchError> {
        let segment = |character: char| character.is_ascii_alphanumeric() || "_-/".contains(character);
        let first = self.run(segment);
        if !self.rest.starts_with('.') {
            let keyword = KEYWORDS.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(first));
            return Ok(keyword.map_or_else(|| Kind::Field(vec![first.to_owned()]), |(_, word)| Kind::Keyword(word)));
        }
        let mut segments = vec![first.to_owned()];
        while self.rest.starts_with('.') {
            self.take(1);
            let at = self.at;
            let next = if self.rest.starts_with('\'') { self.string()? } else { self.run(segment).to_owned() };
            if next.is_empty() {
                return Err(SearchError::new(at, "a segment of the field is empty, so write or quote its name"));
            }
            segments.push(next);
        }
        Ok(Kind::Field(segments))
    }

    fn number_or_time(&mut self) -> Result<Kind, SearchError> {
        let at = self.at;
        let word = self.run(|character| character.is_ascii_alphanumeric() || "+-.:".contains(character));
        if is_number(word) {
            Ok(Kind::Number(word.to_owned()))
        } else if super::field::time(word).is_some() {
            Ok(Kind::Text(word.to_owned()))
        } else {
            let problem = format!("`{word}` is neither a number such as 1.5 nor a time, so correct or quote it");
            Err(SearchError::new(at, problem))
        }
    }
}

fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    digits(whole) && digits(fraction)
}
