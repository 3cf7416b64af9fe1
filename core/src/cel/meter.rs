//! A bound on the turns that the loops of one evaluation make.
//!
//! In goes a parsed tree, out comes one that reads a variable of ours before each turn of each loop. The resolver
//! counts the reads and, after [`MAX_TURNS`], has no such variable: the loop fails, and so do those
//! around it. The interpreter itself knows no bound, and three loops over a list of a thousand would keep a worker
//! busy for minutes, whatever the event's deadline says.

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};

use super::dialect::{self, Compiled};
use super::{answer, cost, walk};

/// The turns of all loops of one evaluation together; as for templates.
pub(super) const MAX_TURNS: usize = 100_000;

/// The variable that each turn reads; no author can write its name.
pub(super) const TURN: &str = "@turn";

/// What is evaluated.
pub(super) struct Program {
    pub(super) tree: IdedExpr,
    /// The patterns that are written in the tree.
    pub(super) patterns: Vec<Compiled>,
}

/// The tree that is evaluated: in cel-go's dialect, with the meter in every loop, tolls on what is copied, and an answer
/// that is JSON. The tree is no deeper than [`super::limits`] allows.
pub(super) fn program(mut root: IdedExpr) -> Program {
    let mut patterns = Vec::new();
    walk::rewrite(&mut root, &mut |node| {
        dialect::adapt(node, &mut patterns);
        cost::charge(&mut node.expr);
        if let Expr::Comprehension(comprehension) = &mut node.expr {
            meter(comprehension);
        }
    });
    cost::charge_answer(&mut root);
    Program { tree: answer::wrap(root), patterns }
}

/// The interpreter appends in place where it recognizes `map` and `filter`: by a condition that is a literal, and by
/// the shape of the step. So there the meter goes into the step's guard; else it goes before the condition.
fn meter(comprehension: &mut ComprehensionExpr) {
    if !matches!(comprehension.loop_cond.expr, Expr::Literal(_)) {
        let condition = std::mem::take(&mut comprehension.loop_cond);
        comprehension.loop_cond = guarded(condition, literal_false());
        return;
    }
    let accumulator = || tree(Expr::Ident(comprehension.accu_var.clone()));
    if let Expr::Call(call) = &mut comprehension.loop_step.expr
        && call.func_name == operators::CONDITIONAL
        && let Some(guard) = call.args.first_mut()
    {
        *guard = guarded(std::mem::take(guard), literal_false());
    } else {
        let otherwise = accumulator();
        comprehension.loop_step = guarded(std::mem::take(&mut comprehension.loop_step), otherwise);
    }
}

/// `@turn ? then : otherwise`: unlike `&&`, it fails if the meter does, whatever comes after.
fn guarded(then: IdedExpr, otherwise: IdedExpr) -> IdedExpr {
    let args = vec![tree(Expr::Ident(TURN.to_owned())), then, otherwise];
    tree(Expr::Call(CallExpr { func_name: operators::CONDITIONAL.to_owned(), target: None, args }))
}

fn literal_false() -> IdedExpr {
    tree(Expr::Literal(LiteralValue::Boolean(false.into())))
}

fn tree(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}
