//! Ports for servers that have to be told one.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::bail;

/// Below the range from which the kernel serves `bind(0)` and outgoing connections, so that between the choice
/// here and the server's own bind only another test run could take the port.
const RANGE: std::ops::Range<u16> = 15_000..32_000;

/// Picks a port of the loopback interface on which nobody listens.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    for _ in 0..100 {
        let [high, low, ..] = *uuid::Uuid::new_v4().as_bytes();
        let port = RANGE.start + u16::from_be_bytes([high, low]) % (RANGE.end - RANGE.start);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port between {} and {}", RANGE.start, RANGE.end)
}
