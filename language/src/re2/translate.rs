//! Translates RE2's syntax to that of the `regex` crate.
//!
//! In: a pattern. Out: the same pattern in the other syntax, with its size. Fails for what RE2 rejects. Each
//! element is parsed and written anew, so none can mean something else in the other syntax. The pattern is
//! read once, without recursion.

use std::collections::BTreeSet;

use super::class;
use super::{MAX_SIZE, PatternError};

/// RE2's limit on a count, and on the product of nested counts.
const MAX_COUNT: usize = 1000;

/// The limit of nested groups, because the compiler recurses into each.
const MAX_GROUPS: usize = 100;

/// A pattern in the syntax of the crate `regex`, translated from RE2's.
pub(super) struct Translation {
    pub(super) text: String,
    /// The approximate number of states of the pattern.
    pub(super) size: usize,
}

/// A group that was not closed yet.
#[derive(Default)]
struct Group {
    size: usize,
    /// The largest product of nested counts in the group.
    counts: usize,
    last: Option<Item>,
}

/// The last element, which a repetition would repeat.
#[derive(Clone, Copy)]
struct Item {
    size: usize,
    counts: usize,
    is_repeated: bool,
}

/// The rest of a pattern while it is read.
pub(super) struct Reader<'p> {
    pub(super) rest: &'p str,
    /// The names of Unicode classes that were checked, because each check compiles the class.
    pub(super) unicode: BTreeSet<&'p str>,
    /// Whether no `:]` follows, so that no `[:` can begin a named class.
    pub(super) has_no_named_class: bool,
}

impl<'p> Reader<'p> {
    fn new(pattern: &'p str) -> Self {
        Self { rest: pattern, unicode: BTreeSet::new(), has_no_named_class: false }
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    /// Skips `prefix` if the rest starts with it, and returns whether it did.
    pub(super) fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Returns the text from `start` to the current position.
    pub(super) fn since(&self, start: &'p str) -> &'p str {
        &start[..start.len() - self.rest.len()]
    }

    /// Makes an error of the text from `start` to the current position.
    pub(super) fn mistake(&self, start: &'p str, reason: &'static str) -> PatternError {
        PatternError::Syntax { part: self.since(start).to_owned(), reason }
    }

    /// Reads the character of an escape, after its backslash.
    pub(super) fn escape(&mut self, start: &'p str) -> Result<char, PatternError> {
        let Some(character) = self.next() else { return Err(self.mistake(start, "a backslash ends the pattern")) };
        Ok(match character {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => return self.hexadecimal(start),
            '0' => self.octal(0),
            '1'..='7' if self.rest.starts_with(|next: char| next.is_digit(8)) => {
                self.octal(character.to_digit(8).unwrap_or(0))
            }
            '1'..='9' => return Err(self.mistake(start, "RE2 has no references to groups")),
            character if character.is_ascii_alphanumeric() => return Err(self.mistake(start, "RE2 has no such escape")),
            character if character.is_ascii() => character,
            _ => return Err(self.mistake(start, "only ASCII punctuation can be escaped")),
        })
    }

    /// Reads up to two further octal digits.
    fn octal(&mut self, first: u32) -> char {
        let mut value = first;
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|next| next.to_digit(8)) else { break };
            value = value * 8 + digit;
            self.next();
        }
        char::from_u32(value).unwrap_or('\0')
    }

    /// Reads a hexadecimal escape after its `x`: `\x7F`, `\x{10FFFF}`.
    fn hexadecimal(&mut self, start: &'p str) -> Result<char, PatternError> {
        let digits = if self.skip("{") {
            let (digits, rest) = self.rest.split_once('}').unwrap_or(("", self.rest));
            self.rest = rest;
            digits
        } else {
            let digits = self.rest.get(..2).unwrap_or("");
            self.rest = &self.rest[digits.len()..];
            digits
        };
        let is_hexadecimal = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal);
        value.and_then(char::from_u32).ok_or_else(|| self.mistake(start, "not the number of a character"))
    }
}

/// Translates a pattern from RE2's syntax to that of the crate `regex`.
pub(super) fn translate(pattern: &str) -> Result<Translation, PatternError> {
    let mut translator = Translator {
        reader: Reader::new(pattern),
        text: String::with_capacity(pattern.len() * 2),
        groups: vec![Group::default()],
        names: BTreeSet::new(),
        size: 1,
    };
    while !translator.reader.rest.is_empty() {
        translator.element()?;
        if translator.size > MAX_SIZE {
            return Err(PatternError::TooLarge);
        }
    }
    if translator.groups.len() > 1 {
        return Err(PatternError::Syntax { part: pattern.to_owned(), reason: "a `(` is not closed" });
    }
    Ok(Translation { text: translator.text, size: translator.size })
}

struct Translator<'p> {
    reader: Reader<'p>,
    text: String,
    /// The open groups, innermost last. Never empty: the pattern itself is the first.
    groups: Vec<Group>,
    names: BTreeSet<&'p str>,
    /// The size of the pattern read so far, in states (approximately).
    size: usize,
}

impl<'p> Translator<'p> {
    fn element(&mut self) -> Result<(), PatternError> {
        let start = self.reader.rest;
        let Some(character) = self.reader.next() else { return Ok(()) };
        match character {
            '(' => return self.open(start),
            ')' => return self.close(start),
            '|' => {
                self.text.push('|');
                self.group().last = None;
            }
            '^' | '$' => {
                self.text.push(character);
                self.add(1, 0);
            }
            '.' => {
                self.text.push('.');
                self.add(class::WIDE, 0);
            }
            '[' => {
                let size = class::brackets(&mut self.reader, start, &mut self.text)?;
                self.add(size, 0);
            }
            '*' => return self.repeat(start, 0, None, "*"),
            '+' => return self.repeat(start, 1, None, "+"),
            '?' => return self.repeat(start, 0, Some(1), "?"),
            '{' => match count(start) {
                Some((least, most, length)) => {
                    self.reader.rest = &start[length..];
                    return self.repeat(start, least, most, &start[..length]);
                }
                None => self.literal('{'),
            },
            '\\' => return self.backslash(start),
            character => self.literal(character),
        }
        Ok(())
    }

    fn backslash(&mut self, start: &'p str) -> Result<(), PatternError> {
        let assertions = [("A", r"\A"), ("z", r"\z"), ("b", r"(?-u:\b)"), ("B", r"(?-u:\B)")];
        for (letter, translation) in assertions {
            if self.reader.skip(letter) {
                self.text.push_str(translation);
                self.add(1, 0);
                return Ok(());
            }
        }
        if self.reader.skip("Q") {
            let (literal, rest) = self.reader.rest.split_once(r"\E").unwrap_or((self.reader.rest, ""));
            self.reader.rest = rest;
            literal.chars().for_each(|character| self.literal(character));
        } else if let Some(size) = class::escaped(&mut self.reader, start, &mut self.text)? {
            self.add(size, 0);
        } else {
            let character = self.reader.escape(start)?;
            self.literal(character);
        }
        Ok(())
    }

    fn open(&mut self, start: &'p str) -> Result<(), PatternError> {
        if self.groups.len() > MAX_GROUPS {
            return Err(self.reader.mistake(start, "more than 100 groups are open"));
        }
        if !self.reader.skip("?") {
            self.begin("");
            return Ok(());
        }
        for (prefix, reason) in [
            ("=", "RE2 has no look-ahead"),
            ("!", "RE2 has no look-ahead"),
            ("<=", "RE2 has no look-behind"),
            ("<!", "RE2 has no look-behind"),
        ] {
            if self.reader.skip(prefix) {
                return Err(self.reader.mistake(start, reason));
            }
        }
        if self.reader.skip("P<") || self.reader.skip("<") {
            return self.name(start);
        }
        self.flags(start)
    }

    /// Opens a group. It captures nothing, because nobody reads captures.
    fn begin(&mut self, flags: &str) {
        self.text.push_str("(?");
        self.text.push_str(flags);
        self.text.push(':');
        self.groups.push(Group::default());
    }

    fn name(&mut self, start: &'p str) -> Result<(), PatternError> {
        let name = self.reader.rest.split_once('>').map(|(name, _)| name);
        let is_word =
            |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let Some(name) = name.filter(is_word) else {
            return Err(self
                .reader
                .mistake(start, "a group's name is made of letters, digits and `_`, and ends at `>`"));
        };
        self.reader.rest = &self.reader.rest[name.len() + 1..];
        if !self.names.insert(name) {
            return Err(self.reader.mistake(start, "two groups have the same name"));
        }
        self.begin("");
        Ok(())
    }

    /// Reads flags, as in `(?i)` and `(?s-m:`.
    fn flags(&mut self, start: &'p str) -> Result<(), PatternError> {
        let (mut on, mut off) = (BTreeSet::new(), BTreeSet::new());
        let (mut is_off, mut is_empty) = (false, true);
        loop {
            match self.reader.next() {
                Some(flag @ ('i' | 'm' | 's' | 'U')) => {
                    if is_off {
                        off.insert(flag)
                    } else {
                        on.insert(flag)
                    };
                    is_empty = false;
                }
                Some('-') if !is_off => (is_off, is_empty) = (true, true),
                Some(end @ (':' | ')')) if !(is_off && is_empty) => {
                    let mut flags: String = on.difference(&off).collect();
                    if !off.is_empty() {
                        flags.push('-');
                        flags.extend(&off);
                    }
                    if end == ':' {
                        self.begin(&flags);
                    } else if !flags.is_empty() {
                        self.text.push_str(&format!("(?{flags})"));
                    }
                    return Ok(());
                }
                Some(_) | None => return Err(self.reader.mistake(start, "RE2 has no such group")),
            }
        }
    }

    fn close(&mut self, start: &'p str) -> Result<(), PatternError> {
        if self.groups.len() == 1 {
            return Err(self.reader.mistake(start, "no `(` is open"));
        }
        self.text.push(')');
        let closed = self.groups.pop().unwrap_or_default();
        // `self.size` already includes the parts of the group.
        self.size = self.size.saturating_sub(closed.size);
        self.add(closed.size + 1, closed.counts);
        Ok(())
    }

    fn repeat(&mut self, start: &'p str, least: usize, most: Option<usize>, text: &str) -> Result<(), PatternError> {
        let is_lazy = self.reader.skip("?");
        let Some(item) = self.group().last else {
            return Err(self.reader.mistake(start, "there is nothing to repeat"));
        };
        if item.is_repeated {
            return Err(self.reader.mistake(start, "a repetition is repeated; put brackets around the first"));
        }
        let counts = most.unwrap_or(least).max(1) * item.counts.max(1);
        if least.max(most.unwrap_or(0)) > MAX_COUNT || most.is_some_and(|most| most < least) || counts > MAX_COUNT {
            let reason = "counts go up to 1000, nested counts up to 1000 when they are multiplied, the lower first";
            return Err(self.reader.mistake(start, reason));
        }
        self.text.push_str(text);
        self.text.push_str(if is_lazy { "?" } else { "" });
        let copies = most.unwrap_or(least).max(1);
        let added = item.size.saturating_mul(copies - 1) + 1;
        self.size = self.size.saturating_add(added);
        let group = self.group();
        group.size = group.size.saturating_add(added);
        group.counts = group.counts.max(counts);
        group.last = Some(Item { size: item.size * copies, counts, is_repeated: true });
        Ok(())
    }

    fn literal(&mut self, character: char) {
        write_character(character, &mut self.text);
        self.add(character.len_utf8(), 0);
    }

    fn add(&mut self, size: usize, counts: usize) {
        self.size = self.size.saturating_add(size);
        let group = self.group();
        group.size = group.size.saturating_add(size);
        group.counts = group.counts.max(counts);
        group.last = Some(Item { size, counts, is_repeated: false });
    }

    #[expect(clippy::expect_used, reason = "the first group is never closed")]
    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("a group is open")
    }
}

/// Appends a literal character to a pattern, escaped if the syntax needs it.
pub(super) fn write_character(character: char, text: &mut String) {
    if character.is_ascii_alphanumeric() || !character.is_ascii() {
        text.push(character);
    } else {
        text.push_str(&format!("\\x{:02X}", u32::from(character)));
    }
}

/// Reads a count at the start of a text, `{n}`, `{n,}` or `{n,m}`, with its length. Any other brace is
/// literal.
fn count(text: &str) -> Option<(usize, Option<usize>, usize)> {
    let inner = text.strip_prefix('{')?;
    // Stop at the first other character: a search for `}` would read the whole rest at every `{`.
    let end = inner.find(|next: char| !next.is_ascii_digit() && next != ',')?;
    let inner = inner[end..].starts_with('}').then_some(&inner[..end])?;
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
        // A number with too many digits for a `usize` exceeds the limit in any case.
        (is_number && !has_leading_zero).then(|| digits.parse().unwrap_or(usize::MAX).min(MAX_COUNT + 1))
    };
    let (least, most) = match inner.split_once(',') {
        None => (number(inner)?, Some(number(inner)?)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((least, most, inner.len() + 2))
}
