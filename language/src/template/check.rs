//! Rejects what Go's parser rejects and the engine's does not, and collects what a template reads.
//!
//! In: the text of a template. Out: its parsed tree, unchanged, and [`Findings`]. Fails for unknown
//! functions, undefined variables, and jumps outside of loops.

use std::collections::{BTreeMap, BTreeSet};

use gotmpl::parse::{BranchNode, DefineNode, Expr, ListNode, Node, Parser, PipeNode, SmolStr, TemplateNode};

use super::functions::printf;
use super::{TemplateError, functions};
use crate::resource_reads::ResourceReads;

/// The variable of the live objects.
const RESOURCES: &str = "resources";

/// A parsed template, and the templates that it defines.
pub(super) struct Parsed {
    pub(super) main: ListNode,
    pub(super) defines: Vec<DefineNode>,
}

/// What a template reads.
#[derive(Clone)]
pub(super) struct Findings {
    pub(super) variables: BTreeSet<String>,
    pub(super) resources: ResourceReads,
    /// Whether the template uses the root itself, and not only paths below it: prints it, passes it on, or
    /// ranges over it.
    pub(super) reads_root: bool,
    pub(super) reads_clock: bool,
    /// Whether a part of the template depends on a condition, a loop or another template.
    pub(super) has_branch: bool,
}

impl Findings {
    pub(super) const fn nothing() -> Self {
        Self {
            variables: BTreeSet::new(),
            resources: ResourceReads::Only(BTreeSet::new()),
            reads_root: false,
            reads_clock: false,
            has_branch: false,
        }
    }
}

/// Text appended to each template: the parser silently stops at a surplus `{{end}}`, and then the sentinel is
/// missing from the tree.
const SENTINEL: &str = "\u{1}end of template\u{1}";

/// Parses a template, and checks that the parser reached the end of the text.
pub(super) fn parse(source: &str) -> Result<Parsed, TemplateError> {
    if source.contains(SENTINEL) {
        return Err(error("the text contains a reserved control sequence"));
    }
    let guarded = format!("{source}{SENTINEL}");
    let (mut main, defines) = tree(&guarded).map_err(|cause| {
        // Parse the text again without the sentinel, so that the error does not mention it.
        let cause = tree(source).err().unwrap_or(cause);
        syntax_error(source, &cause)
    })?;
    match main.nodes.pop() {
        Some(Node::Text(mut last)) if last.text.ends_with(SENTINEL) => {
            if last.text.len() > SENTINEL.len() {
                last.text = last.text[..last.text.len() - SENTINEL.len()].into();
                main.nodes.push(Node::Text(last));
            }
        }
        _ => return Err(error("an {{end}} is missing, or there is one too many")),
    }
    check_names(&defines)?;
    Ok(Parsed { main, defines })
}

fn tree(source: &str) -> Result<(ListNode, Vec<DefineNode>), gotmpl::TemplateError> {
    Parser::new(source, "{{", "}}")?.parse()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors; a parser gives no others")]
fn syntax_error(source: &str, cause: &gotmpl::TemplateError) -> TemplateError {
    let (message, position) = match cause {
        gotmpl::TemplateError::Lex { line, col, message, .. }
        | gotmpl::TemplateError::Parse { line, col, message, .. } => (message, (*line, *col)),
        other => return error(other.to_string()),
    };
    if message != UNCLOSED {
        return TemplateError { message: message.clone(), position: Some(position) };
    }
    // The parser reports the end of the text; the author has to look at the last `{{`.
    let before = source.rfind("{{").map_or("", |opening| &source[..opening]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    TemplateError { message: "unclosed action: `}}` is missing".to_owned(), position: Some((line, column)) }
}

/// The engine's error for an action without `}}`.
const UNCLOSED: &str = "unclosed action";

/// Checks a parsed template, and collects what it reads.
pub(super) fn check(parsed: &Parsed) -> Result<Findings, TemplateError> {
    let mut walker = Walker {
        defines: parsed.defines.iter().map(|define| (define.name.as_str(), &define.body)).collect(),
        findings: Findings::nothing(),
        names: Vec::new(),
        loops: 0,
        dollar_is_root: false,
        rooted: BTreeSet::new(),
        pending: vec![&parsed.main],
    };
    while let Some(body) = walker.pending.pop() {
        walker.template(body, true)?;
    }
    for define in &parsed.defines {
        walker.template(&define.body, false)?;
    }
    Ok(walker.findings)
}

fn error(message: impl Into<String>) -> TemplateError {
    TemplateError { message: message.into(), position: None }
}

/// Whether a pipeline is the root, where the dot and `$` are the root.
fn is_root(pipe: &PipeNode) -> bool {
    match pipe.commands.as_slice() {
        [command] => match command.args.as_slice() {
            [Expr::Dot(_)] => true,
            [Expr::Variable(_, name, fields)] => name == "$" && fields.is_empty(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether an expression is the time that the function `now` returns.
fn is_clock(expression: &Expr) -> bool {
    let is_now = |expression: &Expr| matches!(expression, Expr::Identifier(_, name) if name == "now");
    let Expr::Pipe(_, pipe) = expression else { return is_now(expression) };
    matches!(pipe.commands.as_slice(), [command] if command.args.iter().all(is_now))
}

/// Checks a call of `printf` whose format is written out, with one more value if it is in a pipe.
fn check_format(arguments: &[Expr], is_piped: bool) -> Result<(), TemplateError> {
    let [Expr::Identifier(_, name), Expr::String(_, format), values @ ..] = arguments else { return Ok(()) };
    if name != "printf" {
        return Ok(());
    }
    let checked = printf::check(format, values.len() + usize::from(is_piped));
    checked.map_err(|fault| error(format!("printf: {fault}")))
}

/// Refuses fields of the time `now`, and arguments of a field: in Go these are methods.
fn check_methods(arguments: &[Expr], is_piped: bool) -> Result<(), TemplateError> {
    let is_field = match arguments.first() {
        Some(Expr::Field(..)) => true,
        Some(Expr::Variable(_, _, fields)) => !fields.is_empty(),
        Some(Expr::Chain(..)) => true,
        Some(
            Expr::Dot(_)
            | Expr::Identifier(..)
            | Expr::Pipe(..)
            | Expr::String(..)
            | Expr::Number(..)
            | Expr::Bool(..)
            | Expr::Nil(_),
        )
        | None => false,
    };
    if is_field && (is_piped || arguments.len() > 1) {
        return Err(error("a field takes no arguments; templates have no methods, write `now | date \"…\"`"));
    }
    Ok(())
}

/// Whether an expression is a constant, so that nothing can be piped into it.
fn is_constant(expression: &Expr) -> bool {
    matches!(expression, Expr::Dot(_) | Expr::String(..) | Expr::Number(..) | Expr::Bool(..) | Expr::Nil(_))
}

/// Rejects two definitions of one name, unless one of them is empty.
fn check_names(defines: &[DefineNode]) -> Result<(), TemplateError> {
    let mut seen = BTreeSet::new();
    for define in defines {
        if !define.body.is_empty_tree() && !seen.insert(define.name.as_str()) {
            return Err(error(format!("multiple definition of template {:?}", define.name.as_str())));
        }
    }
    Ok(())
}

struct Walker<'tree> {
    defines: BTreeMap<&'tree str, &'tree ListNode>,
    findings: Findings,
    /// The variables in scope; as in Go's parser, a variable's scope ends with its control structure.
    names: Vec<&'tree str>,
    loops: usize,
    dollar_is_root: bool,
    /// The defined templates that are called with the root as their dot.
    rooted: BTreeSet<&'tree str>,
    /// Templates called with the root that were not walked yet: a list and no recursion, because a chain of
    /// calls may be long.
    pending: Vec<&'tree ListNode>,
}

impl<'tree> Walker<'tree> {
    /// Walks a template from its beginning, where only the variable `$` is in scope and no loop is open.
    fn template(&mut self, body: &'tree ListNode, at_root: bool) -> Result<(), TemplateError> {
        self.names = vec!["$"];
        self.loops = 0;
        self.dollar_is_root = at_root;
        self.list(body, at_root)
    }

    fn list(&mut self, list: &'tree ListNode, at_root: bool) -> Result<(), TemplateError> {
        list.nodes.iter().try_for_each(|node| self.node(node, at_root))
    }

    fn node(&mut self, node: &'tree Node, at_root: bool) -> Result<(), TemplateError> {
        self.findings.has_branch |= matches!(node, Node::If(_) | Node::With(_) | Node::Range(_) | Node::Template(_));
        match node {
            Node::Text(_) | Node::Define(_) => Ok(()),
            Node::List(list) => self.list(list, at_root),
            Node::Action(action) => self.pipe(&action.pipe, at_root),
            Node::If(branch) => self.branch(branch, at_root, at_root, 0),
            Node::With(branch) => self.branch(branch, at_root, at_root && is_root(&branch.pipe), 0),
            Node::Range(branch) => self.branch(branch, at_root, false, 1),
            Node::Template(call) => self.call(call, at_root),
            Node::Break(_) if self.loops == 0 => Err(error("{{break}} outside {{range}}")),
            Node::Continue(_) if self.loops == 0 => Err(error("{{continue}} outside {{range}}")),
            Node::Break(_) | Node::Continue(_) => Ok(()),
        }
    }

    /// Walks a control structure. Its body, but not its `else`, is inside `loops` more loops.
    fn branch(
        &mut self,
        branch: &'tree BranchNode,
        at_root: bool,
        body_at_root: bool,
        loops: usize,
    ) -> Result<(), TemplateError> {
        let in_scope = self.names.len();
        self.pipe(&branch.pipe, at_root)?;
        self.loops += loops;
        self.list(&branch.body, body_at_root)?;
        self.loops -= loops;
        if let Some(body) = &branch.else_body {
            self.list(body, at_root)?;
        }
        self.names.truncate(in_scope);
        Ok(())
    }

    fn call(&mut self, call: &'tree TemplateNode, at_root: bool) -> Result<(), TemplateError> {
        let Some(pipe) = &call.pipe else { return Ok(()) };
        // A template that is called with the root reads from the root.
        if at_root && is_root(pipe) {
            if let Some((&name, &body)) = self.defines.get_key_value(call.name.as_str())
                && self.rooted.insert(name)
            {
                self.pending.push(body);
            }
            if pipe.decl.is_empty() {
                return Ok(());
            }
        }
        self.pipe(pipe, at_root)
    }

    fn pipe(&mut self, pipe: &'tree PipeNode, at_root: bool) -> Result<(), TemplateError> {
        for (stage, command) in pipe.commands.iter().enumerate() {
            check_format(&command.args, stage > 0)?;
            check_methods(&command.args, stage > 0)?;
            if stage > 0 && command.args.first().is_some_and(is_constant) {
                return Err(error(format!("non executable command in pipeline stage {}", stage + 1)));
            }
            match self.constant_entry(&command.args, at_root) {
                Some((name, more)) => {
                    self.findings.variables.insert(RESOURCES.to_owned());
                    self.findings.resources.add(name);
                    more.iter().try_for_each(|argument| self.expression(argument, at_root))?;
                }
                None => command.args.iter().try_for_each(|argument| self.expression(argument, at_root))?,
            }
        }
        for name in &pipe.decl {
            if pipe.is_assign {
                self.variable(name.as_str())?;
            } else {
                self.names.push(name.as_str());
            }
        }
        Ok(())
    }

    fn expression(&mut self, expression: &'tree Expr, at_root: bool) -> Result<(), TemplateError> {
        match expression {
            Expr::Field(_, fields) => {
                if at_root {
                    self.path(fields);
                }
                Ok(())
            }
            Expr::Variable(_, name, fields) => {
                if name == "$" && self.dollar_is_root {
                    self.path(fields);
                }
                self.variable(name.as_str())
            }
            Expr::Identifier(_, name) => {
                self.findings.reads_clock |= name == "now";
                self.findings.has_branch |= matches!(name.as_str(), "and" | "or");
                if functions::is_known(name.as_str()) {
                    Ok(())
                } else {
                    Err(error(format!("function {:?} not defined", name.as_str())))
                }
            }
            Expr::Pipe(_, pipe) => self.pipe(pipe, at_root),
            Expr::Chain(_, inner, _) if is_clock(inner) => {
                Err(error("templates have no methods of times; write `now | date \"…\"`"))
            }
            Expr::Chain(_, inner, _) => self.expression(inner, at_root),
            Expr::Dot(_) => {
                if at_root {
                    self.path(&[]);
                }
                Ok(())
            }
            Expr::String(..) | Expr::Number(..) | Expr::Bool(..) | Expr::Nil(_) => Ok(()),
        }
    }

    /// Notes the read of a path from the root; the empty path is the root itself.
    fn path(&mut self, fields: &[SmolStr]) {
        let Findings { variables, resources, reads_root, .. } = &mut self.findings;
        match fields {
            [first, ..] if first != RESOURCES => {}
            [_, name, ..] => resources.add(name),
            [] | [_] => *resources = ResourceReads::Any,
        }
        if fields.is_empty() {
            *reads_root = true;
        } else {
            variables.insert(fields.join("."));
        }
    }

    /// The name and the further arguments in `index .resources "name" …`.
    fn constant_entry<'a>(&self, arguments: &'a [Expr], at_root: bool) -> Option<(&'a str, &'a [Expr])> {
        let [Expr::Identifier(_, function), object, Expr::String(_, name), more @ ..] = arguments else { return None };
        let (is_below_root, fields) = match object {
            Expr::Field(_, fields) => (at_root, fields),
            Expr::Variable(_, name, fields) => (name == "$" && self.dollar_is_root, fields),
            Expr::Dot(_)
            | Expr::Identifier(..)
            | Expr::String(..)
            | Expr::Number(..)
            | Expr::Bool(..)
            | Expr::Nil(_)
            | Expr::Pipe(..)
            | Expr::Chain(..) => return None,
        };
        (function == "index" && is_below_root && *fields == [RESOURCES]).then_some((&**name, more))
    }

    fn variable(&self, name: &str) -> Result<(), TemplateError> {
        if self.names.contains(&name) { Ok(()) } else { Err(error(format!("undefined variable {name:?}"))) }
    }
}
