//! Rows about lines: what any adapter answers whatever it deploys to.

use serde_json::{Value, json};

use super::{End, expect};
use crate::adapter::short;
use crate::stage::{EXITS_WITHIN, Stage, request};

const METHODS: [&str; 6] = ["validate_config", "plan", "apply", "destroy", "status", "import"];

pub(super) fn info(stage: &Stage<'_>) -> Result<String, End> {
    let info = stage.result("get_provider_info", &Value::Null)?;
    let text = |member: &str| info[member].as_str().unwrap_or_default();
    expect(!text("name").is_empty() && !text("version").is_empty(), || format!("name or version is empty: {info}"))?;
    let schema: Value = serde_json::from_str(text("config_schema"))
        .map_err(|error| End::Failed(format!("config_schema is no JSON: {error}")))?;
    let validator = jsonschema::draft7::new(&schema)
        .map_err(|error| End::Failed(format!("config_schema is no draft-07 schema: {error}")))?;
    let config = &stage.profile.inputs.config;
    if let Err(error) = validator.validate(config) {
        return Err(End::Failed(format!(
            "config_schema refuses the full example: {error} at {}",
            error.instance_path()
        )));
    }
    let mut unknown = config.clone();
    unknown["no_such_key"] = true.into();
    expect(!validator.is_valid(&unknown), || "config_schema accepts the unknown key no_such_key".to_owned())?;
    Ok(format!("{} {}", text("name"), text("version")))
}

pub(super) fn validate(stage: &Stage<'_>) -> Result<String, End> {
    let inputs = &stage.profile.inputs;
    let cases = [
        ("good", inputs.config.to_string(), true),
        ("mistaken", inputs.mistaken_config.to_string(), false),
        ("unreadable", "{".to_owned(), false),
    ];
    let mut seen = String::new();
    for (name, config, is_valid) in cases {
        let result = stage.result("validate_config", &json!({"config": config}))?;
        expect(result["valid"] == is_valid, || format!("the {name} configuration: {result}"))?;
        let errors = result["errors"].as_array().cloned().unwrap_or_default();
        expect(errors.is_empty() == is_valid, || format!("the {name} configuration: {result}"))?;
        if let Some(Value::String(error)) = errors.first() {
            seen = error.clone();
        }
    }
    Ok(short(&seen))
}

/// Checks the error of an answer: its code, and what its message begins with and has in it.
fn is_error(answer: &Value, id: &Value, code: i32, begins: &str, has: &str) -> Result<(), End> {
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    let holds = answer["error"]["code"] == code && message.starts_with(begins) && message.contains(has);
    expect(holds && answer["id"] == *id && answer.get("id").is_some(), || {
        format!("{}, expected code {code}, id {id}, `{begins}` {has}", short(&answer.to_string()))
    })
}

pub(super) fn unknown(stage: &Stage<'_>) -> Result<String, End> {
    let info = stage.result("get_provider_info", &Value::Null)?;
    let has_login = info["capabilities"].as_array().is_some_and(|list| list.contains(&"login".into()));
    let logins = ["get_login_url", "complete_login"].into_iter().filter(|_| !has_login);
    for method in logins.chain(["initialize"]) {
        is_error(&stage.ask(method, &json!({}))?, &1.into(), -32601, "method not found: ", method)?;
    }
    Ok(if has_login { "it has login".to_owned() } else { "it has no login".to_owned() })
}

pub(super) fn garbage(stage: &Stage<'_>) -> Result<String, End> {
    let mut count = 0;
    for garbage in ["hello", "{", "{\"id\":1,\"method\":5}", "\"text\""] {
        let input = [garbage.as_bytes(), b"\n", &request("get_provider_info", &Value::Null)].concat();
        let answers = stage.talk(&input, 2)?;
        for (answer, is_garbage) in answers.iter().zip([true, false]) {
            if is_garbage {
                is_error(answer, &Value::Null, -32700, "parse error: ", "")?;
            } else {
                expect(answer["result"]["name"].is_string(), || format!("after {garbage}: {answer}"))?;
            }
        }
        count += 1;
    }
    Ok(format!("{count} kinds"))
}

pub(super) fn params(stage: &Stage<'_>) -> Result<String, End> {
    for method in METHODS {
        for params in ["", r#","params":[]"#, r#","params":{"config":5,"deploy_config":5}"#] {
            let answers = stage.talk(format!("{{\"id\":1,\"method\":\"{method}\"{params}}}\n").as_bytes(), 1)?;
            answers.iter().try_for_each(|answer| is_error(answer, &1.into(), -32700, "invalid params: ", ""))?;
        }
        let answer = stage.ask(method, &Value::Null)?;
        expect(answer["error"]["code"] != -32700, || format!("null params of {method}: {answer}"))?;
    }
    Ok(format!("{} methods", METHODS.len()))
}

pub(super) fn ids(stage: &Stage<'_>) -> Result<String, End> {
    let ask = |id: &str| format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":\"get_provider_info\"}}\n");
    let mut adapter = stage.start()?;
    let ids = ["1", "\"x\"", "7.5"];
    adapter.send(ids.map(|id| ask(&format!("\"id\":{id},"))).concat().as_bytes())?;
    for id in ids {
        let line = adapter.line()?;
        expect(line.contains(&format!("\"id\":{id},")), || format!("the id {id} comes back as {}", short(&line)))?;
    }
    adapter.send(format!("[{}]\n{}", ask("\"id\":1,").trim_end(), ask("")).as_bytes())?;
    is_error(&adapter.answer()?, &Value::Null, -32700, "parse error: ", "")?;
    let answer = adapter.answer()?;
    expect(answer["id"].is_null() && answer["result"].is_object(), || format!("without an id: {answer}"))?;
    adapter.close(EXITS_WITHIN)?;
    Ok("1, \"x\", 7.5, a batch, none".to_owned())
}

pub(super) fn ends(stage: &Stage<'_>) -> Result<String, End> {
    let mut line = request("get_provider_info", &Value::Null);
    stage.talk(&[b"\n\r\n\n", line.as_slice(), b"\n"].concat(), 1)?;
    line.pop();
    let mut adapter = stage.start()?;
    adapter.send(&line)?;
    // Only the end of the input shows that the line is over.
    let answer = adapter.finish()?;
    expect(answer.contains("\"result\""), || format!("the last line: {}", short(&answer)))?;
    stage.start()?.close(EXITS_WITHIN)?;
    Ok("exit 0".to_owned())
}

pub(super) fn unasked(stage: &Stage<'_>) -> Result<String, End> {
    let mut params = stage.params("");
    params["no_such_member"] = json!([{"a": 1}]);
    stage.result("plan", &params)?;
    let mut line = request("get_provider_info", &Value::Null);
    line.splice(0..1, br#"{"no_such_member":{},"#.iter().copied());
    stage.talk(&line, 1)?;
    stage.start()?.close(EXITS_WITHIN)?;
    Ok("no line without a request".to_owned())
}
