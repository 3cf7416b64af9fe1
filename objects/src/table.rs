//! The rows of a decision table, each declared once.

/// Declares the rows of a decision table as an enum. For each: variant, number, and condition.
#[macro_export]
macro_rules! table {
    ($(#[$doc:meta])* $($name:ident, $number:literal, $condition:literal;)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Row {
            $(#[doc = $number] #[doc = ": "] #[doc = $condition] #[doc = "."] $name,)*
        }

        impl Row {
            /// Every row, in the table's order.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$name),*];

            /// The row's number in the table.
            #[must_use]
            pub fn number(self) -> &'static str {
                match self {
                    $(Self::$name => $number,)*
                }
            }

            /// The row's condition, as the table states it.
            #[must_use]
            pub fn condition(self) -> &'static str {
                match self {
                    $(Self::$name => $condition,)*
                }
            }
        }

        impl std::fmt::Display for Row {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "row {}: {}", self.number(), self.condition())
            }
        }
    };
}
