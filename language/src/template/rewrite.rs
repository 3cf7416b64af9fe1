//! Rewrites a parsed template so that the engine renders it as Go would.
//!
//! In: a checked tree. Out: an engine ready to render it. Never fails. Changes three things:
//!
//! * `.a.b` becomes a call that fails if `.a` is null; the engine would continue with null and print `<no
//!   value>`. A single field of the root cannot meet null, and stays.
//! * The value of an action is printed by [`text`](super::text), because the engine prints Rust's numbers.
//! * Each defined template begins with an empty text, so that each call of it counts as a write.

use std::sync::Arc;

use gotmpl::parse::{
    ActionNode, BranchNode, CommandNode, Expr, ListNode, Node, PipeNode, Pos, SmolStr, TemplateNode, TextNode,
};

use super::check::Parsed;
use super::origin::Origin;
use super::{MAIN, engine, functions};

/// Builds the engine of a template.
pub(super) fn rewrite(parsed: &Parsed) -> gotmpl::Template {
    let mut engine = engine().add_parse_tree(MAIN, list(&parsed.main, true));
    for define in &parsed.defines {
        // As in Go, an empty definition does not replace one with content.
        if define.body.is_empty_tree() && engine.lookup(define.name.as_str()).is_some() {
            continue;
        }
        let mut body = list(&define.body, false);
        body.nodes.insert(0, Node::Text(TextNode { pos: body.pos, text: Arc::from("") }));
        engine = engine.add_parse_tree(define.name.as_str(), body);
    }
    engine
}

fn list(list: &ListNode, at_root: bool) -> ListNode {
    ListNode { pos: list.pos, nodes: list.nodes.iter().map(|node| self::node(node, at_root)).collect() }
}

fn node(node: &Node, at_root: bool) -> Node {
    match node {
        Node::Action(action) => {
            let mut pipe = self::pipe(&action.pipe, at_root);
            if pipe.decl.is_empty() {
                let origin = Origin::of(&action.pipe, at_root).written();
                let mut arguments = vec![Expr::String(action.pos, Arc::from(origin))];
                if is_json(&action.pipe) {
                    arguments.push(Expr::Bool(action.pos, true));
                }
                pipe.commands.push(call(action.pos, functions::SHOW, arguments));
            }
            Node::Action(ActionNode { pos: action.pos, pipe })
        }
        Node::If(branch) => Node::If(self::branch(branch, at_root, at_root)),
        Node::With(branch) => Node::With(self::branch(branch, at_root, false)),
        Node::Range(branch) => Node::Range(self::branch(branch, at_root, false)),
        Node::List(inner) => Node::List(list(inner, at_root)),
        Node::Template(call) => Node::Template(TemplateNode {
            pos: call.pos,
            name: call.name.clone(),
            // Without a pipeline Go passes nil, but the engine the dot.
            pipe: Some(call.pipe.as_ref().map_or_else(|| nil(call.pos), |pipe| self::pipe(pipe, at_root))),
        }),
        Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => node.clone(),
    }
}

fn branch(branch: &BranchNode, at_root: bool, body_at_root: bool) -> BranchNode {
    BranchNode {
        pos: branch.pos,
        pipe: pipe(&branch.pipe, at_root),
        body: list(&branch.body, body_at_root),
        else_body: branch.else_body.as_ref().map(|body| list(body, at_root)),
    }
}

fn pipe(pipe: &PipeNode, at_root: bool) -> PipeNode {
    let command = |command: &CommandNode| CommandNode {
        pos: command.pos,
        args: command.args.iter().map(|argument| expression(argument, at_root)).collect(),
    };
    let commands = pipe.commands.iter().map(command).collect();
    PipeNode { pos: pipe.pos, decl: pipe.decl.clone(), commands, is_assign: pipe.is_assign }
}

fn expression(expression: &Expr, at_root: bool) -> Expr {
    match expression {
        Expr::Field(_, fields) if at_root && fields.len() == 1 => expression.clone(),
        Expr::Field(pos, fields) => members(*pos, Expr::Dot(*pos), fields),
        Expr::Variable(_, _, fields) if fields.is_empty() => expression.clone(),
        Expr::Variable(pos, name, fields) => members(*pos, Expr::Variable(*pos, name.clone(), Vec::new()), fields),
        Expr::Chain(pos, inner, fields) => members(*pos, self::expression(inner, at_root), fields),
        Expr::Pipe(pos, inner) => Expr::Pipe(*pos, pipe(inner, at_root)),
        Expr::Dot(_) | Expr::Identifier(..) | Expr::String(..) | Expr::Number(..) | Expr::Bool(..) | Expr::Nil(_) => {
            expression.clone()
        }
    }
}

fn members(pos: Pos, base: Expr, fields: &[SmolStr]) -> Expr {
    let names = fields.iter().map(|field| Expr::String(pos, Arc::from(field.as_str())));
    let arguments = std::iter::once(base).chain(names).collect();
    pipe_of(pos, call(pos, functions::MEMBER, arguments))
}

fn pipe_of(pos: Pos, command: CommandNode) -> Expr {
    Expr::Pipe(pos, PipeNode { pos, decl: Vec::new(), commands: vec![command], is_assign: false })
}

fn nil(pos: Pos) -> PipeNode {
    // A literal nil is not a command, so a function returns it.
    PipeNode { pos, decl: Vec::new(), commands: vec![call(pos, functions::NIL, Vec::new())], is_assign: false }
}

/// Whether the value of a pipeline is the result of `toJson`.
fn is_json(pipe: &PipeNode) -> bool {
    let head = pipe.commands.last().and_then(|command| command.args.first());
    matches!(head, Some(Expr::Identifier(_, name)) if name == functions::TO_JSON)
}

fn call(pos: Pos, function: &str, arguments: Vec<Expr>) -> CommandNode {
    let mut args = vec![Expr::Identifier(pos, SmolStr::new(function))];
    args.extend(arguments);
    CommandNode { pos, args }
}
