//! Parses the address that a server listens on, in Go's notation.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Parses a listen address such as `:8080` (all interfaces), `localhost:8080`, `127.0.0.1:8080` or `[::1]:8080`.
#[must_use]
pub fn parse(text: &str) -> Option<SocketAddr> {
    if let Some(port) = text.strip_prefix(':') {
        return Some(all_interfaces(port.parse().ok()?));
    }
    if let Some(port) = text.strip_prefix("localhost:") {
        return Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into());
    }
    text.parse().ok()
}

/// The address of all interfaces: IPv6's unspecified address, which also accepts IPv4 where the system has both.
#[must_use]
pub fn all_interfaces(port: u16) -> SocketAddr {
    (Ipv6Addr::UNSPECIFIED, port).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses_are_parsed() {
        let cases = [
            (":8080", Some("[::]:8080")),
            ("localhost:8080", Some("127.0.0.1:8080")),
            ("0.0.0.0:8080", Some("0.0.0.0:8080")),
            ("[::1]:8080", Some("[::1]:8080")),
            (":http", None),
            ("8080", None),
            ("example.org:80", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).map(|address| address.to_string()).as_deref(), expected, "{text}");
        }
    }
}
