//! The table, row by row and pair by pair; then what must hold for any input.

mod current;
mod document;
mod gates;
mod order;
mod properties;
mod rows;
mod situation;
