//! Prints an error and its causes on one line, without repetitions.
//!
//! In: an error. Out: its text and those of its causes. sqlx's errors contain the text of their source, so joining all
//! texts with colons would print each cause twice.

use std::error::Error;

use sqlx::error::DatabaseError;

/// Returns the texts of the error and of its causes, joined by colons.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let Some(cause) = error.source() else { return leaf(error) };
    let (text, quoted) = (error.to_string(), cause.to_string());
    match text.strip_suffix(&quoted) {
        Some(own) => format!("{own}{}", chain(cause)),
        None => format!("{text}: {}", chain(cause)),
    }
}

fn leaf(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<Box<dyn DatabaseError>>() {
        // `Display` appends a line number in PostgreSQL's source code, which does not help a reader of our logs.
        Some(refusal) => refusal.message().to_owned(),
        None => error.to_string(),
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
                Box::new(StoreError::Connect(sqlx::Error::Io(refused()))),
                "failed to connect to the database: error communicating with database: connection refused",
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
