//! Prints an error with its causes on one line, for logs, metrics and the messages of commands.
//!
//! In: an error. Out: the line `outermost: cause: root cause`. Fails: never.
//!
//! This is a crate of its own, without dependencies, so that the clients of Kubernetes and of the HyperFleet API can use
//! [`Chain`] without the crate `service`.

use std::error::Error;
use std::fmt;

/// Displays an error and its causes on one line, separated by colons.
///
/// Leaves out a cause whose text already ends the line: many libraries quote a cause in their own text *and* return it
/// from [`Error::source`], so that printing each text would print the cause twice.
#[derive(Debug, Clone, Copy)]
pub struct Chain<'a>(pub &'a (dyn Error + 'a));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !line.ends_with(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            cause = error.source();
        }
        f.write_str(&line)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use thiserror::Error;

    use super::Chain;

    #[derive(Debug, Error)]
    enum CallError {
        #[error("failed to connect")]
        Plain(#[source] io::Error),
        #[error("failed to connect: {0}")]
        Quoting(#[source] io::Error),
        #[error("failed to send the report")]
        Nested(#[source] Box<CallError>),
        #[error(transparent)]
        Transparent(#[from] io::Error),
        #[error("{0}")]
        Repeating(#[source] io::Error),
    }

    #[test]
    fn chain_prints_each_cause_once() {
        let refused = || io::Error::other("connection refused");
        let cases = [
            (
                "the cause is printed after the error",
                CallError::Plain(refused()),
                "failed to connect: connection refused",
            ),
            ("a quoted cause is printed once", CallError::Quoting(refused()), "failed to connect: connection refused"),
            (
                "a cause that is quoted further in is printed once",
                CallError::Nested(Box::new(CallError::Quoting(refused()))),
                "failed to send the report: failed to connect: connection refused",
            ),
            ("a transparent error prints its content", CallError::Transparent(refused()), "connection refused"),
            (
                "an error that is its cause's text is printed once",
                CallError::Repeating(refused()),
                "connection refused",
            ),
            ("a cause without a text adds nothing", CallError::Plain(io::Error::other("")), "failed to connect"),
        ];
        for (name, error, expected) in cases {
            assert_eq!(Chain(&error).to_string(), expected, "{name}");
        }
    }
}
