//! The functions `print`, `println` and `printf`.
//!
//! The engine's `printf` prints Rust's numbers under `%v`, and lacks `%T`, `%#v` and verbs over lists. So
//! Go's format language is implemented here: this file parses the format, `verbs` prints one value, `float`
//! prints doubles.

mod float;
mod verbs;

use gotmpl::Value;

use self::verbs::{Flags, Printer};
use super::super::text::{check_length, text};
use super::super::typed::type_name;
use super::{Result, failure, string};

/// The largest width and precision, as in Go, which drops the rest of a format after a larger number.
const MAX_NUMBER: usize = 1_000_000;

/// Prints the arguments in a row, with a space between two that are both no text, as Go's `print` does.
pub(super) fn concatenate(values: &[Value]) -> gotmpl::Result<String> {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|previous| values.get(previous));
        if previous.is_some_and(|previous| !is_text(previous) && !is_text(value)) {
            out.push(' ');
        }
        let piece = text(value)?;
        check_length(out.len() + piece.len())?;
        out.push_str(&piece);
    }
    Ok(out)
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_))
}

pub(super) fn print(values: &[Value]) -> Result {
    string(concatenate(values)?)
}

/// Prints the arguments with a space between any two, and a line break at the end.
pub(super) fn println(values: &[Value]) -> Result {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let piece = text(value)?;
        check_length(out.len() + piece.len())?;
        out.push_str(&piece);
    }
    out.push('\n');
    string(out)
}

/// Formats the arguments by Go's verbs.
pub(super) fn printf(values: &[Value]) -> Result {
    let (format, arguments) = match values.split_first() {
        Some((Value::String(format), arguments)) => (format, arguments),
        Some((other, _)) => {
            return failure(format!("wrong type for value of printf; expected string; got {}", type_name(other)));
        }
        None => return failure("wrong number of args for printf: want at least 1 got 0"),
    };
    let mut reader = Reader { rest: format, arguments, next: 0, is_reordered: false, index_is_valid: true };
    let mut printer = Printer::default();
    while let Some(percent) = reader.rest.find('%') {
        printer.out.push_str(&reader.rest[..percent]);
        reader.rest = &reader.rest[percent + 1..];
        reader.directive(&mut printer)?;
        check_length(printer.out.len())?;
    }
    printer.out.push_str(reader.rest);
    reader.extra(&mut printer)?;
    string(printer.out)
}

/// A parser of a format, which stops after each directive.
struct Reader<'f> {
    rest: &'f str,
    arguments: &'f [Value],
    /// The index of the next verb's argument.
    next: usize,
    /// Whether a directive named its argument by index: then Go does not report unused arguments.
    is_reordered: bool,
    /// Whether the explicit index of a directive, such as `%[2]d`, names an argument. True without one.
    index_is_valid: bool,
}

impl Reader<'_> {
    /// Parses a directive after its `%`, and prints it.
    fn directive(&mut self, printer: &mut Printer) -> gotmpl::Result<()> {
        self.index_is_valid = true;
        let mut flags = self.flags();
        let mut after_index = self.index();
        if self.skip('*') {
            match self.number_argument() {
                Some(width) => {
                    flags.minus |= width < 0;
                    flags.zero &= width >= 0;
                    flags.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => printer.out.push_str("%!(BADWIDTH)"),
            }
            after_index = false;
        } else {
            flags.width = self.number();
            self.index_is_valid &= !(after_index && flags.width.is_some());
        }
        if self.skip('.') {
            self.index_is_valid &= !after_index;
            after_index = self.index();
            if self.skip('*') {
                match self.number_argument() {
                    Some(precision) => flags.precision = usize::try_from(precision).ok(),
                    None => printer.out.push_str("%!(BADPREC)"),
                }
                after_index = false;
            } else {
                flags.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !after_index {
            self.index();
        }
        let mut characters = self.rest.chars();
        let Some(verb) = characters.next() else {
            printer.out.push_str("%!(NOVERB)");
            return Ok(());
        };
        self.rest = characters.as_str();
        match self.arguments.get(self.next) {
            _ if verb == '%' => printer.out.push('%'),
            _ if !self.index_is_valid => printer.out.push_str(&format!("%!{verb}(BADINDEX)")),
            None => printer.out.push_str(&format!("%!{verb}(MISSING)")),
            Some(argument) => {
                self.next += 1;
                printer.flags = flags.for_verb(verb);
                printer.argument(argument, verb)?;
            }
        }
        Ok(())
    }

    /// Prints the unused arguments, as Go does.
    fn extra(&self, printer: &mut Printer) -> gotmpl::Result<()> {
        let left = self.arguments.get(self.next..).unwrap_or_default();
        if self.is_reordered || left.is_empty() {
            return Ok(());
        }
        printer.flags = Flags::default();
        printer.out.push_str("%!(EXTRA ");
        for (index, argument) in left.iter().enumerate() {
            if index > 0 {
                printer.out.push_str(", ");
            }
            if !matches!(argument, Value::Nil) {
                printer.out.push_str(type_name(argument));
                printer.out.push('=');
            }
            printer.argument(argument, 'v')?;
        }
        printer.out.push(')');
        Ok(())
    }

    fn skip(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            match self.rest.as_bytes().first() {
                Some(b'#') => flags.sharp = true,
                Some(b'0') => flags.zero = true,
                Some(b'+') => flags.plus = true,
                Some(b'-') => flags.minus = true,
                Some(b' ') => flags.space = true,
                Some(_) | None => return flags,
            }
            self.rest = &self.rest[1..];
        }
    }

    /// Parses digits. After a number above [`MAX_NUMBER`], the rest of the format is dropped.
    fn number(&mut self) -> Option<usize> {
        let end = self.rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return None;
        }
        let number = digits.parse().ok().filter(|number| *number <= MAX_NUMBER);
        self.rest = if number.is_some() { rest } else { "" };
        number
    }

    /// Parses an explicit index `[n]`, and returns whether there was one.
    fn index(&mut self) -> bool {
        let Some(inside) = self.rest.strip_prefix('[') else { return false };
        self.is_reordered = true;
        let Some((digits, rest)) = inside.split_once(']') else {
            self.index_is_valid = false;
            self.rest = inside;
            return false;
        };
        self.rest = rest;
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let number = digits.parse::<usize>().ok().filter(|number| is_number && *number <= MAX_NUMBER);
        let index = number.and_then(|number| number.checked_sub(1)).filter(|index| *index < self.arguments.len());
        match index {
            Some(index) => self.next = index,
            None => self.index_is_valid = false,
        }
        number.is_some()
    }

    /// Consumes an argument as a width or a precision.
    fn number_argument(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        let number = match argument {
            Value::Int(integer) => Some(*integer),
            Value::Uint(integer) => i64::try_from(*integer).ok(),
            Value::Nil
            | Value::Bool(_)
            | Value::Float(_)
            | Value::String(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Function(_) => None,
        };
        number.filter(|number| number.unsigned_abs() <= MAX_NUMBER as u64)
    }
}
