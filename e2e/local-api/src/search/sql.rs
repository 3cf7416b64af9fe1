//! A search as an SQL condition.
//!
//! In: the tree. Out: SQL with bind parameters; the statement itself consists of constants. Pure; fails never.

use sqlx::{Postgres, QueryBuilder};

use super::{Field, Node, Test, Value};

/// Appends a condition in parentheses on the row `r` of `resources`.
pub(super) fn push(node: &Node, query: &mut QueryBuilder<Postgres>) {
    query.push("(");
    match node {
        Node::All(nodes) => join(nodes, " AND ", query),
        Node::Any(nodes) => join(nodes, " OR ", query),
        Node::Not(node) => {
            query.push("NOT ");
            push(node, query);
        }
        Node::Test(field, test) => push_test(field, test, query),
    }
    query.push(")");
}

fn join(nodes: &[Node], operator: &str, query: &mut QueryBuilder<Postgres>) {
    for (index, node) in nodes.iter().enumerate() {
        if index > 0 {
            query.push(operator);
        }
        push(node, query);
    }
}

fn push_test(field: &Field, test: &Test, query: &mut QueryBuilder<Postgres>) {
    push_field(field, test, query);
    match test {
        Test::Compare(comparison, value) => {
            query.push(format_args!(" {} ", comparison.symbol()));
            push_value(value, query);
        }
        Test::In(values) => {
            for (index, value) in values.iter().enumerate() {
                query.push(if index == 0 { " IN (" } else { ", " });
                push_value(value, query);
            }
            query.push(")");
        }
        Test::Between(low, high) => {
            query.push(" BETWEEN ");
            push_value(low, query);
            query.push(" AND ");
            push_value(high, query);
        }
        Test::Like(pattern) => {
            query.push(" LIKE ").push_bind(pattern.clone());
        }
        Test::Ilike(pattern) => {
            query.push(" ILIKE ").push_bind(pattern.clone());
        }
        Test::Null => {
            query.push(" IS NULL");
        }
        Test::NotNull => {
            query.push(" IS NOT NULL");
        }
    }
}

fn push_field(field: &Field, test: &Test, query: &mut QueryBuilder<Postgres>) {
    match field {
        Field::Column(column) => {
            query.push(format_args!("r.{}", column.name));
        }
        Field::Label(key) => {
            query.push("(SELECT l.value FROM resource_labels l WHERE l.resource_id = r.id AND l.key = ");
            query.push_bind(key.clone()).push(")");
        }
        Field::Spec(path) if compares_numbers(test) => {
            // CASE keeps PostgreSQL from casting what is not a number, and the length from casting what overflows.
            query.push("(SELECT CASE WHEN length(v) <= 1000 AND v ~ '^-?[0-9]+([.][0-9]+)?$' THEN v::numeric END");
            query.push(" FROM (SELECT r.spec #>> ").push_bind(path.clone()).push(") AS stored (v))");
        }
        Field::Spec(path) => {
            query.push("(r.spec #>> ").push_bind(path.clone()).push(")");
        }
        Field::Condition(kind) => push_condition("status", kind, query),
        Field::ConditionMember(kind, member) => push_condition(member.name(), kind, query),
    }
}

fn push_condition(column: &'static str, kind: &str, query: &mut QueryBuilder<Postgres>) {
    query.push(format_args!("(SELECT c.{column} FROM resource_conditions c"));
    query.push(" WHERE c.resource_id = r.id AND c.type = ").push_bind(kind.to_owned()).push(")");
}

fn compares_numbers(test: &Test) -> bool {
    let value = match test {
        Test::Compare(_, value) | Test::Between(value, _) => Some(value),
        Test::In(values) => values.first(),
        Test::Like(_) | Test::Ilike(_) | Test::Null | Test::NotNull => None,
    };
    matches!(value, Some(Value::Number(_)))
}

fn push_value(value: &Value, query: &mut QueryBuilder<Postgres>) {
    match value {
        Value::Text(text) => query.push_bind(text.clone()),
        Value::Number(number) => query.push_bind(number.clone()).push("::numeric"),
        Value::Integer(integer) => query.push_bind(*integer),
        Value::Time(time) => query.push_bind(time.to_string()).push("::timestamptz"),
    };
}
