//! Runs the machines of a run against the server, event by event, and checks the invariants after each.
//!
//! A replica behaves as the loop does: one request at a time, with a time limit; the term ends at its deadline
//! also while a request is under way; a stopping replica waits for its permitted calls before it gives the Lease back.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::Sabotage;
use super::run::{self, FAULTS_END, Fault, Run};
use super::server::Server;
use crate::leader::machine::{Answer, Machine, Request, Step};

/// By how many millionths a clock may run too fast or too slow.
const DRIFT: i64 = 70_000;
const LONGEST_DELAY: u64 = 6_000_000;
/// More events than a run of replicas that wait between their requests has.
const EVENTS: u64 = 100_000;
const END: u64 = FAULTS_END as u64 * 1000;

#[derive(Debug, thiserror::Error)]
pub(super) enum Violation {
    #[error("at {at} µs, {first} and {second} both have a claim")]
    TwoClaims { at: u64, first: String, second: String },
    #[error("at {at} µs, {leader} begins a term while {caller} has a call under way")]
    CallUnderWay { at: u64, caller: String, leader: String },
    #[error("term {number} of Lease {uid} begins after a term with this number or a higher one")]
    NumberFell { uid: String, number: u32 },
    #[error("at {0} µs, some replica does not rest")]
    Restless(u64),
    #[error("nobody leads {0} µs after the last fault")]
    NoLeader(u64),
    #[error("the leader changes from {0:?} to {1:?} without a fault")]
    LeaderChanged(Option<String>, Option<String>),
}

enum Event {
    Start { node: usize },
    Wake { node: usize, life: u32, wake: u64 },
    Arrive { node: usize, life: u32, request: Request, is_answer_lost: bool },
    Answer { node: usize, life: u32, sent: Instant, answer: Answer },
    Timeout { node: usize, life: u32, sent: Instant },
    Stop { node: usize, life: u32, restart: u64 },
    Fault(usize),
}

struct Process {
    machine: Machine,
    name: String,
    timeout: Duration,
    under_way: Option<(Instant, Request)>,
    wake: u64,
    is_stopping: bool,
    term: Option<u32>,
}

struct Node {
    plan: run::Replica,
    process: Option<Process>,
    life: u32,
    restart: u64,
    paused_until: u64,
    cut_off_until: u64,
    wall_shift: i64,
    frozen: (u64, u64),
}

pub(super) struct Simulation<'a> {
    run: &'a Run,
    sabotage: Option<Sabotage>,
    now: u64,
    base: Instant,
    queue: BTreeMap<(u64, u64), Event>,
    sequence: u64,
    fates: fastrand::Rng,
    server: Server,
    nodes: Vec<Node>,
    /// Permitted calls: who made them, and when they end.
    calls: Vec<(String, u64)>,
    terms: Vec<(String, u32)>,
    trace: Option<Vec<String>>,
}

impl<'a> Simulation<'a> {
    pub(super) fn new(run: &'a Run, sabotage: Option<Sabotage>) -> Self {
        let nodes = run.replicas.iter().map(|plan| Node {
            plan: plan.clone(),
            process: None,
            life: 0,
            restart: 0,
            paused_until: 0,
            cut_off_until: 0,
            wall_shift: i64::from(plan.wall_hours) * 3_600_000_000,
            frozen: (0, 0),
        });
        let mut simulation = Self {
            run,
            sabotage,
            now: 0,
            // Sabotage lies about observations long ago.
            base: Instant::now() + Duration::from_secs(1000),
            queue: BTreeMap::new(),
            sequence: 0,
            fates: fastrand::Rng::with_seed(run.seed),
            server: Server::new(sabotage == Some(Sabotage::VersionIgnored)),
            nodes: nodes.collect(),
            calls: Vec::new(),
            terms: Vec::new(),
            trace: None,
        };
        if run.has_lease {
            simulation.server.create_released();
        }
        for (node, replica) in run.replicas.iter().enumerate() {
            simulation.push(u64::from(replica.start) * 1000, Event::Start { node });
        }
        for (index, (at, _)) in run.faults.iter().enumerate() {
            simulation.push(u64::from(*at) * 1000, Event::Fault(index));
        }
        simulation
    }

    /// Checks the invariants, and returns how many terms began.
    pub(super) fn check(&mut self) -> Result<u32, Violation> {
        let bound = self.bound();
        self.run_until(END + bound)?;
        let leader = self.leader().ok_or(Violation::NoLeader(bound))?;
        self.run_until(END + bound + 60_000_000)?;
        let last = self.leader();
        if last.as_ref() != Some(&leader) {
            return Err(Violation::LeaderChanged(Some(leader), last));
        }
        Ok(u32::try_from(self.terms.len()).unwrap_or(u32::MAX))
    }

    /// The events of the run, one per line.
    pub(super) fn trace(mut self) -> String {
        self.trace = Some(Vec::new());
        let end = self.check().map_or_else(|violation| violation.to_string(), |_| "no violation".to_owned());
        let lines = self.trace.unwrap_or_default();
        format!("{}\n{end}", lines.join("\n"))
    }

    /// How long after the last fault somebody must lead: a late write may still arrive and must expire; a candidate
    /// reads, is refused once, and reads again.
    fn bound(&self) -> u64 {
        let longest = |of: fn(&run::Durations) -> Duration| {
            self.run.replicas.iter().map(|replica| of(&replica.durations)).max().unwrap_or_default()
        };
        let steps = longest(|durations| durations.lease)
            + 3 * longest(|durations| durations.retry)
            + 2 * longest(|durations| durations.deadline - durations.retry) / 2;
        micros(steps) * 108 / 100 + 2 * LONGEST_DELAY
    }

    fn run_until(&mut self, end: u64) -> Result<(), Violation> {
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((at, _), event) = entry.remove_entry();
            self.now = at;
            if self.sequence > EVENTS {
                return Err(Violation::Restless(at));
            }
            self.handle(event)?;
            self.check_claims()?;
        }
        self.now = end;
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), Violation> {
        let now = self.now;
        let (node, life) = match event {
            Event::Start { node } => {
                self.start(node);
                return self.drive(node);
            }
            Event::Fault(index) => {
                let fault = self.run.faults[index].1.clone();
                self.log(|| format!("{fault:?}"));
                self.fault(fault);
                return Ok(());
            }
            Event::Arrive { node, life, request, is_answer_lost } => {
                let answer = self.server.answer(&request);
                self.log(|| format!("server: {request:?} of {node}.{life}: {answer:?}"));
                let sent = self.process(node, life).and_then(|process| process.under_way.as_ref()).map(|it| it.0);
                if let Some(sent) = sent.filter(|_| !is_answer_lost && self.nodes[node].cut_off_until <= now) {
                    let delay = self.delay();
                    self.push(now + delay, Event::Answer { node, life, sent, answer });
                }
                return Ok(());
            }
            Event::Wake { node, life, .. }
            | Event::Answer { node, life, .. }
            | Event::Timeout { node, life, .. }
            | Event::Stop { node, life, .. } => (node, life),
        };
        let paused_until = self.nodes[node].paused_until;
        let Some(process) = self.process(node, life) else { return Ok(()) };
        if paused_until > now {
            self.push(paused_until, event);
            return Ok(());
        }
        match event {
            Event::Wake { wake, .. } if wake != process.wake => return Ok(()),
            Event::Answer { sent, answer, .. } if process.under_way.as_ref().is_some_and(|it| it.0 == sent) => {
                self.receive(node, answer);
            }
            Event::Timeout { sent, .. } if process.under_way.as_ref().is_some_and(|it| it.0 == sent) => {
                self.receive(node, Answer::Failed);
            }
            Event::Answer { .. } | Event::Timeout { .. } => return Ok(()),
            Event::Stop { restart, .. } => {
                process.machine.stop();
                process.is_stopping = true;
                self.nodes[node].restart = restart;
            }
            Event::Wake { .. } | Event::Start { .. } | Event::Arrive { .. } | Event::Fault(_) => {}
        }
        self.drive(node)
    }

    fn start(&mut self, node: usize) {
        let local = self.local(node, self.now);
        let it = &mut self.nodes[node];
        if it.process.is_some() {
            return;
        }
        it.life += 1;
        let name = format!("{node}.{}", it.life);
        let settings = it.plan.durations.settings();
        it.process = Some(Process {
            timeout: settings.request_timeout(),
            machine: Machine::new(settings, name.clone(), local),
            name,
            under_way: None,
            wake: 0,
            is_stopping: false,
            term: None,
        });
    }

    /// Does what the loop does between two awaits.
    fn drive(&mut self, node: usize) -> Result<(), Violation> {
        let (now, local, wall) = (self.now, self.local(node, self.now), self.wall(node));
        let life = self.nodes[node].life;
        let Some(process) = &mut self.nodes[node].process else { return Ok(()) };
        process.machine.expire(local);
        if process.under_way.is_none() {
            let calls = self.calls.iter().filter(|call| call.0 == process.name).map(|call| call.1).max();
            if let Some(end) = calls.filter(|end| process.is_stopping && *end > now)
                && self.sabotage != Some(Sabotage::PermitsIgnored)
            {
                self.wake(node, end);
                return Ok(());
            }
            match process.machine.decide(local, wall) {
                Step::Wait(until) => {
                    let at = self.time_of(node, until);
                    self.wake(node, at);
                }
                Step::Send(request) => {
                    process.under_way = Some((local, request.clone()));
                    let limit = local + process.timeout;
                    let limit = self.time_of(node, limit);
                    self.push(limit, Event::Timeout { node, life, sent: local });
                    self.send(node, life, request);
                }
                Step::Done => {
                    self.nodes[node].process = None;
                    let restart = self.nodes[node].restart.max(now);
                    self.push(restart, Event::Start { node });
                }
            }
        }
        self.follow_claim(node)
    }

    /// Notices the begin of a term, wakes the replica at its deadline, and makes calls under it.
    fn follow_claim(&mut self, node: usize) -> Result<(), Violation> {
        let now = self.now;
        let slack = self.slack(node);
        let Some(process) = &mut self.nodes[node].process else { return Ok(()) };
        let Some(term) = process.machine.claim() else {
            process.term = None;
            return Ok(());
        };
        let (number, until, name) = (term.number, term.until, process.name.clone());
        let uid = process.machine.record().map(|record| record.uid.clone()).unwrap_or_default();
        let begins = process.term.replace(number) != Some(number);
        let is_under_way = process.under_way.is_some();
        if begins {
            self.log(|| format!("{name}: term {number} of {uid} begins"));
            self.check_claims()?;
            if let Some((caller, _)) = self.calls.iter().find(|(caller, end)| *caller != name && *end > now) {
                return Err(Violation::CallUnderWay { at: now, caller: caller.clone(), leader: name });
            }
            if self.terms.iter().any(|(other, before)| *other == uid && *before >= number) {
                return Err(Violation::NumberFell { uid, number });
            }
            self.terms.push((uid, number));
        }
        if is_under_way {
            let at = self.time_of(node, until);
            self.wake(node, at);
        }
        if self.fates.u8(..) < 80 && self.holds(node) {
            let end = now + self.fates.u64(..=slack);
            self.calls.retain(|call| call.1 > now);
            self.calls.push((name, end));
        }
        Ok(())
    }

    /// The time that a call may take: what is left between the deadline and the take-over if this replica's clock is the
    /// slowest and the other one's the fastest.
    fn slack(&self, node: usize) -> u64 {
        let durations = self.nodes[node].plan.durations;
        let (lease, deadline) = (micros(durations.lease), micros(durations.deadline));
        (lease * 1_000_000 / (1_000_000 + DRIFT.unsigned_abs()))
            .saturating_sub(deadline * 1_000_000 / (1_000_000 - DRIFT.unsigned_abs()))
    }

    fn send(&mut self, node: usize, life: u32, request: Request) {
        let is_quiet = self.now >= END;
        let roll = self.fates.u8(..100);
        let is_request_lost = self.nodes[node].cut_off_until > self.now || (roll < 4 && !is_quiet);
        if !is_request_lost {
            let is_answer_lost = (4..8).contains(&roll) && !is_quiet;
            let at = self.now + self.delay();
            self.push(at, Event::Arrive { node, life, request, is_answer_lost });
        }
    }

    fn delay(&mut self) -> u64 {
        let is_slow = self.now < END && self.fates.u8(..100) < 15;
        self.fates.u64(1000..=if is_slow { LONGEST_DELAY } else { 50_000 })
    }

    fn receive(&mut self, node: usize, mut answer: Answer) {
        let local = self.local(node, self.now);
        let wall = self.wall(node);
        let renewed = self.server.renewed();
        let sabotage = self.sabotage;
        let Some(process) = &mut self.nodes[node].process else { return };
        let Some((sent, request)) = process.under_way.take() else { return };
        let sent = if sabotage == Some(Sabotage::CountedFromAnswer) { local } else { sent };
        let mut is_believed_old = false;
        match (sabotage, &request, &mut answer) {
            (Some(Sabotage::UnchangedCounts), Request::Write { fence, .. }, Answer::Lease(record))
                if fence.resource_version == record.resource_version =>
            {
                record.resource_version.push('!');
            }
            (Some(Sabotage::EmptiedTakenAtOnce), _, Answer::Lease(record)) if record.holder.is_empty() => {
                record.duration = Duration::from_secs(1);
            }
            (Some(Sabotage::CreatedTakenAtOnce), Request::Create(_), Answer::Lease(_)) => is_believed_old = true,
            (Some(Sabotage::WallClocksCompared), Request::Read, Answer::Lease(_)) => {
                is_believed_old = process.machine.claim().is_none()
                    && renewed
                        .is_some_and(|(renewed, duration)| wall.duration_since(renewed).unsigned_abs() > duration);
            }
            _ => {}
        }
        if is_believed_old {
            process.machine.receive(&request, sent, answer.clone(), local - Duration::from_secs(500));
        }
        process.machine.receive(&request, sent, answer, local);
    }

    fn fault(&mut self, fault: Fault) {
        let now = self.now;
        let until = |time: u32| (now + u64::from(time) * 1000).min(END);
        let count = self.nodes.len();
        match fault {
            Fault::Pause { replica, time } => self.nodes[replica % count].paused_until = until(time),
            Fault::Partition { replica, time } => self.nodes[replica % count].cut_off_until = until(time),
            Fault::Outage { time } => {
                for node in &mut self.nodes {
                    node.cut_off_until = until(time);
                }
            }
            Fault::Stop { replica, time } => {
                let node = replica % count;
                self.push(now, Event::Stop { node, life: self.nodes[node].life, restart: until(time) });
            }
            Fault::Crash { replica, time } => {
                let node = &mut self.nodes[replica % count];
                if node.process.take().is_some() {
                    node.paused_until = 0;
                    self.push(until(time), Event::Start { node: replica % count });
                }
            }
            Fault::SetWall { replica, minutes } => {
                self.nodes[replica % count].wall_shift += i64::from(minutes) * 60_000_000;
            }
            Fault::FreezeWall { replica, time } => self.nodes[replica % count].frozen = (now, until(time)),
            Fault::Delete => {
                let durations = self.nodes[0].plan.durations;
                if self.nodes.iter().all(|node| node.plan.durations == durations) {
                    self.server.delete();
                }
            }
            Fault::Empty => self.server.empty(),
            Fault::Annotate => self.server.annotate(),
        }
    }

    fn check_claims(&self) -> Result<(), Violation> {
        let mut holders = (0..self.nodes.len()).filter(|node| self.holds(*node));
        let (Some(first), Some(second)) = (holders.next(), holders.next()) else { return Ok(()) };
        let name = |node: usize| self.nodes[node].process.as_ref().map(|it| it.name.clone()).unwrap_or_default();
        Err(Violation::TwoClaims { at: self.now, first: name(first), second: name(second) })
    }

    fn holds(&self, node: usize) -> bool {
        let claim = self.nodes[node].process.as_ref().and_then(|process| process.machine.claim());
        claim.is_some_and(|term| {
            self.local(node, self.now) < term.until || self.sabotage == Some(Sabotage::DeadlineNotAsked)
        })
    }

    /// Who leads, and in which term.
    fn leader(&self) -> Option<String> {
        let node = (0..self.nodes.len()).find(|node| self.holds(*node))?;
        let process = self.nodes[node].process.as_ref()?;
        Some(format!("{} in term {:?}", process.name, process.term))
    }

    fn process(&mut self, node: usize, life: u32) -> Option<&mut Process> {
        let node = &mut self.nodes[node];
        node.process.as_mut().filter(|_| node.life == life)
    }

    fn wake(&mut self, node: usize, at: u64) {
        let life = self.nodes[node].life;
        let wake = self.sequence;
        if let Some(process) = &mut self.nodes[node].process {
            process.wake = wake;
        }
        self.push(at.max(self.now), Event::Wake { node, life, wake });
    }

    fn push(&mut self, at: u64, event: Event) {
        self.queue.insert((at, self.sequence), event);
        self.sequence += 1;
    }

    /// How many millionths of a second the replica's clock counts in a second.
    fn rate(&self, node: usize) -> u64 {
        let drift = if self.sabotage == Some(Sabotage::ClocksOutOfBounds) { 6 * DRIFT } else { DRIFT };
        1_000_000_u64.saturating_add_signed(i64::from(self.nodes[node].plan.drift) * drift / 100)
    }

    fn local(&self, node: usize, at: u64) -> Instant {
        self.base + Duration::from_micros(at * self.rate(node) / 1_000_000)
    }

    /// The time at which the replica's clock shows `instant`.
    fn time_of(&self, node: usize, instant: Instant) -> u64 {
        (micros(instant - self.base) * 1_000_000).div_ceil(self.rate(node))
    }

    fn wall(&self, node: usize) -> Timestamp {
        let it = &self.nodes[node];
        let at = if self.now < it.frozen.1 { it.frozen.0 } else { self.now };
        let shift = SignedDuration::from_micros(it.wall_shift.saturating_add_unsigned(at));
        Timestamp::UNIX_EPOCH.saturating_add(shift).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn log(&mut self, line: impl FnOnce() -> String) {
        let at = self.now;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{at:>11} {}", line()));
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
