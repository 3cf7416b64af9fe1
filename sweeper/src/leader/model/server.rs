//! The API server of the model: one Lease, with optimistic concurrency.

use std::time::Duration;

use jiff::Timestamp;

use crate::leader::machine::{Answer, Request};
use crate::leader::record::{Record, Spec};

#[derive(Default)]
pub(super) struct Server {
    lease: Option<Stored>,
    uids: u32,
    versions: u32,
    ignores_versions: bool,
}

struct Stored {
    record: Record,
    acquired: Timestamp,
    renewed: Timestamp,
}

impl Server {
    pub(super) fn new(ignores_versions: bool) -> Self {
        Self { ignores_versions, ..Self::default() }
    }

    /// Creates a Lease that its holder released.
    pub(super) fn create_released(&mut self) {
        let (acquired, renewed) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        let spec = Spec { holder: String::new(), duration: Duration::from_secs(15), acquired, renewed, transitions: 7 };
        self.answer(&Request::Create(spec.released()));
    }

    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        match (request, &mut self.lease) {
            (Request::Read, Some(lease)) => Answer::Lease(lease.record.clone()),
            (Request::Read | Request::Write { .. }, None) => Answer::Absent,
            (Request::Create(_), Some(_)) => Answer::Refused,
            (Request::Create(spec), None) => {
                self.uids += 1;
                let record = Record {
                    uid: format!("u{}", self.uids),
                    resource_version: String::new(),
                    holder: String::new(),
                    duration: Duration::ZERO,
                    transitions: 0,
                    annotations: [].into(),
                };
                self.lease = Some(Stored { record, acquired: spec.acquired, renewed: spec.renewed });
                self.write(spec)
            }
            (Request::Write { fence, spec }, Some(lease)) => {
                let record = &lease.record;
                let is_current = fence.resource_version == record.resource_version || self.ignores_versions;
                if fence.uid != record.uid || !is_current {
                    return Answer::Refused;
                }
                let before = (&record.holder, record.duration, record.transitions, lease.acquired, lease.renewed);
                if before == (&spec.holder, spec.duration, spec.transitions, spec.acquired, spec.renewed) {
                    // A write that changes nothing leaves the resource version as it is.
                    return Answer::Lease(record.clone());
                }
                self.write(spec)
            }
        }
    }

    fn write(&mut self, spec: &Spec) -> Answer {
        self.change(|lease| {
            let record = &mut lease.record;
            record.holder.clone_from(&spec.holder);
            (record.duration, record.transitions) = (spec.duration, spec.transitions);
            (lease.acquired, lease.renewed) = (spec.acquired, spec.renewed);
        });
        self.lease.as_ref().map_or(Answer::Absent, |lease| Answer::Lease(lease.record.clone()))
    }

    fn change(&mut self, change: impl FnOnce(&mut Stored)) {
        self.versions += 1;
        if let Some(lease) = &mut self.lease {
            change(lease);
            lease.record.resource_version = self.versions.to_string();
        }
    }

    pub(super) fn renewed(&self) -> Option<(Timestamp, Duration)> {
        self.lease.as_ref().map(|lease| (lease.renewed, lease.record.duration))
    }

    pub(super) fn delete(&mut self) {
        self.lease = None;
    }

    pub(super) fn empty(&mut self) {
        self.change(|lease| lease.record.holder.clear());
    }

    pub(super) fn annotate(&mut self) {
        self.change(|_| {});
    }
}
