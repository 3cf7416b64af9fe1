use lifecycle_e2e::postgres::Server;

#[tokio::test]
async fn each_test_gets_a_separate_database() -> anyhow::Result<()> {
    let server = Server::shared().await?;
    let (one, other) = tokio::try_join!(server.database(), server.database())?;
    assert_ne!(one.url(), other.url());
    one.execute("CREATE TABLE here (id int)").await?;
    assert!(other.execute("TABLE here").await.is_err(), "the other database does not have the table");
    one.execute("TABLE here").await
}

#[tokio::test]
async fn database_is_reachable_through_a_proxy() -> anyhow::Result<()> {
    let database = Server::shared().await?.database().await?;
    let proxy = database.proxy().await?;
    database.through(&proxy)?.execute("SELECT 1").await
}
