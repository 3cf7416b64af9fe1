//! The fields that a search can name, and what each may be compared with.
//!
//! In: the segments of a field, operators and values as written. Out: a [`Field`] and values of its type. Fails: with
//! a sentence that names what the field takes.

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

use super::lexer::{Keyword, Kind};
use super::{Comparison, Value};

/// Where a resource has the value that a search tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Column(&'static Column),
    Label(String),
    Spec(Vec<String>),
    /// The status of a condition.
    Condition(String),
    /// Another member of a condition.
    ConditionMember(String, Member),
}

/// A column of the table `resources` that clients can search and order by.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    holds: Holds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Text,
    Number,
    Time,
}

/// The columns that clients can search and order by.
pub(crate) static COLUMNS: [Column; 14] = [
    Column { name: "id", holds: Holds::Text },
    Column { name: "kind", holds: Holds::Text },
    Column { name: "name", holds: Holds::Text },
    Column { name: "href", holds: Holds::Text },
    Column { name: "generation", holds: Holds::Number },
    Column { name: "owner_id", holds: Holds::Text },
    Column { name: "owner_kind", holds: Holds::Text },
    Column { name: "owner_href", holds: Holds::Text },
    Column { name: "created_by", holds: Holds::Text },
    Column { name: "updated_by", holds: Holds::Text },
    Column { name: "deleted_by", holds: Holds::Text },
    Column { name: "created_time", holds: Holds::Time },
    Column { name: "updated_time", holds: Holds::Time },
    Column { name: "deleted_time", holds: Holds::Time },
];

/// A member of a condition beside its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    LastUpdatedTime,
    LastTransitionTime,
    ObservedGeneration,
}

const MEMBERS: [Member; 3] = [Member::LastUpdatedTime, Member::LastTransitionTime, Member::ObservedGeneration];

impl Member {
    /// The member's name, which is also its column's.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LastUpdatedTime => "last_updated_time",
            Self::LastTransitionTime => "last_transition_time",
            Self::ObservedGeneration => "observed_generation",
        }
    }
}

/// An operator without its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Compare(Comparison),
    In,
    Between,
    Like,
    Ilike,
    Null,
}

impl Operator {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Compare(comparison) => comparison.symbol(),
            Self::In => "in",
            Self::Between => "between",
            Self::Like => "like",
            Self::Ilike => "ilike",
            Self::Null => "is null",
        }
    }
}

impl Field {
    /// Finds the field of these segments.
    pub(super) fn find(segments: Vec<String>) -> Result<Self, String> {
        let path: Vec<&str> = segments.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["labels", key @ ..] if !key.is_empty() => Ok(Self::Label(key.join("."))),
            ["spec", path @ ..] if !path.is_empty() => Ok(Self::Spec(path.iter().map(|&part| part.into()).collect())),
            ["status", "conditions", kind] => Ok(Self::Condition((*kind).to_owned())),
            ["status", "conditions", kind, name] => match MEMBERS.into_iter().find(|member| member.name() == *name) {
                Some(member) => Ok(Self::ConditionMember((*kind).to_owned(), member)),
                None => {
                    let members = MEMBERS.map(Member::name).join(", ");
                    Err(format!("`{name}` cannot be searched, so name one of {members}"))
                }
            },
            [name] if let Some(column) = COLUMNS.iter().find(|column| column.name == *name) => Ok(Self::Column(column)),
            _ => {
                let columns = COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
                let problem = format!("`{}` is no field", segments.join("."));
                Err(format!("{problem}, so name labels.<key>, spec.<path>, status.conditions.<Type>, {columns}"))
            }
        }
    }

    /// Whether `not` may stand before a test of the field.
    pub(super) fn may_be_negated(&self) -> bool {
        // The real API refuses it for the fields that it reads from other tables.
        matches!(self, Self::Column(_) | Self::Spec(_))
    }

    /// Refuses an operator that does not apply to the field.
    pub(super) fn check(&self, operator: Operator) -> Result<(), String> {
        let comparisons = "=, !=, <, <=, >, >=";
        let (applies, takes) = match self {
            Self::Column(Column { holds: Holds::Text, .. }) | Self::Spec(_) => return Ok(()),
            Self::Column(Column { holds: Holds::Number | Holds::Time, .. }) => {
                let applies = !matches!(operator, Operator::Like | Operator::Ilike);
                (applies, format!("{comparisons}, in, between or is null"))
            }
            Self::Label(_) => {
                let applies = match operator {
                    Operator::Compare(comparison) => matches!(comparison, Comparison::Equal | Comparison::NotEqual),
                    Operator::Between => false,
                    Operator::In | Operator::Like | Operator::Ilike | Operator::Null => true,
                };
                (applies, "=, !=, in, like, ilike or is null".to_owned())
            }
            Self::Condition(_) => {
                let applies = matches!(operator, Operator::Compare(Comparison::Equal) | Operator::Null);
                (applies, "= or is null".to_owned())
            }
            Self::ConditionMember(..) => {
                let applies = matches!(operator, Operator::Compare(_) | Operator::Null);
                (applies, format!("{comparisons} or is null"))
            }
        };
        if applies { Ok(()) } else { Err(format!("{} does not apply to {self}, so use {takes}", operator.name())) }
    }

    /// Reads a value to which the operator compares the field.
    pub(super) fn value(&self, operator: Operator, written: Kind) -> Result<Value, String> {
        let takes = |what: &str| format!("{self} is compared with {what}, so write one");
        match self {
            Self::Column(Column { holds: Holds::Text, .. }) | Self::Label(_) => match written {
                Kind::Text(text) => Ok(Value::Text(text)),
                _ => Err(takes("a string in single quotes")),
            },
            Self::Column(Column { holds: Holds::Number, .. }) => match written {
                Kind::Number(number) => Ok(Value::Number(number)),
                _ => Err(takes("a number")),
            },
            Self::Column(Column { holds: Holds::Time, .. })
            | Self::ConditionMember(_, Member::LastUpdatedTime | Member::LastTransitionTime) => {
                let read = if let Kind::Text(text) = &written { time(text) } else { None };
                let example = "a time such as '2026-09-01T12:00:00Z' or '2026-09-01'";
                read.map(Value::Time).ok_or_else(|| takes(example))
            }
            Self::ConditionMember(_, Member::ObservedGeneration) => {
                let read = if let Kind::Number(number) = &written { number.parse().ok() } else { None };
                read.map(Value::Integer).ok_or_else(|| takes("an integer of 32 bits"))
            }
            Self::Condition(_) => match written {
                Kind::Text(text) if ["True", "False", "Unknown"].contains(&text.as_str()) => Ok(Value::Text(text)),
                _ => Err(takes("'True', 'False' or 'Unknown'")),
            },
            Self::Spec(_) => match (written, operator) {
                (Kind::Text(text), _) => Ok(Value::Text(text)),
                (Kind::Number(number), _) => Ok(Value::Number(number)),
                // As PostgreSQL writes a boolean of a JSON document.
                (
                    Kind::Keyword(word @ (Keyword::True | Keyword::False)),
                    Operator::Compare(Comparison::Equal | Comparison::NotEqual) | Operator::In,
                ) => Ok(Value::Text((word == Keyword::True).to_string())),
                (Kind::Keyword(Keyword::True | Keyword::False), _) => {
                    Err(format!("a boolean has no order, so use =, != or in instead of {}", operator.name()))
                }
                _ => Err(takes("a string, a number, true or false")),
            },
        }
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Column(column) => f.write_str(column.name),
            Self::Label(key) => write!(f, "labels.{key}"),
            Self::Spec(path) => write!(f, "spec.{}", path.join(".")),
            Self::Condition(kind) => write!(f, "status.conditions.{kind}"),
            Self::ConditionMember(kind, member) => write!(f, "status.conditions.{kind}.{}", member.name()),
        }
    }
}

/// Reads an RFC 3339 time, or a date, which is its midnight in UTC.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let time = text.parse().or_else(|_| {
        let date = Date::strptime("%Y-%m-%d", text)?;
        date.to_zoned(TimeZone::UTC).map(|midnight| midnight.timestamp())
    });
    // PostgreSQL does not read the year 0 and those before it in this form.
    let first = date(1, 1, 1).to_zoned(TimeZone::UTC).ok()?.timestamp();
    time.ok().filter(|time| *time >= first)
}
