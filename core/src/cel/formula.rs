//! What an expression claims, as a formula over its parts: how two gates relate, told before there is an event.
//!
//! In go a tree, what is certain of the entries of `resources`, and which variables are other expressions; out comes a
//! formula. `&&`, `||`, `!`, conditionals, comparisons with constants and tests of presence are understood. Any other part is
//! an atom, which may be true or not, but the same part is the same atom. So what a formula excludes is certain; what it
//! does not exclude may still be impossible for reasons that the text does not tell. A formula takes every part that is
//! asked for truth as a boolean. The cost is bounded: of a formula with more than a dozen atoms nothing is said.

mod worlds;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};

use self::worlds::{World, Worlds};
use super::lint::{self, Reads, absolute};
use super::prospect::Presence;
pub use super::readings::Key;
use super::{readings, walk};

/// How deep variables may stand for expressions over other such variables.
const MAX_DEFINITIONS: usize = 8;

/// How what two expressions claim relates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They never hold together.
    Apart,
    /// They hold and do not hold together.
    Same,
    /// Where the first holds, so does the second.
    Within,
    /// Where the second holds, so does the first.
    Around,
    /// Both ask for the same thing, and nothing keeps them from holding together.
    Overlapping,
    /// Nothing is certain.
    Unrelated,
}

/// What an expression claims.
#[derive(Debug, Clone)]
pub struct Formula {
    root: Claim,
}

/// What a formula is made from besides the expression.
pub(super) struct Context<'c> {
    /// What is certain of an entry of `resources`.
    pub(super) entries: &'c dyn Fn(&str) -> Presence,
    /// The expression that a variable stands for.
    pub(super) definitions: &'c dyn Fn(&str) -> Option<super::Expression>,
}

#[derive(Debug, Clone)]
enum Claim {
    Constant(bool),
    Atom(Atom),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// A part that may hold or not.
#[derive(Debug, Clone)]
struct Atom {
    /// What is tested, in a form that is the same for the same part.
    subject: String,
    test: Test,
    resources: Reads,
    /// What it reads below entries of `resources`.
    places: Vec<(String, Vec<Key>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Test {
    /// It is true.
    Holds,
    /// It equals a constant.
    Is(String),
    /// It equals another part.
    Equals(String),
    /// It is less than another part.
    Less(String),
    /// It has an entry of this name.
    Has(String),
}

/// An atom without what does not tell it from others.
type Identity<'a> = (&'a str, &'a Test);

/// The formula of a tree.
pub(super) fn formula(root: &IdedExpr, context: &Context<'_>) -> Formula {
    Formula { root: claim(root, context, MAX_DEFINITIONS) }
}

impl Formula {
    /// How it relates to `other`.
    #[must_use]
    pub fn relation(&self, other: &Self) -> Relation {
        let Some(worlds) = Worlds::of(&[self, other]) else { return Relation::Unrelated };
        let (mut alone, mut together, mut other_alone) = (false, false, false);
        for world in worlds.all() {
            match (self.root.holds(&world), other.root.holds(&world)) {
                (true, true) => together = true,
                (true, false) => alone = true,
                (false, true) => other_alone = true,
                (false, false) => {}
            }
        }
        match (alone, together, other_alone) {
            (_, false, _) => Relation::Apart,
            (false, true, false) => Relation::Same,
            (false, true, true) => Relation::Within,
            (true, true, false) => Relation::Around,
            (true, true, true) if worlds.share_demand(self, other) => Relation::Overlapping,
            (true, true, true) => Relation::Unrelated,
        }
    }

    /// Whether its parts exclude each other, so that it never holds.
    #[must_use]
    pub fn is_impossible(&self) -> bool {
        Worlds::of(&[self]).is_some_and(|worlds| worlds.all().all(|world| !self.root.holds(&world)))
    }

    /// What its parts that are not certain read of the entry `name` of `resources`: places in it, the empty one being the whole.
    /// None if that cannot be told.
    #[must_use]
    pub fn places_in(&self, name: &str) -> Option<Vec<Vec<Key>>> {
        let mut atoms = Vec::new();
        self.root.atoms(&mut atoms);
        if atoms.iter().any(|atom| atom.resources.any) {
            return None;
        }
        let places = atoms.into_iter().flat_map(|atom| &atom.places).filter(|(entry, _)| entry == name);
        Some(places.map(|(_, keys)| keys.clone()).collect())
    }
}

impl Claim {
    fn holds(&self, world: &World<'_>) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Atom(atom) => world.is_true(atom.identity()),
            Self::Not(claim) => !claim.holds(world),
            Self::All(claims) => claims.iter().all(|claim| claim.holds(world)),
            Self::Any(claims) => claims.iter().any(|claim| claim.holds(world)),
        }
    }

    fn atoms<'a>(&'a self, found: &mut Vec<&'a Atom>) {
        match self {
            Self::Constant(_) => {}
            Self::Atom(atom) => found.push(atom),
            Self::Not(claim) => claim.atoms(found),
            Self::All(claims) | Self::Any(claims) => claims.iter().for_each(|claim| claim.atoms(found)),
        }
    }

    fn not(self) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(!value),
            Self::Not(claim) => *claim,
            Self::Atom(_) | Self::All(_) | Self::Any(_) => Self::Not(Box::new(self)),
        }
    }
}

impl Atom {
    fn identity(&self) -> Identity<'_> {
        (&self.subject, &self.test)
    }
}

fn claim(node: &IdedExpr, context: &Context<'_>, depth: usize) -> Claim {
    match &node.expr {
        Expr::Literal(LiteralValue::Boolean(value)) => Claim::Constant(*value.inner()),
        Expr::Ident(name) => match (context.definitions)(absolute(name)) {
            Some(definition) if depth > 0 => claim(&definition.parsed.tree, context, depth - 1),
            Some(_) | None => atom(node, node, Test::Holds),
        },
        Expr::Select(select) if select.test => presence(node, &select.operand, &select.field, context),
        Expr::Call(call) => invocation(node, call, context, depth),
        Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => atom(node, node, Test::Holds),
    }
}

fn invocation(node: &IdedExpr, call: &CallExpr, context: &Context<'_>, depth: usize) -> Claim {
    let claim = |node: &IdedExpr| claim(node, context, depth);
    match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
        (operators::LOGICAL_AND, None, [left, right]) => Claim::All(vec![claim(left), claim(right)]),
        (operators::LOGICAL_OR, None, [left, right]) => Claim::Any(vec![claim(left), claim(right)]),
        (operators::LOGICAL_NOT, None, [operand]) => claim(operand).not(),
        (operators::CONDITIONAL, None, [condition, yes, no]) => {
            let condition = claim(condition);
            let otherwise = Claim::All(vec![condition.clone().not(), claim(no)]);
            Claim::Any(vec![Claim::All(vec![condition, claim(yes)]), otherwise])
        }
        (operators::EQUALS, None, [left, right]) => equality(node, left, right, &claim),
        (operators::NOT_EQUALS, None, [left, right]) => equality(node, left, right, &claim).not(),
        (operators::LESS, None, [left, right]) => atom(node, left, Test::Less(subject(right))),
        (operators::GREATER, None, [left, right]) => atom(node, right, Test::Less(subject(left))),
        (operators::LESS_EQUALS, None, [left, right]) => atom(node, right, Test::Less(subject(left))).not(),
        (operators::GREATER_EQUALS, None, [left, right]) => atom(node, left, Test::Less(subject(right))).not(),
        (operators::IN, None, [item, IdedExpr { expr: Expr::List(list), .. }]) if list.optional_indices.is_empty() => {
            Claim::Any(list.elements.iter().map(|element| equality(node, item, element, &claim)).collect())
        }
        (operators::IN, None, [key, object]) => match text(key) {
            Some(key) => presence(node, object, key, context),
            None => atom(node, node, Test::Holds),
        },
        ("hasValue", Some(IdedExpr { expr: Expr::Call(target), .. }), []) => match selected(target) {
            Some((object, key)) => presence(node, object, key, context),
            None => atom(node, node, Test::Holds),
        },
        _ => atom(node, node, Test::Holds),
    }
}

fn equality(node: &IdedExpr, left: &IdedExpr, right: &IdedExpr, claim: &dyn Fn(&IdedExpr) -> Claim) -> Claim {
    match (&left.expr, &right.expr) {
        (Expr::Literal(LiteralValue::Boolean(value)), _) => agreement(*value.inner(), claim(right)),
        (_, Expr::Literal(LiteralValue::Boolean(value))) => agreement(*value.inner(), claim(left)),
        (_, Expr::Literal(_)) => atom(node, left, Test::Is(subject(right))),
        (Expr::Literal(_), _) => atom(node, right, Test::Is(subject(left))),
        _ => {
            let (first, second) = (subject(left), subject(right));
            let (of, other) = if first <= second { (left, second) } else { (right, first) };
            atom(node, of, Test::Equals(other))
        }
    }
}

fn agreement(value: bool, claim: Claim) -> Claim {
    if value { claim } else { claim.not() }
}

/// Whether an object has an entry; of those of `resources` something may be certain.
fn presence(node: &IdedExpr, object: &IdedExpr, key: &str, context: &Context<'_>) -> Claim {
    let is_resources = matches!(&object.expr, Expr::Ident(name) if absolute(name) == "resources");
    match if is_resources { (context.entries)(key) } else { Presence::Unknown } {
        Presence::Present => Claim::Constant(true),
        Presence::Absent => Claim::Constant(false),
        Presence::Unknown => {
            let mut claim = atom(node, object, Test::Has(key.to_owned()));
            // `"k" in a` names what it reads in `a` beside the path, not at its end.
            let is_membership = matches!(&node.expr, Expr::Call(call) if call.func_name == operators::IN);
            if let Claim::Atom(Atom { places, .. }) = &mut claim
                && let [(_, keys)] = places.as_mut_slice()
                && is_membership
                && readings::is_path(object)
            {
                keys.push(Key::Exact(key.to_owned()));
            }
            claim
        }
    }
}

/// The atom that `node` is: a test of `of`.
fn atom(node: &IdedExpr, of: &IdedExpr, test: Test) -> Claim {
    let places = readings::paths(node).iter().filter_map(readings::Path::in_resources).collect();
    Claim::Atom(Atom { subject: subject(of), test, resources: lint::reads(node, "resources"), places })
}

fn text(node: &IdedExpr) -> Option<&str> {
    let Expr::Literal(LiteralValue::String(text)) = &node.expr else { return None };
    Some(text.inner())
}

/// `a.?k`, `a["k"]` and `a[?"k"]` as `a` and `k`.
fn selected(call: &CallExpr) -> Option<(&IdedExpr, &str)> {
    let [object, key] = call.args.as_slice() else { return None };
    let is_selection =
        matches!(call.func_name.as_str(), operators::OPT_SELECT | operators::OPT_INDEX | operators::INDEX);
    Some((object, text(key).filter(|_| is_selection)?))
}

/// A part as text that is the same for the same part: however an entry is selected.
fn subject(node: &IdedExpr) -> String {
    let mut plain = node.clone();
    walk::rewrite(&mut plain, &mut |node| {
        node.id = 0;
        if let Expr::Map(map) = &mut node.expr {
            map.entries.iter_mut().for_each(|entry| entry.id = 0);
        }
        if let Expr::Call(call) = &node.expr
            && let Some((object, key)) = selected(call)
        {
            let select = SelectExpr { operand: Box::new(object.clone()), field: key.to_owned(), test: false };
            node.expr = Expr::Select(select);
        }
    });
    format!("{:?}", plain.expr)
}

#[cfg(test)]
mod tests;
