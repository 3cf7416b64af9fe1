//! Every way in which the parts of formulas can turn out.
//!
//! In go formulas, out come the combinations of answers that their atoms can have together. None is made of too many
//! atoms, as each one doubles their number.

use std::collections::BTreeSet;

use super::{Atom, Formula, Identity, Test};

/// How many atoms two formulas may have together: every combination of them is looked at.
const MAX_ATOMS: usize = 12;
/// Every combination of answers that the atoms of some formulas can have.
pub(super) struct Worlds<'a> {
    atoms: Vec<Identity<'a>>,
}

/// One such combination.
pub(super) struct World<'a> {
    atoms: &'a [Identity<'a>],
    answers: u32,
}

impl<'a> Worlds<'a> {
    pub(super) fn of(formulas: &[&'a Formula]) -> Option<Self> {
        let mut atoms = Vec::new();
        formulas.iter().for_each(|formula| formula.root.atoms(&mut atoms));
        let atoms: BTreeSet<Identity<'_>> = atoms.into_iter().map(Atom::identity).collect();
        (atoms.len() <= MAX_ATOMS).then(|| Self { atoms: atoms.into_iter().collect() })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = World<'_>> {
        (0..1_u32 << self.atoms.len()).map(|answers| World { atoms: &self.atoms, answers }).filter(World::is_possible)
    }

    /// Whether both formulas need the same atom to have the same answer.
    pub(super) fn share_demand(&self, one: &Formula, other: &Formula) -> bool {
        let demands = |formula: &Formula, atom: Identity<'_>, answer: bool| {
            self.all().all(|world| !formula.root.holds(&world) || world.is_true(atom) == answer)
        };
        let is_shared = |atom: Identity<'_>| {
            [true, false].into_iter().any(|answer| demands(one, atom, answer) && demands(other, atom, answer))
        };
        self.atoms.iter().any(|atom| is_shared(*atom))
    }
}

impl World<'_> {
    pub(super) fn is_true(&self, atom: Identity<'_>) -> bool {
        self.atoms.iter().position(|known| *known == atom).is_some_and(|place| self.answers >> place & 1 == 1)
    }

    /// Nothing equals two constants, or is less than what is less than it.
    fn is_possible(&self) -> bool {
        let yes: Vec<Identity<'_>> = self.atoms.iter().copied().filter(|atom| self.is_true(*atom)).collect();
        yes.iter().enumerate().all(|(place, (subject, test))| {
            yes[place + 1..].iter().all(|(other, of_other)| match (test, of_other) {
                (Test::Is(_), Test::Is(_)) => subject != other,
                (Test::Less(more), Test::Less(of_more)) => more != other || subject != of_more,
                _ => true,
            })
        })
    }
}
