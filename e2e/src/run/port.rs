//! Free ports, for servers that cannot choose one themselves.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use anyhow::bail;

/// The ports that this process has picked: a server may bind its port only after the next port is picked.
static PICKED: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Below the range from which the kernel assigns ports for `bind(0)` and outgoing connections. So only
/// another test run can take the port before the server binds it.
const RANGE: std::ops::Range<u16> = 15_000..32_000;

/// Picks a random free port of the loopback interface, and none twice.
pub fn free_port() -> anyhow::Result<u16> {
    for _ in 0..100 {
        let [high, low, ..] = *uuid::Uuid::new_v4().as_bytes();
        let port = RANGE.start + u16::from_be_bytes([high, low]) % (RANGE.end - RANGE.start);
        let is_new = PICKED.lock().unwrap_or_else(PoisonError::into_inner).insert(port);
        if is_new && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port between {} and {}", RANGE.start, RANGE.end)
}
