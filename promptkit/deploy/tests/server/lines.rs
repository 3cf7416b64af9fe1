//! What is on the wire, byte for byte.

use crate::{Scripted, Written, talk};

#[test]
fn answers_are_exact() {
    let info = r#"{"name":"scripted","version":"1.2.3","capabilities":["plan","apply","stream"]}"#;
    let good = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{info}}}"#);
    let bad = |id: &str, code: &str, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    let ask = |id: &str| format!(r#"{{"id":{id},"method":"get_provider_info"}}"#);
    let not_found = |id: &str, name: &str| bad(id, "-32601", &format!("method not found: {name}"));
    let array = bad("null", "-32700", "parse error: an array, expected an object");
    let cases: Vec<(&str, String, Vec<String>)> = vec![
        ("nothing", String::new(), vec![]),
        ("blank lines", "\n\r\n  \n".into(), vec![]),
        ("a request", ask("1") + "\n", vec![good("1")]),
        ("a carriage return", ask("1") + "\r\n", vec![good("1")]),
        ("a last line without a line feed", ask("1"), vec![good("1")]),
        (
            "ids of any type, in one write",
            [ask("1"), ask("\"x\""), ask("7.50"), ask("{\"a\": [1]}"), ask("null")].join("\n"),
            vec![good("1"), good("\"x\""), good("7.50"), good("{\"a\": [1]}"), good("null")],
        ),
        ("no id is answered", r#"{"method":"get_provider_info"}"#.into(), vec![good("null")]),
        ("a batch, then a request", format!("[{}]\n{}", ask("1"), ask("2")), vec![array, good("2")]),
        ("params of get_provider_info are ignored", r#"{"id":1,"method":"get_provider_info","params":[5]}"#.into(), vec![good("1")]),
        ("another version, and unknown members", r#"{"jsonrpc":"1","more":[],"id":1,"method":"get_provider_info"}"#.into(), vec![good("1")]),
        ("an unknown method", r#"{"id":1,"method":"initialize"}"#.into(), vec![not_found("1", "initialize")]),
        ("a login without the capability", r#"{"id":1,"method":"get_login_url","params":{}}"#.into(), vec![not_found("1", "get_login_url")]),
        ("no method", r#"{"id":1}"#.into(), vec![not_found("1", "")]),
        ("null", "null".into(), vec![not_found("null", "")]),
        (
            "a configuration that is no JSON is no error",
            r#"{"id":1,"method":"validate_config","params":{"config":"{"}}"#.into(),
            vec![r#"{"jsonrpc":"2.0","id":1,"result":{"valid":false,"errors":["the configuration is not valid JSON: EOF while parsing an object at line 1 column 1"]}}"#.into()],
        ),
        (
            "a good configuration",
            r#"{"id":1,"method":"validate_config","params":{"config":"{\"does\":\"x\",\"scope\":\"\u003cs\u003e\"}"}}"#.into(),
            vec![r#"{"jsonrpc":"2.0","id":1,"result":{"valid":true}}"#.into()],
        ),
        (
            "every mistake of a configuration",
            r#"{"id":1,"method":"validate_config","params":{"config":"{}"}}"#.into(),
            vec![r#"{"jsonrpc":"2.0","id":1,"result":{"valid":false,"errors":["does: missing","scope: missing"]}}"#.into()],
        ),
        (
            "import without support",
            r#"{"id":1,"method":"import","params":{"deploy_config":"{\"does\":\"x\",\"scope\":\"s\"}"}}"#.into(),
            vec![r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"scripted: import is not yet supported","data":{"errors":[{"category":"resource","operation":"import","type":"","name":"","message":"scripted: import is not yet supported","remediation":""}]}}}"#.into()],
        ),
    ];
    for (name, input, expected) in cases {
        assert_eq!(talk(input), expected, "{name}");
    }
}

#[test]
fn garbage_is_a_parse_error_and_the_next_line_is_served() {
    let cases: [&[u8]; 9] =
        [b"{", b"5", b"\"x\"", b"hello", b"{\"id\":1,\"method\":5}", b"\xff\xfe", b"{}x", b"{\"id\":}", b"\0"];
    for garbage in cases {
        let lines = talk([garbage, b"\n{\"id\":2,\"method\":\"get_provider_info\"}\n"].concat());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error: "#),
            "{lines:?}"
        );
        assert!(lines[1].starts_with(r#"{"jsonrpc":"2.0","id":2,"result":"#), "{lines:?}");
    }
}

#[test]
fn wrong_params_are_refused_by_every_method() {
    for method in ["validate_config", "plan", "apply", "destroy", "status", "import"] {
        let wrong = ["", r#","params":[]"#, r#","params":{"config":5,"deploy_config":5}"#, r#","params":"x""#];
        for params in wrong {
            let lines = talk(format!(r#"{{"id":1,"method":"{method}"{params}}}"#));
            let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"invalid params: "#;
            assert!(lines[0].starts_with(expected), "{method} {params}: {lines:?}");
        }
        let empty = ["null", "{}", r#"{"deploy_config":null,"config":null,"lifecycle":null,"unknown":[5]}"#];
        let answers = empty.map(|params| talk(format!(r#"{{"id":1,"method":"{method}","params":{params}}}"#)));
        assert!(!answers[0][0].contains("invalid params"), "{method}: {answers:?}");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{method}: {answers:?}");
    }
}

#[test]
fn line_of_twelve_mebibytes_is_served_and_one_over_the_limit_is_refused() {
    let line = |size: usize| format!(r#"{{"id":1,"method":"get_provider_info","params":"{}"}}"#, "x".repeat(size));
    let lines = talk([line(12 << 20), line(65 << 20), line(1)].join("\n"));
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], lines[2]);
    assert!(lines[1].ends_with(r#""message":"parse error: the line has more than 64 MiB"}}"#), "{}", lines[1]);
}

#[test]
fn login_is_served_with_the_capability() {
    let written = Written::default();
    let input = concat!(
        r#"{"id":1,"method":"get_login_url","params":{"callback_url":"http://l","state":"s"}}"#,
        "\n",
        r#"{"id":2,"method":"complete_login","params":{"params":{"code":"c"}}}"#,
    );
    let stop = tokio_util::sync::CancellationToken::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let served =
        promptkit_deploy::serve::serve(&Scripted { has_login: true }, input.as_bytes(), written.clone(), &stop);
    runtime.block_on(served).unwrap();
    let expected = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"authorize_url":"https://x/?callback=http://l"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"profile":{},"token":"c"}}"#,
    ];
    assert_eq!(written.lines(), expected);
}
