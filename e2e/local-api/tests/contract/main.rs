//! The API's contract, clause by clause, through HTTP and on a real PostgreSQL.

mod creation;
mod deletion;
mod documents;
mod errors;
mod lists;
mod orphans;
mod patches;
mod references;
mod reports;
mod world;
