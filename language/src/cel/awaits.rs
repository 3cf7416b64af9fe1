//! Finds the resources for which a condition waits, so that traces can tell waiting from not being asked for.

use std::collections::BTreeSet;

use cel::common::ast::{Expr, IdedExpr, operators};

use super::{Expression, lint};
use crate::resource_reads::ResourceReads;
use crate::scope::Scope;

impl Expression {
    /// The entries of `resources`, other than `own`, for which a condition that does not hold waits: each of its terms that
    /// does not hold reads such an entry, so that a change of these can make the condition hold. Empty if another term
    /// keeps it from holding. The terms are what `&&` joins.
    #[must_use]
    pub fn awaits(&self, own: &str, scope: &Scope) -> BTreeSet<String> {
        let mut awaited = BTreeSet::new();
        let ResourceReads::Only(reads) = self.resource_reads() else { return awaited };
        if reads.iter().all(|name| name == own) {
            return awaited;
        }
        let parsed = |term: &IdedExpr| Self::of_tree(self.source().to_owned(), term.clone());
        for term in self.parsed.terms.get_or_init(|| terms(&self.parsed.tree).into_iter().map(parsed).collect()) {
            if term.matches(scope).is_ok_and(|holds| holds) {
                continue;
            }
            let mut others = lint::reads(&term.parsed.tree, "resources").names;
            others.remove(own);
            if others.is_empty() {
                return others;
            }
            awaited.append(&mut others);
        }
        awaited
    }
}

fn terms(tree: &IdedExpr) -> Vec<&IdedExpr> {
    if let Expr::Call(call) = &tree.expr
        && call.func_name == operators::LOGICAL_AND
    {
        return call.args.iter().flat_map(terms).collect();
    }
    vec![tree]
}
