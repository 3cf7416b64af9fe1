//! Parses the JSON path of `kubectl`.
//!
//! In: text with steps in braces. Out: blocks of steps. Fails as client-go does. Does not check whether the
//! steps can be evaluated.

use serde_json::Value;

use super::{Block, FieldPathError, Filter, Slice, Step};

type Parsed<T> = Result<T, FieldPathError>;

/// The limit of nested filters, unions and ranges; each level is one recursive call.
const MAX_DEPTH: usize = 32;

/// Parses a path that begins with a brace, such as `{.a.b}` or `{range .a}{.b}{end}`, to blocks.
pub(super) fn template(text: &str) -> Parsed<Vec<Block>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let Some(brace) = rest.find('{') else {
            if !rest.is_empty() {
                parts.push(Block::Text(rest.to_owned()));
            }
            break;
        };
        if brace > 0 {
            parts.push(Block::Text(rest[..brace].to_owned()));
        }
        let mut parser = Parser { input: &rest[brace + 1..], position: 0, depth: 0 };
        let steps = parser.action()?;
        parts.push(Block::Steps(steps));
        rest = &parser.input[parser.position..];
    }
    let mut parts = parts.into_iter().peekable();
    nest(&mut parts, 0)
}

/// Moves the blocks between `{range …}` and `{end}` into one block.
///
/// A surplus `{end}` remains a word without meaning: the path loads, and finds nothing.
fn nest(parts: &mut std::iter::Peekable<std::vec::IntoIter<Block>>, depth: usize) -> Parsed<Vec<Block>> {
    if depth > MAX_DEPTH {
        return Err(error("nested too deeply"));
    }
    let mut blocks = Vec::new();
    while let Some(part) = parts.next() {
        match part {
            Block::Steps(mut steps) if is_word(steps.first(), "range") => {
                steps.remove(0);
                blocks.push(Block::Range(steps, nest(parts, depth + 1)?));
            }
            Block::Steps(steps) if depth > 0 && is_word(steps.first(), "end") => {
                return Ok(blocks);
            }
            part @ (Block::Text(_) | Block::Steps(_) | Block::Range(..)) => blocks.push(part),
        }
    }
    Ok(blocks)
}

fn is_word(step: Option<&Step>, word: &str) -> bool {
    matches!(step, Some(Step::Identifier(name)) if name == word)
}

fn error(message: impl Into<String>) -> FieldPathError {
    FieldPathError(message.into())
}

struct Parser<'text> {
    input: &'text str,
    position: usize,
    depth: usize,
}

impl<'text> Parser<'text> {
    /// Parses the steps after an opening brace, and consumes the closing one.
    fn action(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with('}') {
                self.position += 1;
                return Ok(steps);
            }
            if let Some(filter) = rest.strip_prefix("[?(") {
                self.position += rest.len() - filter.len();
                steps.push(self.filter()?);
                continue;
            }
            if rest.starts_with("..") {
                self.recursive(&mut steps)?;
                continue;
            }
            let start = self.position;
            match self.next() {
                None | Some('\n' | '\r') => return Err(error("unclosed action")),
                Some(' ' | '@' | '$') => {}
                Some('[') => self.brackets(start, &mut steps)?,
                Some(quote @ ('"' | '\'')) => steps.push(Step::Text(self.quoted(start, quote)?)),
                Some('.') => steps.push(self.field()),
                Some(sign) if sign == '+' || sign == '-' || sign.is_ascii_digit() => steps.push(self.number(start)?),
                Some(letter) if is_word_character(letter) => steps.push(self.word(start)),
                Some(other) => return Err(error(format!("unrecognized character in action: {other:?}"))),
            }
        }
    }

    fn rest(&self) -> &'text str {
        &self.input[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.position += next.map_or(0, char::len_utf8);
        next
    }

    /// Parses the inner text of a filter or union.
    fn inner(&self, text: &str) -> Parsed<Vec<Step>> {
        if self.depth >= MAX_DEPTH {
            return Err(error("nested too deeply"));
        }
        let text = format!("{text}}}");
        Parser { input: &text, position: 0, depth: self.depth + 1 }.action()
    }

    fn recursive(&mut self, steps: &mut Vec<Step>) -> Parsed<()> {
        if matches!(steps.last(), Some(Step::Recursive)) {
            return Err(error("invalid multiple recursive descent"));
        }
        self.position += 2;
        steps.push(Step::Recursive);
        if self.peek().is_some_and(is_word_character) {
            steps.push(self.field());
        }
        Ok(())
    }

    /// Parses a name up to the next terminator; a backslash makes the next character part of the name.
    fn field(&mut self) -> Step {
        let mut name = String::new();
        while let Some(next) = self.peek() {
            if next == '\\' {
                self.next();
                // client-go drops a backslash that follows a backslash.
                name.extend(self.next().filter(|escaped| *escaped != '\\'));
            } else if is_terminator(next) {
                break;
            } else {
                name.push(next);
                self.next();
            }
        }
        if name == "*" { Step::Wildcard } else { Step::Field(name) }
    }

    fn word(&mut self, start: usize) -> Step {
        while self.peek().is_some_and(|next| !is_terminator(next)) {
            self.next();
        }
        match &self.input[start..self.position] {
            "true" => Step::Literal(Value::Bool(true)),
            "false" => Step::Literal(Value::Bool(false)),
            word => Step::Identifier(word.to_owned()),
        }
    }

    fn number(&mut self, start: usize) -> Parsed<Step> {
        while self.peek().is_some_and(|next| next == '.' || next.is_ascii_digit()) {
            self.next();
        }
        let text = &self.input[start..self.position];
        let number = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from));
        number.map(Step::Literal).map_err(|_| error(format!("cannot parse number {text}")))
    }

    fn quoted(&mut self, start: usize, quote: char) -> Parsed<String> {
        loop {
            match self.next() {
                None | Some('\n') => return Err(error("unterminated quoted string")),
                Some(next) if next == quote && !self.input[..self.position - 1].ends_with('\\') => break,
                Some(_) => {}
            }
        }
        let text = &self.input[start + 1..self.position - 1];
        unescape(text, quote).ok_or_else(|| error(format!("cannot unquote string {quote}{text}{quote}")))
    }

    fn brackets(&mut self, start: usize, steps: &mut Vec<Step>) -> Parsed<()> {
        loop {
            match self.next() {
                None | Some('\n') => return Err(error("unterminated array")),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let text = &self.input[start + 1..self.position - 1];
        if text.contains(',') {
            let branches = text.split(',').map(|branch| self.inner(&format!("[{}]", branch.trim_matches(' '))));
            steps.push(Step::Union(branches.collect::<Parsed<_>>()?));
            return Ok(());
        }
        if let Some(key) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''))
            && !key.contains('\'')
        {
            steps.extend(self.inner(&format!(".{key}"))?);
            return Ok(());
        }
        steps.push(Step::Slice(slice(if text == "*" { ":" } else { text })?));
        Ok(())
    }

    fn filter(&mut self) -> Parsed<Step> {
        let start = self.position;
        let mut quote = None;
        let mut closed = false;
        loop {
            match self.next() {
                None | Some('\n') => return Err(error("unterminated filter")),
                Some(next @ ('"' | '\'')) => match quote {
                    None => quote = Some(next),
                    Some(pair) => {
                        closed |= next == pair && !self.input[..self.position - 1].ends_with('\\');
                    }
                },
                Some(')') if quote.is_some() == closed => break,
                Some(_) => {}
            }
        }
        if self.next() != Some(']') {
            return Err(error("unclosed array expect ]"));
        }
        let text = &self.input[start..self.position - 2];
        let is_operator = |character: char| matches!(character, '!' | '<' | '>' | '=');
        let Some(left) = text.find(is_operator).filter(|left| *left > 0) else {
            return Ok(Step::Filter(Filter::Exists(self.inner(text)?)));
        };
        let operator = text[left..].chars().take_while(|next| is_operator(*next)).count();
        // client-go reads a single operator character without a right side as part of the path.
        if text.len() == left + operator && operator == 1 {
            return Ok(Step::Filter(Filter::Exists(self.inner(text)?)));
        }
        let right = (left + operator).min(text.len() - 1);
        Ok(Step::Filter(Filter::Compare {
            left: self.inner(&text[..left])?,
            operator: text[left..right].to_owned(),
            right: self.inner(&text[right..])?,
        }))
    }
}

/// Parses `start:end:step`, each optional, or an index.
fn slice(text: &str) -> Parsed<Slice> {
    let invalid = || error(format!("invalid array index {text}"));
    let number = |part: &str| match part {
        "" => Ok(None),
        part if part.trim_start_matches('-').bytes().all(|digit| digit.is_ascii_digit()) => {
            part.parse::<i32>().map(|number| Some(i64::from(number))).map_err(|_| invalid())
        }
        _ => Err(invalid()),
    };
    let parts = text.split(':').map(number).collect::<Parsed<Vec<_>>>()?;
    match *parts.as_slice() {
        [start] => {
            let end = Some(start.unwrap_or(0) + 1);
            Ok(Slice { start, end, end_is_derived: true, step: None })
        }
        [start, end] => Ok(Slice { start, end, end_is_derived: false, step: None }),
        [start, end, step] => Ok(Slice { start, end, end_is_derived: false, step }),
        _ => Err(invalid()),
    }
}

/// Resolves the escapes of a Go string literal; of the quotes, only the enclosing one may be escaped.
fn unescape(text: &str, quote: char) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let next = characters.next()?;
        out.push(match next {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' => '\\',
            'x' => coded(&mut characters, 2)?,
            'u' => coded(&mut characters, 4)?,
            'U' => coded(&mut characters, 8)?,
            next if next == quote => quote,
            _ => return None,
        });
    }
    Some(out)
}

/// Reads a character by its code in hexadecimal.
fn coded(characters: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let mut code: u32 = 0;
    for _ in 0..digits {
        code = code.checked_mul(16)? + characters.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}

fn is_word_character(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn is_terminator(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}
