//! The broker's URL, whose user and password are never printed.

use std::fmt;
use std::str::FromStr;

use lapin::uri::AMQPUri;

use super::{FRAME_BYTES, HEARTBEAT_SECONDS};

/// An AMQP URL. `Display` and `Debug` print neither user nor password.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl(AMQPUri);

/// The text is not an AMQP URL. The error does not quote the text, which may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an AMQP URL; expected amqp://USER:PASSWORD@HOST:PORT/VHOST (or amqps://), with special characters percent-encoded"
)]
pub struct BrokerUrlError;

impl BrokerUrl {
    pub(super) fn uri(&self) -> AMQPUri {
        self.0.clone()
    }
}

impl FromStr for BrokerUrl {
    type Err = BrokerUrlError;

    fn from_str(text: &str) -> Result<Self, BrokerUrlError> {
        let mut uri: AMQPUri = text.parse().map_err(|_| BrokerUrlError)?;
        // The parser drops an IPv6 host and would silently connect to localhost, so set the host here.
        if let Some(address) = ipv6_host(text) {
            uri.authority.host = address.to_owned();
        }
        // As in the Go client, `amqp://host/` means the default virtual host `/`, not a virtual host with an
        // empty name.
        if uri.vhost.is_empty() {
            uri.vhost = "/".to_owned();
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
        uri.query.frame_max.get_or_insert(FRAME_BYTES);
        Ok(Self(uri))
    }
}

/// The text between the brackets of `scheme://user@[address]:port/path`.
fn ipv6_host(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Some(host.strip_prefix('[')?.split_once(']')?.0)
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AMQPUri { scheme, authority, vhost, .. } = &self.0;
        write!(f, "{scheme}://{}:{} (virtual host {vhost})", authority.host, authority.port)
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BrokerUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn broker_urls_parse_as_in_the_go_client() {
        let cases = [
            ("no path", "amqp://guest:secret@rabbitmq:5673", "amqp://rabbitmq:5673 (virtual host /)"),
            ("a lone slash", "amqp://guest:secret@rabbitmq:5672/", "amqp://rabbitmq:5672 (virtual host /)"),
            ("an encoded slash", "amqp://rabbitmq/%2f", "amqp://rabbitmq:5672 (virtual host /)"),
            ("a virtual host", "amqps://rabbitmq/fleet", "amqps://rabbitmq:5671 (virtual host fleet)"),
            ("an IPv4 address", "amqp://10.0.0.1/x", "amqp://10.0.0.1:5672 (virtual host x)"),
            ("an IPv6 address", "amqp://u:secret@[fd00::1]:5672/x", "amqp://fd00::1:5672 (virtual host x)"),
        ];
        for (name, url, expected) in cases {
            let url: BrokerUrl = url.parse().unwrap();
            assert_eq!(url.to_string(), expected, "{name}");
            assert!(!format!("{url:?}").contains("secret"), "{name}");
        }
    }

    #[test]
    fn heartbeat_in_the_url_overrides_the_default() {
        let heartbeat = |url: &str| url.parse::<BrokerUrl>().unwrap().uri().query.heartbeat;
        assert_eq!(heartbeat("amqp://rabbitmq"), Some(HEARTBEAT_SECONDS));
        assert_eq!(heartbeat("amqp://rabbitmq?heartbeat=30"), Some(30));
    }

    #[test]
    fn frame_size_in_the_url_overrides_the_default() {
        let frame_max = |url: &str| url.parse::<BrokerUrl>().unwrap().uri().query.frame_max;
        assert_eq!(frame_max("amqp://rabbitmq"), Some(FRAME_BYTES));
        assert_eq!(frame_max("amqp://rabbitmq?frame_max=65536"), Some(65_536));
    }

    #[test]
    fn invalid_url_error_does_not_quote_the_url() {
        for url in ["", "rabbitmq:5672", "http://u:secret@rabbitmq", "amqp:secret", "amqp://u:secret@rabbitmq:port"] {
            let error = url.parse::<BrokerUrl>().unwrap_err();
            assert!(!error.to_string().contains("secret"), "{url}: {error}");
        }
    }
}
