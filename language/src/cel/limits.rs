//! What an expression may be, checked before the interpreter recurses into it.
//!
//! In: the expression's text, then its syntax tree. Out: nothing, or the limit that was exceeded. The parser and the
//! interpreter recurse, and a stack overflow ends the process with every running event. So a thread whose stack no text
//! within the limits can overflow parses long texts, and an expression that nests too deeply is an error at load.

use std::panic::{UnwindSafe, catch_unwind};

use cel::common::ast::{Expr, IdedExpr};

use super::walk;

/// Longest expression, in bytes. The longest seen in a real configuration has 732.
pub(super) const MAX_BYTES: usize = 4096;
/// Deepest tree, in nodes. The deepest seen in a real configuration has 12.
pub(super) const MAX_DEPTH: usize = 100;
/// Loops within loops: over 150 elements each, a third one already takes a second.
pub(super) const MAX_LOOPS: usize = 3;
/// Open brackets at one place, those in texts included: the parser recurses more for a bracket than for anything else.
pub(super) const MAX_BRACKETS: usize = 80;

/// The longest text that is parsed on the caller's stack: it nests a fourth as deep as what overflows 2 MiB.
const MAX_BYTES_ON_STACK: usize = 400;
/// The stack for longer text: 4 MiB were seen to be enough for every shape of [`MAX_BYTES`]. Unused pages take no memory.
const STACK: usize = 32 << 20;

/// Refuses text that the parser should not see.
pub(super) fn check_text(source: &str) -> Result<(), String> {
    if source.len() > MAX_BYTES {
        return Err(format!("expression has {} bytes, at most {MAX_BYTES} are allowed", source.len()));
    }
    let (mut open, mut most) = (0_usize, 0);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    if most > MAX_BRACKETS {
        return Err(format!("expression nests {most} brackets deep, at most {MAX_BRACKETS} are allowed"));
    }
    Ok(())
}

/// Parses text where its nesting cannot overflow the stack. None if the parser panics: that is a mistake in one
/// expression, and not the end of the process.
pub(super) fn guard<T: Send>(source: &str, parse: impl FnOnce() -> T + Send + UnwindSafe) -> Option<T> {
    if source.len() <= MAX_BYTES_ON_STACK {
        return catch_unwind(parse).ok();
    }
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, parse).ok()?;
        parser.join().ok()
    })
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
