//! Prints one value under one verb, as Go's `fmt` does.

use std::fmt::Write as _;

use gotmpl::Value;

use super::super::super::text::check_length;
use super::super::super::typed::{Typed, type_name};
use super::super::words;
use super::float;

/// The flags, width and precision between the percent sign and the verb.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    /// Whether the verb is `%#v`, which prints Go source code.
    pub(super) as_source: bool,
}

impl Flags {
    /// Returns the flags for a verb. Under `%v`, `#` and `+` select another notation, not prefixes and signs.
    pub(super) fn for_verb(self, verb: char) -> Self {
        match verb {
            'v' | 'w' => Self { as_source: self.sharp, sharp: false, plus: false, ..self },
            _ => self,
        }
    }
}

/// The output, and the flags of the current directive.
#[derive(Default)]
pub(super) struct Printer {
    pub(super) out: String,
    pub(super) flags: Flags,
}

impl Printer {
    /// Prints one argument of `printf` for the verb, with the flags of the verb.
    pub(super) fn argument(&mut self, value: &Value, verb: char) -> gotmpl::Result<()> {
        match (value, verb) {
            (Value::Nil, 'v' | 'T') => self.pad("<nil>"),
            (Value::Nil, _) => self.bad_verb(value, verb)?,
            (_, 'T') => self.text(type_name(value)),
            _ => self.value(value, verb)?,
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, verb: char) -> gotmpl::Result<()> {
        check_length(self.out.len())?;
        match (value, verb) {
            (Value::Bool(flag), 't' | 'v') => self.pad(if *flag { "true" } else { "false" }),
            (Value::Int(integer), _) if is_integer_verb(verb) => {
                self.integer(integer.unsigned_abs(), *integer < 0, integer.cast_unsigned(), verb);
            }
            (Value::Uint(integer), 'v') if self.flags.as_source => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.integer(*integer, false, *integer, 'x');
                self.flags.sharp = sharp;
            }
            (Value::Uint(integer), _) if is_integer_verb(verb) => self.integer(*integer, false, *integer, verb),
            (Value::Float(float), _) if is_float_verb(verb) => self.float(*float, verb),
            (Value::String(text), 'v') if self.flags.as_source => self.quoted(text),
            (Value::String(text), 'v' | 's') => self.text(text),
            (Value::String(text), 'q') => self.quoted(text),
            (Value::String(text), 'x' | 'X') => self.hexadecimal(text, verb == 'X'),
            (Value::List(items), _) if !applies_to_collection(verb) => self.list(items, verb)?,
            (Value::Map(map), _) if !applies_to_collection(verb) => match Typed::of(value) {
                Some(typed) => self.typed(typed, value, verb)?,
                None => self.map(map.iter().map(|(key, value)| (&**key, value)), verb)?,
            },
            _ => self.bad_verb(value, verb)?,
        }
        Ok(())
    }

    /// Prints a time, duration, month or weekday. As in Go, verbs for text print the result of `String()`,
    /// and other verbs the number.
    fn typed(&mut self, typed: Typed, value: &Value, verb: char) -> gotmpl::Result<()> {
        let text = || Value::String(typed.text().into());
        match (verb, typed.number()) {
            ('v', Some(number)) if self.flags.as_source => self.value(&Value::Int(number), verb),
            ('v' | 's' | 'q' | 'x' | 'X', _) => self.value(&text(), verb),
            (_, Some(number)) => self.value(&Value::Int(number), verb),
            (_, None) => self.bad_verb(value, verb),
        }
    }

    fn bad_verb(&mut self, value: &Value, verb: char) -> gotmpl::Result<()> {
        let _infallible = write!(self.out, "%!{verb}(");
        match value {
            Value::Nil => self.out.push_str("<nil>"),
            Value::Function(_) => self.out.push_str("func"),
            Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Float(_)
            | Value::String(_)
            | Value::List(_)
            | Value::Map(_) => {
                self.out.push_str(type_name(value));
                self.out.push('=');
                self.value(value, 'v')?;
            }
        }
        self.out.push(')');
        Ok(())
    }

    fn list(&mut self, items: &[Value], verb: char) -> gotmpl::Result<()> {
        let as_source = self.flags.as_source;
        self.out.push_str(if as_source { "[]interface {}{" } else { "[" });
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(if as_source { ", " } else { " " });
            }
            self.inner(item, verb)?;
        }
        self.out.push(if as_source { '}' } else { ']' });
        Ok(())
    }

    fn map<'v>(&mut self, entries: impl Iterator<Item = (&'v str, &'v Value)>, verb: char) -> gotmpl::Result<()> {
        let as_source = self.flags.as_source;
        self.out.push_str(if as_source { "map[string]interface {}{" } else { "map[" });
        for (index, (key, value)) in entries.enumerate() {
            if index > 0 {
                self.out.push_str(if as_source { ", " } else { " " });
            }
            self.value(&Value::String(key.into()), verb)?;
            self.out.push(':');
            self.inner(value, verb)?;
        }
        self.out.push(if as_source { '}' } else { ']' });
        Ok(())
    }

    /// Prints a value inside a list or a mapping, where null ignores verb and width.
    fn inner(&mut self, value: &Value, verb: char) -> gotmpl::Result<()> {
        match value {
            Value::Nil if self.flags.as_source => self.out.push_str("interface {}(nil)"),
            Value::Nil => self.out.push_str("<nil>"),
            Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Float(_)
            | Value::String(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Function(_) => {
                // `%T` prints the type of the argument only, not of a value inside.
                self.value(value, verb)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, count: usize) {
        let filler = if self.flags.zero && !self.flags.minus { "0" } else { " " };
        self.out.push_str(&filler.repeat(count));
    }

    /// Prints text, filled up to the width.
    fn pad(&mut self, text: &str) {
        let missing = self.flags.width.unwrap_or(0).saturating_sub(text.chars().count());
        if !self.flags.minus {
            self.fill(missing);
        }
        self.out.push_str(text);
        if self.flags.minus {
            self.fill(missing);
        }
    }

    /// Prints text, filled up to the width with spaces even under the flag `0`.
    fn pad_with_blanks(&mut self, text: &str) {
        let zero = std::mem::replace(&mut self.flags.zero, false);
        self.pad(text);
        self.flags.zero = zero;
    }

    /// Returns as many characters of a text as the precision allows.
    fn cut<'t>(&self, text: &'t str) -> &'t str {
        let end = self.flags.precision.and_then(|count| text.char_indices().nth(count));
        end.map_or(text, |(end, _)| &text[..end])
    }

    fn text(&mut self, text: &str) {
        self.pad(self.cut(text).to_owned().as_str());
    }

    fn quoted(&mut self, text: &str) {
        let text = self.cut(text);
        let quoted = if self.flags.sharp && words::can_be_in_backquotes(text) {
            format!("`{text}`")
        } else {
            words::quoted(text, '"', self.flags.plus)
        };
        self.pad(&quoted);
    }

    fn hexadecimal(&mut self, text: &str, is_upper: bool) {
        let bytes = &text.as_bytes()[..self.flags.precision.unwrap_or(text.len()).min(text.len())];
        let prefix = if is_upper { "0X" } else { "0x" };
        let mut written = String::with_capacity(bytes.len() * 2);
        for (index, byte) in bytes.iter().enumerate() {
            if self.flags.space && index > 0 {
                written.push(' ');
            }
            if self.flags.sharp && (self.flags.space || index == 0) {
                written.push_str(prefix);
            }
            let _infallible = if is_upper { write!(written, "{byte:02X}") } else { write!(written, "{byte:02x}") };
        }
        self.pad(&written);
    }

    fn integer(&mut self, magnitude: u64, is_negative: bool, bits: u64, verb: char) {
        match verb {
            'c' => return self.pad(&character(bits).to_string()),
            'q' => return self.pad(&words::quoted(&character(bits).to_string(), '\'', self.flags.plus)),
            'U' => return self.code_point(bits),
            _ => {}
        }
        let Flags { plus, minus, sharp, space, zero, width, precision, .. } = self.flags;
        let has_sign = is_negative || plus || space;
        let digits_wanted = match precision {
            Some(0) if magnitude == 0 => return self.pad_with_blanks(""),
            Some(precision) => precision,
            None if zero && !minus => width.unwrap_or(0).saturating_sub(usize::from(has_sign)),
            None => 0,
        };
        let (digits, prefix) = match verb {
            'b' => (format!("{magnitude:b}"), "0b"),
            'o' | 'O' => (format!("{magnitude:o}"), ""),
            'x' => (format!("{magnitude:x}"), "0x"),
            'X' => (format!("{magnitude:X}"), "0X"),
            _ => (magnitude.to_string(), ""),
        };
        let mut written = String::new();
        if has_sign {
            written.push(if is_negative {
                '-'
            } else if plus {
                '+'
            } else {
                ' '
            });
        }
        let zeros = "0".repeat(digits_wanted.saturating_sub(digits.len()));
        if verb == 'O' {
            written.push_str("0o");
        }
        if sharp {
            written.push_str(prefix);
            let is_octal = matches!(verb, 'o' | 'O');
            written.push_str(if is_octal && !zeros.starts_with('0') && !digits.starts_with('0') { "0" } else { "" });
        }
        written.push_str(&zeros);
        written.push_str(&digits);
        self.pad_with_blanks(&written);
    }

    fn code_point(&mut self, bits: u64) {
        let digits = self.flags.precision.unwrap_or(0).max(4);
        let hexadecimal = format!("{bits:X}");
        let mut written = format!("U+{}{hexadecimal}", "0".repeat(digits.saturating_sub(hexadecimal.len())));
        let printable = u32::try_from(bits).ok().and_then(char::from_u32).filter(|it| words::is_printable(*it));
        if let Some(character) = printable.filter(|_| self.flags.sharp) {
            let _infallible = write!(written, " '{character}'");
        }
        self.pad_with_blanks(&written);
    }

    fn float(&mut self, value: f64, verb: char) {
        let Flags { plus, minus, space, zero, width, .. } = self.flags;
        let number = float::text(value, verb, self.flags.precision, self.flags.sharp);
        let (is_negative, unsigned) = match number.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, number.as_str()),
        };
        let sign = if is_negative {
            "-"
        } else if plus {
            "+"
        } else if space {
            " "
        } else {
            ""
        };
        if !value.is_finite() {
            let sign = if value.is_infinite() && sign.is_empty() { "+" } else { sign };
            return self.pad_with_blanks(&format!("{sign}{unsigned}"));
        }
        let length = sign.len() + unsigned.len();
        if zero && !minus && !sign.is_empty() && width.is_some_and(|width| width > length) {
            self.out.push_str(sign);
            self.fill(width.unwrap_or(0) - length);
            self.out.push_str(unsigned);
            return;
        }
        self.pad(&format!("{sign}{unsigned}"));
    }
}

fn is_integer_verb(verb: char) -> bool {
    matches!(verb, 'v' | 'd' | 'b' | 'o' | 'O' | 'x' | 'X' | 'c' | 'q' | 'U')
}

/// Whether a verb applies to a list or mapping as one value, not to each element: `%p` prints an address, and
/// `%w` wraps an error.
fn applies_to_collection(verb: char) -> bool {
    matches!(verb, 'p' | 'w')
}

fn is_float_verb(verb: char) -> bool {
    matches!(verb, 'v' | 'b' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'x' | 'X')
}

fn character(bits: u64) -> char {
    u32::try_from(bits).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}
