//! Prints an error with its causes, without PostgreSQL's line numbers.
//!
//! In: an error. Out: one line. Fails: never.

use std::error::Error;
use std::iter::successors;

use lifecycle_errors::Chain;
use sqlx::error::DatabaseError;

/// Prints the error and its causes on one line.
///
/// sqlx ends the text of a refusal with a line number of PostgreSQL's source code, which helps no reader: it is cut off.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let line = Chain(error).to_string();
    let refusal = successors(Some(error), |&error| error.source())
        .find_map(|error| error.downcast_ref::<Box<dyn DatabaseError>>());
    match refusal.and_then(|refusal| Some((refusal, line.strip_suffix(&refusal.to_string())?))) {
        Some((refusal, start)) => format!("{start}{}", refusal.message()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::store::StoreError;

    #[test]
    fn chain_prints_a_cause_once_if_the_error_quotes_it() {
        let refused = || io::Error::other("connection refused");
        let cases: [(Box<dyn Error>, &str); 4] = [
            (Box::new(refused()), "connection refused"),
            (Box::new(sqlx::Error::Io(refused())), "error communicating with database: connection refused"),
            (
                Box::new(StoreError::Connect { address: "db:5432".to_owned(), source: sqlx::Error::Io(refused()) }),
                "failed to connect to the database at db:5432: error communicating with database: connection refused",
            ),
            (
                Box::new(StoreError::Password { file: "f".to_owned(), source: refused() }),
                "failed to read the database password from `f`: connection refused",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(chain(&*error), text);
        }
    }
}
