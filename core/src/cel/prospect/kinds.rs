//! Kinds of results, and what the operators make of them.
//!
//! In go the kinds that operands can have, out come those that the result can have; never too few.

/// Kinds of results, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const TRUE: Self = Self(1);
    pub(super) const FALSE: Self = Self(2);
    /// An optional without a value.
    pub(super) const NONE: Self = Self(4);
    /// An optional with a value.
    pub(super) const SOME: Self = Self(8);
    /// A value that is neither boolean nor optional.
    pub(super) const OTHER: Self = Self(16);
    pub(super) const ERROR: Self = Self(32);
    pub(super) const BOOLEAN: Self = Self(1 | 2);
    pub(super) const TEST: Self = Self(1 | 2 | 32);
    pub(super) const ANYTHING: Self = Self(63);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    pub(super) const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self(0) }
    }

    /// An operator that takes booleans only.
    pub(super) const fn error_unless_boolean(self) -> Self {
        Self::ERROR.when(!self.within(Self::BOOLEAN))
    }
}

pub(super) fn conjunction(left: Kinds, right: Kinds) -> Kinds {
    if left == Kinds::FALSE || right == Kinds::FALSE {
        return Kinds::FALSE;
    }
    Kinds::TRUE
        .when(left.has(Kinds::TRUE) && right.has(Kinds::TRUE))
        .or(Kinds::FALSE.when(left.has(Kinds::FALSE) || right.has(Kinds::FALSE)))
        .or(left.error_unless_boolean())
        .or(right.error_unless_boolean())
}

pub(super) fn negation(operand: Kinds) -> Kinds {
    Kinds::TRUE
        .when(operand.has(Kinds::FALSE))
        .or(Kinds::FALSE.when(operand.has(Kinds::TRUE)))
        .or(operand.error_unless_boolean())
}

pub(super) fn equality(left: Kinds, right: Kinds) -> Kinds {
    let single = |kinds: Kinds| kinds == Kinds::TRUE || kinds == Kinds::FALSE;
    if single(left) && single(right) {
        return if left == right { Kinds::TRUE } else { Kinds::FALSE };
    }
    Kinds::BOOLEAN.or(Kinds::ERROR.when(!left.or(right).within(Kinds::BOOLEAN)))
}

pub(super) fn has_value(target: Kinds) -> Kinds {
    Kinds::TRUE
        .when(target.has(Kinds::SOME))
        .or(Kinds::FALSE.when(target.has(Kinds::NONE)))
        .or(Kinds::ERROR.when(!target.within(Kinds::SOME.or(Kinds::NONE))))
}
