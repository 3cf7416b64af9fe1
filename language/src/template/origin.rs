//! Finds the fields from which the value of an action comes.
//!
//! In: the pipeline of an action. Out: an [`Origin`], which becomes the first argument of the function that
//! prints the value. So [`UrlTemplate`](super::UrlTemplate) knows which fields a function of the author has
//! put into a URL.

use std::collections::BTreeSet;

use gotmpl::parse::{Expr, PipeNode};

/// The fields from which a value comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// The value is a single field.
    Field,
    /// Functions compute the value from the fields at these dotted paths below the root.
    Fields(BTreeSet<String>),
    /// The value comes from a variable or the dot of a block, whose source is unknown.
    Unknown,
}

impl Origin {
    /// Returns the origin of a pipeline's value; `at_root` says whether the dot is the root.
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

    /// Encodes the origin as text, for [`read`](Self::read).
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

/// Collects the paths that a pipeline reads from the root; returns whether it reads nothing else.
pub(super) fn collect(pipe: &PipeNode, at_root: bool, paths: &mut BTreeSet<String>) -> bool {
    let arguments = pipe.commands.iter().flat_map(|command| &command.args);
    // All are read: those behind one that reads something else have paths, too.
    let others = arguments.filter(|argument| !collect_expression(argument, at_root, paths));
    others.count() == 0
}

fn collect_expression(expression: &Expr, at_root: bool, paths: &mut BTreeSet<String>) -> bool {
    match expression {
        Expr::Field(_, fields) => {
            paths.extend(at_root.then(|| fields.join(".")));
            at_root
        }
        // Within a loop, too, `$` is the root.
        Expr::Variable(_, name, fields) => {
            let is_root = name == "$" && !fields.is_empty();
            paths.extend(is_root.then(|| fields.join(".")));
            at_root && is_root
        }
        Expr::Chain(_, inner, _) => collect_expression(inner, at_root, paths),
        Expr::Pipe(_, pipe) => collect(pipe, at_root, paths),
        Expr::Dot(_) => false,
        Expr::Identifier(..) | Expr::String(..) | Expr::Number(..) | Expr::Bool(..) | Expr::Nil(_) => true,
    }
}
