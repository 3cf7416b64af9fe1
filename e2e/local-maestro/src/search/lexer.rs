//! The words and signs of a search.

/// One word or sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword, as written.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// A whole number.
    Number(i64),
    /// An operator, a parenthesis or a comma.
    Sign(&'static str),
}

/// Longer signs first.
const SIGNS: [&str; 13] = ["->>", "->", "@>", "<>", "<=", ">=", "!=", "=", "<", ">", "(", ")", ","];

/// Splits a search; `Err` names what no token begins with.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            (Token::Sign(sign), &rest[sign.len()..])
        } else if first == '\'' {
            quoted(&rest[1..])?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let (word, after) = split(rest, |character| character.is_ascii_alphanumeric() || "_.".contains(character));
            (Token::Word(word.to_owned()), after)
        } else if first.is_ascii_digit() {
            let (number, after) = split(rest, |character| character.is_ascii_digit());
            (Token::Number(number.parse().map_err(|_| format!("{number} is too large"))?), after)
        } else {
            return Err(format!("unexpected {first:?}"));
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|character| !belongs(character)).unwrap_or(text.len()))
}

/// A quoted text, behind its first quote. A backslash takes the meaning from a quote.
fn quoted(text: &str) -> Result<(Token, &str), String> {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => return Ok((Token::Text(value), characters.as_str())),
            '\\' if characters.as_str().starts_with('\'') => {
                characters.next();
                value.push('\'');
            }
            other => value.push(other),
        }
    }
    Err("a quote is not closed".to_owned())
}
