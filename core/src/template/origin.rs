//! Which fields the text comes from that an action prints.
//!
//! In goes the pipeline of an action, out comes an [`Origin`]. The origin becomes the first argument of the function that shows
//! the value, so that [`UrlTemplate`](super::UrlTemplate) knows which fields an author's function has put into a URL.

use std::collections::BTreeSet;

use gotmpl::parse::{Expr, PipeNode};

/// The fields that a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// The value is one field.
    Field,
    /// Functions make the value of the fields at these dotted paths below the root.
    Fields(BTreeSet<String>),
    /// The value comes out of a variable or the dot of a block, which may hold anything.
    Unknown,
}

impl Origin {
    /// The origin of what a pipeline gives; `at_root` says whether the dot is the root.
    pub(super) fn of(pipe: &PipeNode, at_root: bool) -> Self {
        if let [command] = pipe.commands.as_slice()
            && let [Expr::Field(..) | Expr::Variable(..)] = command.args.as_slice()
            && !matches!(command.args.as_slice(), [Expr::Variable(_, _, fields)] if fields.is_empty())
        {
            return Self::Field;
        }
        let mut paths = BTreeSet::new();
        if collect(pipe, at_root, &mut paths) { Self::Fields(paths) } else { Self::Unknown }
    }

    /// The origin as text, which [`read`](Self::read) reads.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Field => "field".to_owned(),
            Self::Fields(paths) => paths.iter().map(|path| format!(" {path}")).collect(),
            Self::Unknown => "unknown".to_owned(),
        }
    }

    pub(super) fn read(written: &str) -> Self {
        match written {
            "field" => Self::Field,
            "unknown" => Self::Unknown,
            paths => Self::Fields(paths.split_whitespace().map(str::to_owned).collect()),
        }
    }
}

/// Collects the paths that a pipeline reads; says whether the pipeline reads nothing else.
fn collect(pipe: &PipeNode, at_root: bool, paths: &mut BTreeSet<String>) -> bool {
    let mut arguments = pipe.commands.iter().flat_map(|command| &command.args);
    arguments.all(|argument| collect_expression(argument, at_root, paths))
}

fn collect_expression(expression: &Expr, at_root: bool, paths: &mut BTreeSet<String>) -> bool {
    match expression {
        Expr::Field(_, fields) => {
            paths.insert(fields.join("."));
            at_root
        }
        Expr::Variable(_, name, fields) => {
            paths.insert(fields.join("."));
            at_root && name == "$" && !fields.is_empty()
        }
        Expr::Chain(_, inner, _) => collect_expression(inner, at_root, paths),
        Expr::Pipe(_, pipe) => collect(pipe, at_root, paths),
        Expr::Dot(_) => false,
        Expr::Identifier(..) | Expr::String(..) | Expr::Number(..) | Expr::Bool(..) | Expr::Nil(_) => true,
    }
}
