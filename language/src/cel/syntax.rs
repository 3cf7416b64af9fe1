//! What the CEL parser's messages mean, in plain words.
//!
//! In goes the parser's message, out come what was found and what to write. A message that is not known here goes out as it
//! came: the words help, nothing is decided by them.

/// The fault of an expression that does not parse, and its cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The fault in plain words, such as an unexpected character.
    pub(super) found: String,
    /// The text or syntax to write instead, if there is one to name.
    pub(super) cure: Option<&'static str>,
}

fn fault(found: impl Into<String>, cure: &'static str) -> Option<Fault> {
    Some(Fault { found: found.into(), cure: Some(cure) })
}

/// Puts the parser's message about `source` into plain words.
pub(super) fn explain(message: &str, source: &str) -> Fault {
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    let known = template(&without_texts(source))
        .or_else(|| mismatched(message))
        .or_else(|| missing(message))
        .or_else(|| no_character(message))
        .or_else(|| part_or_literal(message));
    known.unwrap_or_else(|| Fault { found: message.to_owned(), cure: None })
}

fn template(code: &str) -> Option<Fault> {
    let cure = "write the variable alone: `clusterId` for `{{ .clusterId }}`";
    ["{{ .", "{{."].iter().find(|opening| code.contains(**opening))?;
    fault("a template stands where an expression is expected", cure)
}

/// The expression without what stands in quotes; a text that has no end is left out up to the end.
fn without_texts(source: &str) -> String {
    let mut code = String::new();
    let mut characters = source.chars();
    while let Some(character) = characters.next() {
        code.push(character);
        if matches!(character, '\'' | '"') {
            while let Some(quoted) = characters.next().filter(|next| *next != character) {
                if quoted == '\\' {
                    characters.next();
                }
            }
        }
    }
    code
}

const END: &str = "<EOF>";
const COMPLETE: &str = "write what is missing at the end, or remove the last operator or opening bracket";

/// A token that cannot stand where it stands.
fn mismatched(message: &str) -> Option<Fault> {
    let kinds = ["mismatched input ", "extraneous input ", "no viable alternative at input "];
    let token = kinds.iter().find_map(|kind| message.strip_prefix(kind))?;
    let (token, expected) = token.split_once(" expecting ").unwrap_or((token, ""));
    let token = unquoted(token);
    if token.ends_with(END) {
        return fault("the expression ends too early", COMPLETE);
    }
    let last = token.split_whitespace().last().unwrap_or(token);
    if token.starts_with('.') {
        let found = format!("found `{last}` where the name of a field is expected");
        return fault(found, "write the field after the dot, or remove the dot");
    }
    // What may follow a value are operators and closing brackets; what may begin one are brackets and literals.
    let wants_value = expected.contains("IDENTIFIER") && !expected.contains("'=='");
    let (wanted, cure) = if wants_value {
        ("a value", "write a variable, a literal or a call there")
    } else {
        ("an operator or the end", "join two values by an operator such as `&&`, and close each bracket once")
    };
    fault(format!("found `{last}` where {wanted} is expected"), cure)
}

/// A token that has to stand before another one.
fn missing(message: &str) -> Option<Fault> {
    let (wanted, at) = message.strip_prefix("missing ")?.split_once(" at ")?;
    let (wanted, at) = (unquoted(wanted), unquoted(at));
    let place = if at == END { "at the end".to_owned() } else { format!("before `{at}`") };
    let cure = match wanted {
        ")" | "]" | "}" => "close each bracket that is open",
        ":" => COLON,
        _ => "add it",
    };
    fault(format!("`{wanted}` is missing {place}"), cure)
}

/// Text that is no part of any expression.
fn no_character(message: &str) -> Option<Fault> {
    let found = unquoted(message.strip_prefix("token recognition error at: ")?).trim_end();
    let mut shown: String = found.chars().take(QUOTED).collect();
    if shown.len() < found.len() {
        shown.push('…');
    }
    if found.contains('\\') {
        return fault(format!("{shown} holds a `\\` that stands for nothing"), BACKSLASH);
    }
    let cure = match found.chars().next() {
        Some('\'' | '"') => {
            return fault(format!("the text {shown} has no end"), "end the text with the quote that it begins with");
        }
        Some('=') => "write `==` to compare",
        Some('&') => "write `&&` for \"and\"",
        Some('|') => "write `||` for \"or\"",
        Some('`') => "write text in single or double quotes",
        Some('$' | '@' | '#') => "write the variable's name alone",
        Some(_) | None => "remove it, or put it in quotes if it is text",
    };
    fault(format!("`{shown}` is no part of CEL"), cure)
}

/// The most of a text that is quoted.
const QUOTED: usize = 40;
const COLON: &str = "write `condition ? a : b`, with both values";
const BACKSLASH: &str = "write `\\\\` for a backslash, or put `r` before the text, as in `r'\\w'`";

/// Explains a missing part of a node, a literal of the wrong form, and a reserved word.
fn part_or_literal(message: &str) -> Option<Fault> {
    if let Some(word) = message.strip_prefix("reserved identifier: ") {
        let cure = "give the variable another name: CEL keeps this word for itself";
        return fault(format!("`{word}` cannot be a variable"), cure);
    }
    match message {
        message if message.contains("_?_:_") => fault("a `?` has no `:` after it", COLON),
        message if message.starts_with("Incomplete ") || message.starts_with("No `") && message.ends_with("`!") => {
            fault("a part of the expression is missing", COMPLETE)
        }
        message
            if ["invalid string literal", "invalid bytes literal"].iter().any(|known| message.starts_with(known)) =>
        {
            fault("a text holds a `\\` that stands for nothing", BACKSLASH)
        }
        "invalid int literal" => {
            fault("a whole number is too large", "write a number within 64 bits, or a decimal such as `1e30`")
        }
        "invalid uint literal" => fault("a whole number with `u` is too large", "write a number within 64 bits"),
        "invalid double literal" => fault("a decimal number is malformed", "write a number such as `1.5`"),
        "invalid argument to has() macro" => fault("`has()` asks for a field of something", "write `has(a.b)`"),
        "argument must be a simple name" => {
            fault("the first argument of a loop is the name of its variable", "write `list.exists(item, item == 1)`")
        }
        _ => None,
    }
}

fn unquoted(token: &str) -> &str {
    token.strip_prefix('\'').and_then(|token| token.strip_suffix('\'')).unwrap_or(token)
}

#[cfg(test)]
mod tests {
    use crate::cel::{Expression, ExpressionError};

    /// Returns an expression's fault and cure, with line and column.
    fn fault(source: &str) -> String {
        match Expression::parse(source) {
            Err(ExpressionError::Parse { message, help, line, column }) => {
                format!("{line}:{column} {message} | {}", help.unwrap_or_default())
            }
            Err(ExpressionError::Limit(limit)) => limit,
            Ok(_) => "parses".to_owned(),
        }
    }

    #[test]
    fn syntax_errors_say_what_was_found_and_what_to_write() {
        let cases = [
            ("an operator at the end", "a =="),
            ("a bracket that is never closed", "size(a"),
            ("a bracket that was never opened", "a == 1)"),
            ("one equals sign", "a = 1"),
            ("one ampersand", "a & b"),
            ("text without its end", "a == 'x"),
            ("a question without an answer", "a ? b"),
            ("a word in place of an operator", "a and b"),
            ("two operators", "a && || b"),
            ("two values", "a b"),
            ("a comma at the end of a call", "f(a,)"),
            ("an empty index", "a[]"),
            ("a word that CEL keeps for itself", "namespace == 'x'"),
            ("a dollar", "$a == 1"),
            ("a template", "{{ .a }} == 1"),
            ("a template in quotes", "name == '{{ .x }}' & b"),
            ("a template behind text in quotes", "'it\\'s' == {{ .x }}"),
            ("nothing after a dot", "a. == 1"),
            ("a loop without its variable", "[1].all(1, x)"),
            ("has() of what is no field", "has(a)"),
            ("a backslash that means nothing", r"a == '\w'"),
            ("a number that is too large", "a == 99999999999999999999"),
        ];
        let rendered: Vec<_> =
            cases.iter().map(|(name, source)| format!("{name}\n  {source}\n  {}", fault(source))).collect();
        insta::assert_snapshot!(rendered.join("\n"));
    }

    #[test]
    fn no_syntax_error_speaks_of_the_parser() {
        let pieces = [
            "a", "==", "&&", "?", ":", "(", ")", "[", "]", "{", "}", ".", ",", "'", "\"", "1", "!", "-", "in", "=",
            "&", "x.y",
        ];
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let told = fault(&format!("{first} {second} {third}"));
                    let jargon = [
                        "EOF",
                        "expecting",
                        "Context",
                        "viable",
                        "mismatched",
                        "extraneous",
                        "token",
                        "IDENTIFIER",
                        "Incomplete",
                    ];
                    assert!(!jargon.iter().any(|word| told.contains(word)), "{first} {second} {third}: {told}");
                }
            }
        }
    }
}
