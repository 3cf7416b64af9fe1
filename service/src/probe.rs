//! The command `probe URL` of every program: asks a server for its health, in images without a shell and without curl.
//!
//! In: a URL such as `http://127.0.0.1:8080/readyz`. Out: whether the answer's status is a success, and its body. Fails: if the URL is
//! no `http://` URL, or if no answer arrives in a few seconds.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::http::Uri;

/// Limits the connection, and each read and write: the answer is the server's own state, which it knows at once.
const LIMIT: Duration = Duration::from_secs(3);
/// The most bytes of an answer; more than any page of health has.
const LENGTH: u64 = 64 << 10;

/// Asks, and returns whether the answer is good, with its body.
pub(crate) fn ask(url: &str) -> Result<(bool, String)> {
    answer(url).with_context(|| format!("`{url}` does not answer"))
}

fn answer(url: &str) -> Result<(bool, String)> {
    let uri: Uri = url.parse()?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http")).context("it is no http:// URL")?;
    let host = authority.host().trim_matches(['[', ']']);
    let address = (host, authority.port_u16().unwrap_or(80)).to_socket_addrs()?.next().context("no address")?;
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    // A server answers a request of HTTP 1.0 in one piece, and then closes the connection.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nhost: {authority}\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(LENGTH).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer is not HTTP")?;
    let status = head.split(' ').nth(1).context("the answer has no status")?;
    Ok((status.starts_with('2'), body.to_owned()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::probes::Readiness;
    use crate::servers::serve_health;

    #[tokio::test(flavor = "multi_thread")]
    async fn answer_tells_whether_the_server_is_ready() {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let stop = CancellationToken::new();
        let server = serve_health("tester", any, stop.clone(), Readiness::default, []).await.unwrap();
        let url = format!("http://{}/readyz", server.address());
        assert_eq!(ask(&url).unwrap(), (true, r#"{"status":"ok"}"#.to_owned()));
        stop.cancel();
        let (is_success, body) = ask(&url).unwrap();
        assert!(!is_success && body.contains("shutting down"), "{body}");
        drop(server);
    }

    #[test]
    fn other_urls_and_silent_servers_are_errors() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let closed = format!("http://127.0.0.1:{port}/");
        for (url, expected) in [("/readyz", "no http:// URL"), ("https://a/", "no http:// URL"), (&closed, "refused")] {
            let error = format!("{:#}", ask(url).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
