//! Takes the reports of adapters.

use sqlx::PgConnection;

use super::{Api, Failure, Target};
use crate::admission::{Admission, WellFormed};
use crate::list::Page;
use crate::model::Report;
use crate::problem::Problem;
use crate::store;

/// What became of a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Reported {
    /// This report is stored: the one that was sent, or a former one of the same time.
    Stored(Box<Report>),
    /// The report says nothing new.
    Discarded,
}

impl Api {
    /// Stores an adapter's report, computes the resource's conditions again, and removes a deleted resource whose adapters
    /// are all done.
    ///
    /// # Errors
    /// The report is invalid, or the resource does not exist.
    pub async fn report(&self, target: &Target, body: &[u8]) -> Result<Reported, Problem> {
        let report = WellFormed::parse(body, (self.clock)())?;
        Ok(in_transaction!(self, |connection| self.report_once(connection, target, report.clone()).await))
    }

    async fn report_once(
        &self,
        connection: &mut PgConnection,
        target: &Target,
        report: WellFormed,
    ) -> Result<Reported, Failure> {
        let mut resource = self.lock(connection, target).await?;
        let reports = store::reports(connection, &resource.kind, &resource.id).await?;
        let stored = reports.iter().find(|stored| stored.adapter == report.adapter());
        let (report, aggregates) = match report.admit(resource.generation, stored)? {
            Admission::Discard => return Ok(Reported::Discarded),
            Admission::Keep(stored) => return Ok(Reported::Stored(Box::new(stored))),
            Admission::Store { report, aggregates } => (report, aggregates),
        };
        store::put_report(connection, &resource, &report).await?;
        if aggregates {
            self.aggregate(connection, &mut resource).await?;
            self.remove_finished(connection, &resource).await?;
        }
        Ok(Reported::Stored(Box::new(report)))
    }

    /// Reads a page of the reports on a resource, in the order of the adapters' names, and counts all of them.
    ///
    /// # Errors
    /// There is no such resource.
    pub async fn reports(&self, target: &Target, page: Page) -> Result<(Vec<Report>, i64), Problem> {
        let resource = self.get(target).await?;
        let mut connection = self.pool.acquire().await?;
        Ok(store::page_of_reports(&mut connection, &resource.kind, &resource.id, page).await?)
    }
}
