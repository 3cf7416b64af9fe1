//! Batches of commands and of inspections.

use super::*;

fn namespace(name: &str) -> Inspection {
    Inspection::Namespace(name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn commands_run_at_the_same_time_and_are_answered_in_order() {
    let transport = Scripted::new([job("taken", "u1")]).refusing("create c", WriteErrorKind::Forbidden);
    let commands = vec![create("a"), delete(vec![target("taken", "u1")]), create("c"), create("a"), create("d")];
    let executed = execute_all(&transport, commands, deadline()).await;
    let results: Vec<String> = executed.iter().map(summary).collect();
    let expected = [
        "created",
        "deleted",
        "failed Forbidden (create c)",
        "name taken by 00000000-0000-4000-8000-000000000002",
        "created",
    ];
    assert_eq!(results, expected);

    let names: Vec<String> = (0..3 * CONCURRENT_WRITES).map(|index| format!("job-{index}")).collect();
    let transport = Scripted::new([]);
    let start = Instant::now();
    let executed = execute_all(&transport, names.iter().map(|name| create(name)).collect(), deadline()).await;
    assert!(executed.iter().all(|executed| matches!(executed, Executed::Created(_))), "{executed:?}");
    assert_eq!(transport.most_running_calls.load(Ordering::SeqCst), CONCURRENT_WRITES);
    assert!(start.elapsed() < Duration::from_millis(40), "three rounds: {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn batch_ends_at_the_deadline_and_starts_nothing_after_it() {
    let transport = Scripted { hang_on: Some("create a"), ..Scripted::new([]) };
    let deadline = Instant::now() + Duration::from_millis(50);
    let executed = execute_all(&transport, vec![create("a"), create("b")], deadline).await;
    assert!(Instant::now() <= deadline + Duration::from_millis(2));
    let results: Vec<String> = executed.iter().map(summary).collect();
    assert_eq!(results, ["failed DeadlineExceeded (create Job team-a/a)", "created"]);

    let late = execute_all(&transport, vec![create("c")], deadline).await;
    assert_eq!(summary(&late[0]), "failed DeadlineExceeded (create Job team-a/c)");
    assert_eq!(transport.calls(), ["create a", "create b"]);
}

#[tokio::test(start_paused = true)]
async fn inspections_are_answered_in_order_and_by_the_deadline() {
    let mut transport =
        Scripted::new([job("a", "u1")]).refusing("inspect namespace refused", WriteErrorKind::Forbidden);
    transport.hang_on = Some("inspect namespace hangs");
    let inspections = ["team-a", "hangs", "refused", "empty", "team-a"].map(namespace);
    let deadline = Instant::now() + Duration::from_millis(100);
    let found = inspect_all(&transport, &inspections, &Members::default(), deadline).await;
    assert!(Instant::now() <= deadline + Duration::from_millis(2));
    let found: Vec<String> = found
        .into_iter()
        .map(|found| match found {
            Ok(found) => found.map_or_else(|| "nothing".to_owned(), |it| it.to_string()),
            Err(error) => format!("{:?} ({})", error.kind, error.call),
        })
        .collect();
    let foreign = "Job.batch team-a/a";
    let hung = "DeadlineExceeded (inspect namespace hangs)";
    assert_eq!(found, [foreign, hung, "Forbidden (inspect namespace refused)", "nothing", foreign]);

    let calls = transport.calls().len();
    let late = inspect_all(&transport, &inspections, &Members::default(), deadline).await;
    assert!(late.iter().all(|found| found.as_ref().is_err_and(|error| error.kind == WriteErrorKind::DeadlineExceeded)));
    assert_eq!(transport.calls().len(), calls, "nothing starts after the deadline");
}
