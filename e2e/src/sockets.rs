//! Lists the TCP connections of a program under test.
//!
//! In: the id of a child process. Out: its connections, with the socket options that the program set. The
//! test duplicates each socket with `pidfd_getfd`, which the kernel permits to the parent process.

use std::fs;
use std::net::{SocketAddr, TcpStream};

use anyhow::Context;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// A TCP connection of the program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The address of the program's end of the connection.
    pub local: SocketAddr,
    /// The address of the other end of the connection.
    pub peer: SocketAddr,
    /// Whether the program has set `TCP_NODELAY` on the connection.
    pub nodelay: bool,
}

/// Lists the current connections of a child process, without listeners and other sockets.
pub fn connections(process: u32) -> anyhow::Result<Vec<Connection>> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).context("no process id")?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).context("failed to open the process")?;
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/fd")).context("failed to list descriptors")? {
        let entry = entry?;
        // The program may close a descriptor while this loop runs.
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let number = entry.file_name().to_string_lossy().parse();
        let (true, Ok(number)) = (target.to_string_lossy().starts_with("socket:"), number) else { continue };
        let socket = match pidfd_getfd(&handle, number, PidfdGetfdFlags::empty()) {
            Ok(socket) => TcpStream::from(socket),
            Err(rustix::io::Errno::BADF) => continue,
            Err(error) => {
                return Err(error)
                    .context("failed to duplicate a socket: the test needs permission to trace its child");
            }
        };
        let (Ok(local), Ok(peer), Ok(nodelay)) = (socket.local_addr(), socket.peer_addr(), socket.nodelay()) else {
            continue;
        };
        found.push(Connection { local, peer, nodelay });
    }
    Ok(found)
}
