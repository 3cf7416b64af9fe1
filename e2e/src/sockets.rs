//! The TCP connections of a program under test, seen from outside.
//!
//! In: the id of a child process. Out: its connections, with the options that the program set on each. Each socket is
//! duplicated into the test by `pidfd_getfd`, which the kernel allows to the parent of the process.

use std::fs;
use std::net::{SocketAddr, TcpStream};

use anyhow::Context;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// One TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The program's end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// Whether Nagle's algorithm is off (`TCP_NODELAY`).
    pub nodelay: bool,
}

/// Lists the connections that a child process has right now; listeners and other sockets are left out.
pub fn connections(process: u32) -> anyhow::Result<Vec<Connection>> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).context("no process id")?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).context("failed to open the process")?;
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/fd")).context("failed to list descriptors")? {
        let entry = entry?;
        // A descriptor may be closed between two looks.
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let number = entry.file_name().to_string_lossy().parse();
        let (true, Ok(number)) = (target.to_string_lossy().starts_with("socket:"), number) else { continue };
        let socket = match pidfd_getfd(&handle, number, PidfdGetfdFlags::empty()) {
            Ok(socket) => TcpStream::from(socket),
            Err(rustix::io::Errno::BADF) => continue,
            Err(error) => {
                return Err(error).context("failed to duplicate a socket: it takes the right to trace the child");
            }
        };
        let (Ok(local), Ok(peer), Ok(nodelay)) = (socket.local_addr(), socket.peer_addr(), socket.nodelay()) else {
            continue;
        };
        found.push(Connection { local, peer, nodelay });
    }
    Ok(found)
}
