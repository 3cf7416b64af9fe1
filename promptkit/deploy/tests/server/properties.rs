//! Whatever bytes come in, each line with content has one answer, and each id comes back.

use proptest::prelude::*;
use serde_json::Value;

use crate::talk;

/// Requests, and what resembles them.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let methods = "get_provider_info|validate_config|plan|apply|destroy|status|import|initialize|";
    let params = r#"null|\{\}|\[\]|5|\{"config":"\{"\}|\{"deploy_config":"\{\\"scope\\":\\"s\\"\}"\}"#;
    prop_oneof![
        3 => (any::<i64>(), methods, params)
            .prop_map(|(id, method, params)| format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#).into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => r#"[\{\}\[\]":,a-z0-9\\ ]{0,40}"#.prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn every_line_has_one_answer(lines in proptest::collection::vec(line(), 0..6)) {
        let input = lines.join(&b'\n');
        let asked = input.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let answers = talk(input.clone());
        prop_assert_eq!(answers.len(), asked.clone().count());
        for (asked, answer) in asked.zip(answers) {
            let answer: Value = serde_json::from_str(&answer).unwrap();
            prop_assert_eq!(answer["result"].is_null(), !answer["error"].is_null());
            // An id comes back unless the line could not be read.
            if let Ok(Value::Object(asked)) = serde_json::from_slice(asked) && answer["error"]["code"] != -32700 {
                prop_assert_eq!(&answer["id"], asked.get("id").unwrap_or(&Value::Null));
            }
        }
    }

    #[test]
    fn ids_are_echoed_byte_for_byte(id in r#"-?[1-9][0-9]{0,30}(\.[0-9]{1,20})?|"[a-zA-Z<>& é]{0,20}"|null|true"#) {
        let answers = talk(format!(r#"{{"id":{id},"method":"initialize"}}"#));
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"method not found: initialize"}}}}"#);
        prop_assert_eq!(answers, [expected]);
    }
}
