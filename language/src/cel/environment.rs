//! The one CEL environment: libraries, macros, and the names they provide.
//!
//! The environment has what the Go adapter offers (standard library, optional values, the strings and lists extensions) and our own
//! functions. The process builds it once, and all expressions share it.

use std::sync::{Arc, LazyLock};

use cel::common::ast::{Expr, IdedExpr};
use cel::parser::Macro;
use cel::{DeclarationError, Env, extensions};

use super::declare::NOW;
use super::{answer, conditions, conversions, cost, data, dialect, limits, lists, time};

/// The variables and functions that every expression is evaluated with.
#[expect(clippy::expect_used, reason = "the declarations are constants, and every test runs them")]
pub(super) static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(build().expect("declarations conflict")));

fn build() -> Result<Env, DeclarationError> {
    let mut environment = Env::stdlib();
    // As in the Go adapter, where the last entry wins.
    environment.set_error_on_duplicate_map_keys(false);
    environment.add_extension(extensions::strings)?;
    environment.add_extension(extensions::lists)?;
    environment.add_extension(answer::declare)?;
    environment.add_extension(conversions::declare)?;
    environment.add_extension(dialect::declare)?;
    environment.add_extension(time::declare)?;
    environment.add_extension(cost::functions::declare)?;
    environment.add_extension(data::declare)?;
    environment.add_extension(lists::declare)?;
    environment.add_extension(conditions::declare)?;
    environment
        .add_macro(Macro::global("now", 0, |helper, _, _| Ok(Some(helper.next_expr(Expr::Ident(NOW.to_owned()))))))?;
    Ok(environment)
}

/// Parses to a tree, or to the first mistake: message, line and column.
pub(super) fn parse(source: &str) -> Result<IdedExpr, (String, usize, usize)> {
    let parser = ENVIRONMENT
        .parser()
        .enable_ident_escape_syntax(true)
        // The length of the text bounds the depth already, and the parser's own limit reports no position.
        .max_recursion_depth(u16::try_from(limits::MAX_BYTES).unwrap_or(u16::MAX));
    parser.parse(source).map_err(|errors| match errors.errors.first() {
        Some(error) => {
            let position = |at: isize| usize::try_from(at).unwrap_or(1).max(1);
            (error.msg.clone(), position(error.pos.0), position(error.pos.1))
        }
        None => ("not a CEL expression".to_owned(), 1, 1),
    })
}

/// Whether `name` is a type: `string`, as a value, is the type of strings.
pub(super) fn is_type(name: &str) -> bool {
    ENVIRONMENT.types().find_type(name).is_some()
}

/// Whether `name(…)` is a function; names with dots are namespaced ones.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|group| group.contains(&name))
}

/// Whether `value.name(…)` is a function.
pub(super) fn is_member_function(name: &str) -> bool {
    MEMBER_FUNCTIONS.iter().any(|group| group.contains(&name))
}

/// The names of all functions that are called by name alone, such as `size(text)`. The inner lists only keep
/// related names together. The interpreter cannot list its functions, so a test calls each function named here.
pub(super) const FUNCTIONS: &[&[&str]] = &[
    &["bool", "bytes", "double", "duration", "dyn", "int", "matches", "size", "string", "timestamp", "type", "uint"],
    &["optional.none", "optional.of", "optional.ofNonZeroValue", "optional.unwrap", "lists.range", "strings.quote"],
    &["base64.decode", "base64.encode"],
    &["conditionAge", "conditionStatus", "dig", "now", "stableFor", "statusFeedbackValue", "toJson", "triState"],
    // A macro: only a call with a wrong number of arguments is left in a tree.
    &["has"],
];

/// The names of all functions that are called on a value, such as `text.size()`. The
/// inner lists only keep related names together.
pub(super) const MEMBER_FUNCTIONS: &[&[&str]] = &[
    &["contains", "endsWith", "matches", "size", "startsWith"],
    &["getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds"],
    &["getMinutes", "getMonth", "getSeconds", "toUnixTime"],
    &["hasValue", "or", "orValue", "value", "unwrapOpt"],
    &["charAt", "format", "indexOf", "join", "lastIndexOf", "lowerAscii", "replace", "reverse", "split", "substring"],
    &["trim", "upperAscii", "distinct", "first", "flatten", "last", "slice", "sort"],
    // Macros.
    &["all", "exists", "exists_one", "existsOne", "filter", "map", "optFlatMap", "optMap", "sortBy"],
];
