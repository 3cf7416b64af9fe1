use std::cell::Cell;
use std::future::pending;

use tokio::time::sleep;

use super::*;

type Answer = Result<&'static str, &'static str>;
/// Seconds until a request ends (none: never), and how it ends.
type Ending = (Option<u64>, Answer);
/// Name; ending of the first and of the second request; expected result, seconds until it, and number of requests.
type Case = (&'static str, Ending, Ending, Answer, u64, usize);

#[tokio::test(start_paused = true)]
async fn lookup_is_sent_again_only_if_the_first_is_silent() {
    let never: Ending = (None, Err("never"));
    let cases: [Case; 6] = [
        ("answered in time", (Some(1), Ok("first")), never, Ok("first"), 1, 1),
        ("refused in time", (Some(1), Err("refused")), never, Err("refused"), 1, 1),
        ("never answered", never, (Some(1), Ok("second")), Ok("second"), 4, 2),
        ("answered late, before the second", (Some(5), Ok("first")), (Some(9), Ok("second")), Ok("first"), 5, 2),
        ("answered late, the second refused", (Some(8), Ok("first")), (Some(1), Err("refused")), Ok("first"), 8, 2),
        ("given up twice", (Some(30), Err("first")), (Some(30), Err("second")), Err("second"), 33, 2),
    ];
    for (name, first, second, expected, seconds, requests) in cases {
        let (asked, start) = (Cell::new(0), Instant::now());
        let answer = send_again_if_silent(Duration::from_secs(3), || {
            asked.set(asked.get() + 1);
            let (after, answer) = if asked.get() == 1 { first } else { second };
            async move {
                match after {
                    Some(seconds) => sleep(Duration::from_secs(seconds)).await,
                    None => pending().await,
                }
                answer
            }
        });
        assert_eq!(answer.await, expected, "{name}");
        assert_eq!((start.elapsed().as_secs(), asked.get()), (seconds, requests), "{name}");
    }
}
