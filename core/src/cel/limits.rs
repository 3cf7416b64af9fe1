//! What an expression may cost, checked before anything recurses into it.
//!
//! In goes text, then the tree it parsed to; out comes nothing or the limit that was exceeded. Parser
//! and interpreter recurse, and a stack that overflows takes the process down with every event in
//! flight; so the text is weighed before it is parsed, by a bound that may be too high and never too low.

use cel::common::ast::{Expr, IdedExpr};

use super::walk;

/// Longest expression, in bytes. The longest seen in a real configuration has 732.
pub(super) const MAX_BYTES: usize = 4096;
/// Deepest tree, in nodes. The deepest seen in a real configuration has 12.
pub(super) const MAX_DEPTH: usize = 100;
/// Loops within loops: over 150 elements each, a third one already takes a second.
pub(super) const MAX_LOOPS: usize = 3;
/// Open brackets at one place.
pub(super) const MAX_BRACKETS: usize = 80;
/// Depth that the text could have by [`estimate`]. Above [`MAX_DEPTH`], because operands that stand side
/// by side are added up; far below what overflows a 2 MiB stack.
pub(super) const MAX_ESTIMATE: usize = 400;

/// Refuses text that the parser should not see.
pub(super) fn check_text(source: &str) -> Result<(), String> {
    if source.len() > MAX_BYTES {
        return Err(format!("expression has {} bytes, at most {MAX_BYTES} are allowed", source.len()));
    }
    let (brackets, depth) = estimate(source.as_bytes());
    if brackets > MAX_BRACKETS {
        return Err(format!("expression nests {brackets} brackets deep, at most {MAX_BRACKETS} are allowed"));
    }
    if depth > MAX_ESTIMATE {
        return Err(format!("expression chains {depth} operators, at most {MAX_ESTIMATE} are allowed"));
    }
    Ok(())
}

/// Refuses a tree that the interpreter should not see.
pub(super) fn check_tree(root: &IdedExpr) -> Result<(), String> {
    let (mut depth, mut loops) = (0, 0);
    for node in walk::nodes(root) {
        if matches!(node.expr, Expr::Unspecified) {
            return Err("expression has an empty operand".to_owned());
        }
        depth = depth.max(node.depth);
        loops = loops.max(node.loops);
    }
    if depth > MAX_DEPTH {
        return Err(format!("expression nests {depth} deep, at most {MAX_DEPTH} are allowed"));
    }
    if loops > MAX_LOOPS {
        return Err(format!("expression nests {loops} comprehensions, at most {MAX_LOOPS} are allowed"));
    }
    Ok(())
}

/// What is between two brackets.
#[derive(Default)]
struct Level {
    /// `?:` nests to the right across `&&` and `||`.
    conditionals: usize,
    /// Operators since the last separator: these nest to the left.
    chain: usize,
    /// The deepest bracket since the last separator.
    inner: usize,
    /// The deepest stretch between separators so far.
    deepest: usize,
}

impl Level {
    fn separate(&mut self) {
        self.deepest = self.deepest.max(self.chain + self.inner);
        (self.chain, self.inner) = (0, 0);
    }

    fn depth(mut self) -> usize {
        self.separate();
        self.deepest + self.conditionals
    }
}

/// The most brackets open at one place, and an upper bound of the tree's depth.
fn estimate(text: &[u8]) -> (usize, usize) {
    let mut levels = vec![Level::default()];
    let mut brackets = 0;
    let mut at = 0;
    let mut skipping = true;
    while let Some(&byte) = text.get(at) {
        if skipping && text[at..].starts_with(b"//") {
            at += text[at..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len() - at);
            continue;
        }
        if skipping && matches!(byte, b'"' | b'\'') {
            match literal_end(text, at) {
                Some(end) => {
                    at = end;
                    continue;
                }
                // From here on the lexer may see other literals than we do: everything counts.
                None => skipping = false,
            }
        }
        match byte {
            b'(' | b'[' | b'{' => {
                levels.push(Level::default());
                brackets = brackets.max(levels.len() - 1);
            }
            b')' | b']' | b'}' if levels.len() > 1 => close(&mut levels),
            _ => {}
        }
        if let Some(level) = levels.last_mut() {
            match byte {
                b',' | b'&' | b'|' => level.separate(),
                b'?' => level.conditionals += 1,
                b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'.' => level.chain += 1,
                b'i' if text.get(at + 1) == Some(&b'n') => level.chain += 1,
                _ => {}
            }
        }
        at += 1;
    }
    while levels.len() > 1 {
        close(&mut levels);
    }
    (brackets, levels.pop().map_or(0, Level::depth))
}

fn close(levels: &mut Vec<Level>) {
    let depth = levels.pop().map_or(0, Level::depth);
    if let Some(outer) = levels.last_mut() {
        outer.inner = outer.inner.max(depth);
        outer.chain += 1;
    }
}

/// Where the literal that starts at `at` ends, if there can be no doubt about it.
fn literal_end(text: &[u8], at: usize) -> Option<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let prefix = text[..at].iter().rev().take_while(|byte| is_word(byte)).count();
    let raw = match &text[at - prefix..at] {
        b"" | b"b" | b"B" => Some(false),
        b"r" | b"R" | b"br" | b"bR" | b"Br" | b"BR" => Some(true),
        // `1r"` and the like: where the word ends is the lexer's secret.
        _ => None,
    };
    let quote = text[at];
    let fence = if text[at..].starts_with(&[quote; 3]) { &[quote; 3][..] } else { &[quote][..] };
    let mut end = at + fence.len();
    while !text.get(end..)?.starts_with(fence) {
        match *text.get(end)? {
            b'\\' if raw? => end += 1,
            b'\\' => {
                text.get(end + 1).filter(|escape| br#"abfnrtv"'\`?xXuU01234567"#.contains(escape))?;
                end += 2;
            }
            b'\n' | b'\r' if fence.len() == 1 => return None,
            _ => end += 1,
        }
    }
    Some(end + fence.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_adds_up_what_nests_and_not_what_stands_apart() {
        let cases = [
            ("one operand", "a", 0, 0),
            ("a chain of selects", "a.b.c", 0, 2),
            ("conjuncts stand apart", "a.b && c.d && e.f", 0, 1),
            ("arguments stand apart", "f(a.b, c.d, e.f)", 1, 2),
            ("brackets nest", "[[[1]]]", 3, 3),
            ("conditionals nest across conjunctions", "a&&b?1:c&&d?2:e&&f?3:4", 0, 3),
            ("a closed literal counts for nothing", r#""((((....\"((" + 'a' + r'\' + """ " ( """"#, 0, 3),
            ("an open literal counts", r#"""" ((("#, 3, 3),
            ("a literal with a bad escape counts", r#""\q(((""#, 3, 3),
            ("a raw literal has no escapes", r#"r"\" + [r"((\"]"#, 1, 2),
            ("after a doubtful prefix, all literals count", r#"1r"\" + "((" "#, 2, 3),
            ("a comment counts for nothing", "a // ((((....\n.b", 0, 1),
        ];
        for (name, text, brackets, depth) in cases {
            assert_eq!(estimate(text.as_bytes()), (brackets, depth), "{name}");
        }
    }
}
