//! An error with its causes on one line, each said once.
//!
//! In: an error. Out: its text and those of its causes. Nothing can fail. The database's client quotes the cause in
//! each of its own texts *and* names it as its source, so that joining them says everything twice.

use std::error::Error;

use sqlx::error::DatabaseError;

/// The error and everything that caused it.
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
        // Its text ends with a line of PostgreSQL's source code, which helps nobody here.
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
    fn a_cause_that_the_text_quotes_is_said_once() {
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
