//! Reads lines up to a limit.
//!
//! In: a reader. Out: lines without their line feed, in order, through a channel that closes at the end of the input. Empty
//! lines are skipped, and a last line without a line feed counts. A line over the limit is skipped in pieces, so that no input
//! makes the program hold more than the limit.

use std::io::{self, BufRead};

use tokio::sync::mpsc::Sender;

/// The longest line that is read. The client's own limit is 10 MiB; packs with large prompts come near it.
pub(crate) const LONGEST: usize = 64 << 20;

/// What was read.
#[derive(Debug)]
pub(crate) enum Line {
    /// A line with content.
    Text(Vec<u8>),
    /// A line over the limit.
    TooLong,
    /// The input failed.
    Failed(io::Error),
}

/// Reads until the input ends, fails, or nobody listens any more. Blocks: it has a thread of its own.
pub(crate) fn read(mut input: impl BufRead, longest: usize, to: &Sender<Line>) {
    while let Some(line) = next(&mut input, longest).unwrap_or_else(|error| Some(Line::Failed(error))) {
        let is_last = matches!(line, Line::Failed(_));
        if to.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}

/// Reads to the next line with content.
fn next(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Line>> {
    let (mut text, mut is_too_long) = (Vec::new(), false);
    loop {
        let piece = match input.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let is_end = piece.is_empty();
        let end = piece.iter().position(|byte| *byte == b'\n');
        let content = piece.get(..end.unwrap_or(piece.len())).unwrap_or(piece);
        is_too_long |= text.len() + content.len() > longest;
        if is_too_long {
            text = Vec::new();
        } else {
            text.extend_from_slice(content);
        }
        let used = content.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_none() && !is_end {
            continue;
        }
        if is_too_long {
            return Ok(Some(Line::TooLong));
        }
        if !text.trim_ascii().is_empty() {
            return Ok(Some(Line::Text(text)));
        }
        if is_end {
            return Ok(None);
        }
        text.clear();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::BufReader;

    use super::*;

    fn all(input: &[u8], capacity: usize) -> Vec<String> {
        let mut input = BufReader::with_capacity(capacity, input);
        std::iter::from_fn(|| next(&mut input, 4).unwrap())
            .map(|line| match line {
                Line::Text(text) => String::from_utf8(text).unwrap(),
                Line::TooLong => "too long".to_owned(),
                Line::Failed(error) => error.to_string(),
            })
            .collect()
    }

    #[test]
    fn lines_are_split_whatever_the_pieces() {
        let cases: [(&str, &[u8], &[&str]); 6] = [
            ("nothing", b"", &[]),
            ("blank lines", b"\n \r\n\n", &[]),
            ("two lines", b"a\nb\n", &["a", "b"]),
            ("a last line without a line feed", b"a\nb", &["a", "b"]),
            ("a line at the limit, and one over it", b"abcd\nabcde\nx\n", &["abcd", "too long", "x"]),
            ("a last line over the limit", b"abcde", &["too long"]),
        ];
        for (name, input, expected) in cases {
            for capacity in [1, 2, 3, 64] {
                assert_eq!(all(input, capacity), expected, "{name}, pieces of {capacity}");
            }
        }
    }
}
