//! Counts the round trips between exporter and database for one scrape.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::figures::fleet;
use crate::world::{Exporter, KINDS, World};

/// Forwards one connection, and counts a round trip whenever the client sends after the server has answered.
async fn count(listener: TcpListener, to: String, round_trips: Arc<AtomicU64>) {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut server = TcpStream::connect(to).await.unwrap();
    let (mut asked, mut answer, mut is_answered) = ([0; 65_536], [0; 65_536], true);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                if std::mem::take(&mut is_answered) {
                    round_trips.fetch_add(1, Ordering::Relaxed);
                }
                server.write_all(&asked[..length]).await.unwrap();
            }
            read = server.read(&mut answer) => {
                let Ok(length @ 1..) = read else { return };
                is_answered = true;
                client.write_all(&answer[..length]).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn scrape_takes_three_round_trips() {
    let mut world = World::migrated().await;
    fleet(&mut world).await;
    let mut config = world.config(KINDS);
    let options = config.database.options.clone();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let to = format!("{}:{}", options.get_host(), options.get_port());
    config.database.options = options.host("127.0.0.1").port(port);
    let round_trips = Arc::new(AtomicU64::new(0));
    let counting = tokio::spawn(count(listener, to, round_trips.clone()));
    let exporter = Exporter::start(config).await;
    // The first scrape also connects and prepares its statement, so it is not counted.
    assert_eq!(exporter.scrape().await.success(), 1.0);
    for _ in 0..3 {
        round_trips.store(0, Ordering::Relaxed);
        assert_eq!(exporter.scrape().await.success(), 1.0);
        assert_eq!(round_trips.load(Ordering::Relaxed), 3, "begin, one statement, commit");
    }
    counting.abort();
}
