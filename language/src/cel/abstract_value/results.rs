//! Sets of results, and what the operators make of them: the results of an operator for every result of its operands.

/// A set of results that an expression can have, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Results(u8);

impl Results {
    pub(super) const TRUE: Self = Self(1);
    pub(super) const FALSE: Self = Self(2);
    /// A value that is no boolean and counts as true.
    pub(super) const TRUTHY: Self = Self(4);
    /// A value that is no boolean and counts as false.
    pub(super) const FALSY: Self = Self(8);
    /// An optional without a value.
    pub(super) const NONE: Self = Self(16);
    pub(super) const ERROR: Self = Self(32);
    pub(super) const BOOLEAN: Self = Self(1 | 2);
    pub(super) const TEST: Self = Self(1 | 2 | 32);
    /// A value that is no boolean.
    pub(super) const OTHER: Self = Self(4 | 8);
    pub(super) const ANY: Self = Self(63);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    pub(super) const fn boolean(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self(0) }
    }

    /// The error of an operator that takes booleans only.
    const fn error_unless_boolean(self) -> Self {
        Self::ERROR.when(!self.within(Self::BOOLEAN))
    }

    pub(super) fn not(self) -> Self {
        let swapped = Self::TRUE.when(self.has(Self::FALSE)).or(Self::FALSE.when(self.has(Self::TRUE)));
        swapped.or(self.error_unless_boolean())
    }

    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::FALSE || other == Self::FALSE {
            return Self::FALSE;
        }
        Self::TRUE
            .when(self.has(Self::TRUE) && other.has(Self::TRUE))
            .or(Self::FALSE.when(self.has(Self::FALSE) || other.has(Self::FALSE)))
            .or(self.error_unless_boolean())
            .or(other.error_unless_boolean())
    }

    pub(super) fn choose(self, yes: Self, no: Self) -> Self {
        let chosen = yes.when(self.has(Self::TRUE)).or(no.when(self.has(Self::FALSE)));
        chosen.or(self.error_unless_boolean())
    }
}
