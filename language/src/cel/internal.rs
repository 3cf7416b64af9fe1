//! Rust values that pass through the interpreter: budgets, patterns, and questions to a view.

use std::any::Any;
use std::fmt::Debug;

use cel::common::types::Type;
use cel::common::value::{StaticVal, Val};

static TYPE: Type = Type::new_unspecified_type("internal");

/// A value that only our functions read. No author can name its type.
#[derive(Debug, Clone)]
pub(super) struct Internal<T>(pub(super) T);

impl<T: Clone + Debug + Send + Sync + 'static> Val for Internal<T> {
    fn get_type(&self) -> &Type {
        &TYPE
    }

    fn cel_type() -> &'static Type {
        &TYPE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl<T: Clone + Debug + Send + Sync + 'static> StaticVal for Internal<T> {}
