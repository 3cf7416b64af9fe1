//! Tests of the decision table: each row, pairs of rows that match together, and properties for any input.

mod current;
mod document;
mod gates;
mod order;
mod properties;
mod rows;
mod situation;
