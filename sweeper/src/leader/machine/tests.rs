//! Tests of [`Machine`] with a Lease in memory and a clock that the tests move. Lease duration, renew deadline and
//! retry period are 15 s, 10 s and 2 s.

use std::time::Duration;

use super::*;

/// One replica `me`, the Lease as the server has it, and the replica's clock.
struct World {
    machine: Machine,
    lease: Option<Record>,
    now: Instant,
    wall: Timestamp,
}

/// What the server does with a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    Answers,
    /// Carries the request out, but the answer is lost.
    LosesTheAnswer,
    LosesTheRequest,
    RefusesWrites,
}

fn lease(holder: &str, seconds: u64, transitions: u32) -> Record {
    Record {
        uid: "u1".to_owned(),
        resource_version: "1".to_owned(),
        holder: holder.to_owned(),
        duration: Duration::from_secs(seconds),
        transitions,
        annotations: [].into(),
    }
}

impl World {
    fn new(lease: Option<Record>) -> Self {
        let now = Instant::now();
        Self {
            machine: Machine::new(Settings::default(), "me".to_owned(), now),
            lease,
            now,
            wall: Timestamp::UNIX_EPOCH,
        }
    }

    /// A world in which `me` has just acquired the Lease in term 4.
    fn leading() -> Self {
        let mut world = Self::new(Some(lease("", 1, 3)));
        world.exchange(Server::Answers);
        world.exchange(Server::Answers);
        assert_eq!(world.term(), Some(4));
        world
    }

    fn term(&self) -> Option<u32> {
        self.machine.claim().map(|term| term.number)
    }

    /// Changes the Lease as another client does.
    fn change(&mut self, change: impl FnOnce(&mut Record)) {
        if let Some(lease) = &mut self.lease {
            change(lease);
            lease.resource_version.push('x');
        }
    }

    fn carry_out(&mut self, request: &Request) -> Answer {
        let spec = match (request, &self.lease) {
            (Request::Read, None) | (Request::Write { .. }, None) => return Answer::Absent,
            (Request::Read, Some(lease)) => return Answer::Lease(lease.clone()),
            (Request::Create(_), Some(_)) => return Answer::Refused,
            (Request::Write { fence, .. }, Some(lease))
                if (&fence.uid, &fence.resource_version) != (&lease.uid, &lease.resource_version) =>
            {
                return Answer::Refused;
            }
            (Request::Create(spec) | Request::Write { spec, .. }, _) => spec,
        };
        let mut lease = self.lease.take().unwrap_or_else(|| lease("", 1, 0));
        lease.resource_version.push('w');
        (lease.holder, lease.duration, lease.transitions) = (spec.holder.clone(), spec.duration, spec.transitions);
        self.lease = Some(lease.clone());
        Answer::Lease(lease)
    }

    fn decide(&mut self) -> Step {
        self.machine.decide(self.now, self.wall)
    }

    /// Waits for the machine's next request, without sending it.
    fn request(&mut self) -> Option<Request> {
        loop {
            match self.decide() {
                Step::Wait(until) => self.now = until,
                Step::Send(request) => return Some(request),
                Step::Done => return None,
            }
        }
    }

    /// Waits for the machine's next request, sends it, and returns it.
    fn exchange(&mut self, server: Server) -> Option<Request> {
        let request = self.request()?;
        let is_lost = match server {
            Server::Answers | Server::LosesTheAnswer => false,
            Server::LosesTheRequest => true,
            Server::RefusesWrites => request != Request::Read,
        };
        let answer = match (is_lost, server) {
            (true, Server::RefusesWrites) => Answer::Refused,
            (true, _) => Answer::Failed,
            (false, Server::LosesTheAnswer) => {
                self.carry_out(&request);
                Answer::Failed
            }
            (false, _) => self.carry_out(&request),
        };
        self.machine.receive(&request, self.now, answer, self.now);
        Some(request)
    }

    /// Exchanges requests until `me` leads, and returns how long that took.
    fn seconds_until_term(&mut self) -> u64 {
        let start = self.now;
        while self.term().is_none() {
            assert!(self.now < start + Duration::from_secs(3600), "no term within an hour");
            self.exchange(Server::Answers);
        }
        (self.now - start).as_secs()
    }
}

#[test]
fn lease_is_taken_once_no_other_claim_can_hold() {
    // The replica reads every 2 s, so it takes a Lease of 15 s at the second 16.
    let cases = [
        ("released by its holder", Some(lease("", 1, 3)), 0, 4),
        ("held by another replica that died", Some(lease("other", 15, 3)), 16, 4),
        ("held under a longer duration", Some(lease("other", 40, 3)), 40, 4),
        ("held under a shorter duration", Some(lease("other", 5, 3)), 16, 4),
        ("emptied by a person", Some(lease("", 15, 3)), 16, 4),
        ("made by a person with null fields", Some(lease("", 0, 0)), 16, 1),
        ("naming this replica without a term", Some(lease("me", 15, 3)), 16, 4),
        ("absent", None, 16, 1),
    ];
    for (name, lease, seconds, term) in cases {
        let mut world = World::new(lease);
        assert_eq!((world.seconds_until_term(), world.term()), (seconds, Some(term)), "{name}");
        let record = world.lease.map(|lease| (lease.holder, lease.duration, lease.transitions));
        assert_eq!(record, Some(("me".to_owned(), Duration::from_secs(15), term)), "{name}");
    }
}

#[test]
fn absent_lease_is_created_without_a_holder() {
    let mut world = World::new(None);
    assert_eq!(world.exchange(Server::Answers), Some(Request::Read));
    let Some(Request::Create(spec)) = world.exchange(Server::Answers) else { panic!("not created") };
    assert_eq!((spec.holder.as_str(), spec.duration.as_secs(), spec.transitions), ("", 15, 0));
    assert_eq!(world.term(), None);
}

#[test]
fn lease_that_follows_a_deleted_one_continues_its_count() {
    let mut world = World::leading();
    world.lease = None;
    let created = std::iter::from_fn(|| world.exchange(Server::Answers)).find_map(|request| match request {
        Request::Create(spec) => Some(spec.transitions),
        Request::Read | Request::Write { .. } => None,
    });
    assert_eq!(created, Some(4));
}

#[test]
fn lease_that_is_deleted_again_is_waited_for_again() {
    // Found by the model: of two replicas that saw no Lease, one created it and led, somebody deleted it, and the
    // other one saw no Lease again.
    let mut world = World::new(None);
    let start = world.now;
    while world.now < start + Duration::from_secs(14) {
        world.exchange(Server::Answers);
    }
    world.lease = None;
    assert_eq!(world.seconds_until_term(), 18);
}

#[test]
fn any_change_of_the_lease_postpones_its_expiry() {
    let mut world = World::new(Some(lease("other", 15, 3)));
    for _ in 0..20 {
        assert_eq!(world.exchange(Server::Answers), Some(Request::Read));
        world.change(|lease| drop(lease.annotations.insert("renewed".to_owned(), String::new())));
    }
    assert_eq!(world.seconds_until_term(), 18);
}

#[test]
fn claim_lasts_from_the_sending_of_the_renewal() {
    let mut world = World::leading();
    let Some(request) = world.request() else { panic!("the replica does not renew") };
    let sent = world.now;
    let answer = world.carry_out(&request);
    world.now += Duration::from_secs(3);
    world.machine.receive(&request, sent, answer, world.now);
    assert_eq!(world.machine.claim().map(|term| term.until), Some(sent + Duration::from_secs(10)));
}

#[test]
fn term_ends_at_the_deadline_if_nothing_succeeds() {
    for server in [Server::LosesTheRequest, Server::LosesTheAnswer, Server::RefusesWrites] {
        let mut world = World::leading();
        let start = world.now;
        while world.term().is_some() {
            world.exchange(server);
        }
        assert_eq!((world.now - start).as_secs(), 10);
        assert_eq!(world.machine.end(), &End::Deadline);
        assert!(world.seconds_until_term() > 0);
        assert_eq!(world.term(), Some(5), "the next term has its own number");
    }
}

#[test]
fn answer_after_the_deadline_does_not_continue_the_term() {
    let mut world = World::leading();
    let Some(request) = world.request() else { panic!("the replica does not renew") };
    let sent = world.now;
    let answer = world.carry_out(&request);
    world.now = sent + Duration::from_secs(9);
    world.machine.receive(&request, sent, answer, world.now);
    assert_eq!(world.term(), None);
    assert_eq!(world.seconds_until_term(), 16);
    assert_eq!(world.term(), Some(5));
}

#[test]
fn acquisition_that_is_answered_too_late_begins_no_term() {
    let mut world = World::new(Some(lease("", 1, 3)));
    world.exchange(Server::Answers);
    let Some(request) = world.request() else { panic!("the replica does not acquire") };
    let answer = world.carry_out(&request);
    world.machine.receive(&request, world.now, answer, world.now + Duration::from_secs(10));
    assert_eq!(world.term(), None);
}

#[test]
fn write_is_a_renewal_only_if_it_changes_the_lease_and_keeps_the_holder() {
    type Change = fn(&mut Record);
    let cases: [(&str, Change); 3] = [
        ("unchanged", |_| {}),
        ("another holder, by a webhook", |lease| {
            lease.resource_version.push('w');
            lease.holder = "other".to_owned();
        }),
        ("another term, by a webhook", |lease| {
            lease.resource_version.push('w');
            lease.transitions += 1;
        }),
    ];
    for (name, change) in cases {
        let mut world = World::leading();
        let until = world.machine.claim().map(|term| term.until);
        let Some(request) = world.request() else { panic!("the replica does not renew") };
        let Some(mut answer) = world.lease.clone() else { panic!("no Lease") };
        change(&mut answer);
        world.machine.receive(&request, world.now, Answer::Lease(answer), world.now);
        assert_eq!(world.machine.claim().map(|term| term.until), until, "{name}");
    }
}

#[test]
fn leader_keeps_its_term_after_a_change_that_leaves_its_record() {
    let mut world = World::leading();
    world.change(|lease| drop(lease.annotations.insert("approved".to_owned(), "hash".to_owned())));
    let start = world.now;
    let requests: Vec<_> = (0..3).filter_map(|_| world.exchange(Server::Answers)).collect();
    assert!(matches!(requests[..], [Request::Write { .. }, Request::Read, Request::Write { .. }]), "{requests:?}");
    assert_eq!((world.now - start).as_secs(), 2, "the refused renewal is repeated at once");
    assert_eq!(world.term(), Some(4));
    let annotations = world.machine.record().map(|record| record.annotations.len());
    assert_eq!(annotations, Some(1));
}

#[test]
fn leader_steps_down_as_soon_as_it_sees_that_it_lost_the_lease() {
    type Change = fn(&mut World);
    let cases: [(&str, Change, End); 4] = [
        (
            "another holder",
            |world| world.change(|lease| lease.holder = "other".to_owned()),
            End::TakenOver { holder: "other".to_owned() },
        ),
        (
            "another term of the same holder",
            |world| world.change(|lease| lease.transitions += 1),
            End::TakenOver { holder: "me".to_owned() },
        ),
        ("a new Lease", |world| world.change(|lease| lease.uid = "u2".to_owned()), End::Deleted),
        ("no Lease", |world| world.lease = None, End::Deleted),
    ];
    for (name, change, end) in cases {
        let mut world = World::leading();
        let start = world.now;
        change(&mut world);
        while world.term().is_some() && world.now - start < Duration::from_secs(60) {
            world.exchange(Server::Answers);
        }
        assert_eq!(((world.now - start).as_secs(), world.machine.end()), (2, &end), "{name}");
        assert!(world.seconds_until_term() >= 14, "{name}: the former claim may still hold");
        assert!(world.term() > Some(4), "{name}: the number rises");
    }
}

#[test]
fn refused_candidate_reads_again_and_waits() {
    let mut world = World::new(Some(lease("", 1, 3)));
    world.exchange(Server::Answers);
    let start = world.now;
    assert!(matches!(world.exchange(Server::RefusesWrites), Some(Request::Write { .. })));
    assert_eq!(world.exchange(Server::Answers), Some(Request::Read));
    assert_eq!((world.now - start).as_secs(), 2);
}

#[test]
fn stopping_leader_gives_the_lease_back_and_is_done() {
    let mut world = World::leading();
    world.machine.stop();
    assert_eq!((world.term(), world.machine.end()), (None, &End::Stopped));
    let Some(Request::Write { spec, .. }) = world.exchange(Server::Answers) else { panic!("not released") };
    assert_eq!((spec.holder.as_str(), spec.duration.as_secs(), spec.transitions), ("", 1, 4));
    assert_eq!(world.decide(), Step::Done);
    let mut other = World::new(world.lease);
    assert_eq!((other.seconds_until_term(), other.term()), (0, Some(5)));
}

#[test]
fn stopping_replica_that_does_not_lead_writes_nothing() {
    let mut world = World::new(Some(lease("other", 15, 3)));
    world.exchange(Server::Answers);
    world.machine.stop();
    assert_eq!(world.decide(), Step::Done);
}

#[test]
fn stopping_leader_reads_before_it_repeats_a_refused_release() {
    type Change = fn(&mut Record);
    let cases: [(&str, Change, bool); 2] = [
        ("still the holder", |lease| drop(lease.annotations.insert("approved".to_owned(), String::new())), true),
        ("taken by another", |lease| lease.holder = "other".to_owned(), false),
    ];
    for (name, change, is_released) in cases {
        let mut world = World::leading();
        world.change(change);
        world.machine.stop();
        while world.exchange(Server::Answers).is_some() {}
        assert_eq!(world.lease.map(|lease| lease.is_released()), Some(is_released), "{name}");
    }
}

#[test]
fn stopping_leader_gives_up_when_a_release_fails() {
    for server in [Server::LosesTheRequest, Server::LosesTheAnswer, Server::RefusesWrites] {
        let mut world = World::leading();
        world.machine.stop();
        let mut requests = 0;
        while world.exchange(server).is_some() {
            requests += 1;
        }
        assert!(requests <= 3, "{requests} requests");
    }
}
