//! Finds and locks the targets of references.

use sqlx::PgConnection;

use super::{Api, Failure};
use crate::body::References;
use crate::model::Reference;
use crate::problem::{Field, Problem};
use crate::registry::Entity;
use crate::store::{self, Lock};

impl Api {
    /// Reads the targets, and keeps others from deleting them before the transaction ends.
    pub(super) async fn resolve(
        &self,
        connection: &mut PgConnection,
        entity: &Entity,
        references: &References,
    ) -> Result<Vec<Reference>, Failure> {
        let (mut found, mut faults) = (Vec::new(), Vec::new());
        for (role, targets) in references {
            let kind = entity.references.iter().find(|rule| rule.ref_type == *role).map(|rule| &rule.target_kind);
            for (index, target) in targets.iter().enumerate() {
                let resource = store::find(connection, &target.id, Lock::Share).await?;
                let fault = match &resource {
                    None => "does not exist".to_owned(),
                    Some(resource) if Some(&resource.kind) != kind => format!("is a {}", resource.kind),
                    Some(resource) if resource.is_deleted() => "is being deleted".to_owned(),
                    Some(_) if targets.iter().take(index).any(|other| other == target) => "is named twice".to_owned(),
                    Some(_) => String::new(),
                };
                match resource {
                    Some(resource) if fault.is_empty() => found.push(Reference {
                        ref_type: role.clone(),
                        id: resource.id,
                        kind: resource.kind,
                        href: resource.href,
                    }),
                    _ => faults.push(Field::new(format!("references.{role}[{index}].id"), fault)),
                }
            }
        }
        found.sort_by(|one, other| (&one.ref_type, &one.id).cmp(&(&other.ref_type, &other.id)));
        if faults.is_empty() { Ok(found) } else { Err(Problem::invalid(faults).into()) }
    }
}
