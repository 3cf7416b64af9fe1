//! A walk over a syntax tree that knows which names a comprehension binds.
//!
//! [`nodes`] takes a tree and yields every node with its depth, the loops around it and the names bound at it. The walk does not
//! recurse, because a tree that is not checked yet may be deep. [`rewrite`] changes the nodes of a checked tree.

use std::rc::Rc;

use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, operators};

/// A node of a syntax tree, and its position there.
#[derive(Clone)]
pub(super) struct Node<'e> {
    pub(super) expr: &'e Expr,
    /// The depth of the node in the tree; 1 for the root.
    pub(super) depth: usize,
    /// How many loop bodies enclose the node.
    pub(super) loops: usize,
    bound: Option<Rc<Bound<'e>>>,
}

struct Bound<'e> {
    name: &'e str,
    outer: Option<Rc<Bound<'e>>>,
}

#[cfg(feature = "measure")]
thread_local! {
    /// How many nodes this thread has visited: tests measure the cost of a check by it.
    pub static VISITED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl<'e> Node<'e> {
    /// Whether an enclosing comprehension binds `name`. A name with a leading dot is never bound.
    pub(super) fn binds(&self, name: &str) -> bool {
        let scopes = std::iter::successors(self.bound.as_deref(), |bound| bound.outer.as_deref());
        !name.starts_with('.') && scopes.into_iter().any(|bound| bound.name == name)
    }

    fn child(&self, child: &'e IdedExpr) -> Self {
        Self { expr: &child.expr, depth: self.depth + 1, loops: self.loops, bound: self.bound.clone() }
    }

    fn binding(&self, name: &'e str) -> Self {
        let bound = Bound { name, outer: self.bound.clone() };
        Self { bound: Some(Rc::new(bound)), ..self.clone() }
    }

    fn comprehension(&self, comprehension: &'e ComprehensionExpr, push: &mut dyn FnMut(Self)) {
        push(self.child(&comprehension.iter_range));
        push(self.child(&comprehension.accu_init));
        let result = self.binding(&comprehension.accu_var);
        let mut body = result.binding(&comprehension.iter_var);
        if let Some(second) = &comprehension.iter_var2 {
            body = body.binding(second);
        }
        body.loops += usize::from(is_loop(comprehension));
        push(body.child(&comprehension.loop_cond));
        push(body.child(&comprehension.loop_step));
        push(result.child(&comprehension.result));
    }

    fn children(&self, push: &mut dyn FnMut(Self)) {
        match self.expr {
            Expr::Call(call) => {
                call.target.iter().for_each(|target| push(self.child(target)));
                call.args.iter().for_each(|argument| push(self.child(argument)));
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, push),
            Expr::List(list) => list.elements.iter().for_each(|element| push(self.child(element))),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.entry(&entry.expr, push)),
            Expr::Struct(literal) => literal.entries.iter().for_each(|entry| self.entry(&entry.expr, push)),
            Expr::Select(select) => push(self.child(&select.operand)),
            Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
        }
    }

    fn entry(&self, entry: &'e EntryExpr, push: &mut dyn FnMut(Self)) {
        match entry {
            EntryExpr::MapEntry(entry) => {
                push(self.child(&entry.key));
                push(self.child(&entry.value));
            }
            EntryExpr::StructField(field) => push(self.child(&field.value)),
        }
    }
}

/// Whether a comprehension iterates: macros such as `optMap` use one over an empty list to bind a name.
pub(super) fn is_loop(comprehension: &ComprehensionExpr) -> bool {
    !matches!(&comprehension.iter_range.expr, Expr::List(list) if list.elements.is_empty())
}

/// Every node of the tree: parents before their children, children in the order of the text.
pub(super) fn nodes(root: &IdedExpr) -> impl Iterator<Item = Node<'_>> {
    let mut pending = vec![Node { expr: &root.expr, depth: 1, loops: 0, bound: None }];
    std::iter::from_fn(move || {
        let node = pending.pop()?;
        #[cfg(feature = "measure")]
        VISITED.with(|visited| visited.set(visited.get() + 1));
        let waiting = pending.len();
        node.children(&mut |child| pending.push(child));
        pending[waiting..].reverse();
        Some(node)
    })
}

/// Whether a function is `&&` or `||`.
pub(super) fn is_logic(function: &str) -> bool {
    matches!(function, operators::LOGICAL_AND | operators::LOGICAL_OR)
}

/// Whether a function compares its two arguments, or looks one up in the other.
pub(super) fn is_comparison(function: &str) -> bool {
    use operators::{EQUALS, GREATER, GREATER_EQUALS, IN, LESS, LESS_EQUALS, NOT_EQUALS};
    [EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS, IN].contains(&function)
}

/// The operands of a chain of `&&`, or of `||`, from left to right; no other node has any.
pub(super) fn sides<'e>(node: &'e IdedExpr, sides: &mut Vec<&'e IdedExpr>) {
    let Expr::Call(call) = &node.expr else { return };
    if !is_logic(&call.func_name) {
        return;
    }
    for side in &call.args {
        if matches!(&side.expr, Expr::Call(inner) if inner.func_name == call.func_name) {
            self::sides(side, sides);
        } else {
            sides.push(side);
        }
    }
}

/// Changes every node of a checked tree, children before their parents.
pub(super) fn rewrite(node: &mut IdedExpr, change: &mut dyn FnMut(&mut IdedExpr)) {
    match &mut node.expr {
        Expr::Call(call) => {
            let parts = call.target.iter_mut().map(AsMut::as_mut).chain(&mut call.args);
            parts.for_each(|part| rewrite(part, change));
        }
        Expr::Comprehension(comprehension) => {
            let ComprehensionExpr { iter_range, accu_init, loop_cond, loop_step, result, .. } = comprehension.as_mut();
            let parts = [iter_range, accu_init, loop_cond, loop_step, result];
            parts.into_iter().for_each(|part| rewrite(part, change));
        }
        Expr::List(list) => list.elements.iter_mut().for_each(|element| rewrite(element, change)),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| rewrite_entry(entry, change)),
        Expr::Struct(literal) => literal.entries.iter_mut().for_each(|entry| rewrite_entry(entry, change)),
        Expr::Select(select) => rewrite(&mut select.operand, change),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
    change(node);
}

fn rewrite_entry(entry: &mut IdedEntryExpr, change: &mut dyn FnMut(&mut IdedExpr)) {
    match &mut entry.expr {
        EntryExpr::MapEntry(entry) => {
            rewrite(&mut entry.key, change);
            rewrite(&mut entry.value, change);
        }
        EntryExpr::StructField(field) => rewrite(&mut field.value, change),
    }
}
