//! A login by browser: the page that a person opens, and what its answer gives.
//!
//! In: the configuration as far as there is one, the process' variables, and what the browser passed back. Out: a URL; a token, and a
//! configuration to begin with. Fails: if nothing says where the server is, and if the server gives no token.

use std::collections::BTreeMap;

use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::protocol::{Login, LoginRequest, LoginUrl, LoginUrlRequest};
use serde_json::{Map, Value, json};
use url::Url;

use crate::config::DEFAULT_PROVIDER;
use crate::errors::deploy_error;
use crate::rest;

/// The environment variable of the page where people log in, if that is not at the API's address.
pub const DASHBOARD: &str = "OMNIA_DASHBOARD_URL";

/// The page that a person opens.
///
/// # Errors
/// Nothing says where the server is.
pub fn page(request: &LoginUrlRequest, environment: &BTreeMap<String, String>) -> Result<LoginUrl, DeployError> {
    let mut url = server(&request.config, environment)?;
    url.set_path(&format!("{}/api/cli/authorize", url.path().trim_end_matches('/')));
    url.query_pairs_mut().append_pair("callback", &request.callback_url).append_pair("state", &request.state);
    Ok(LoginUrl { authorize_url: url.into() })
}

/// Exchanges what the browser passed back for a token.
///
/// # Errors
/// Nothing says where the server is, the browser passed no code, or the server gives no token.
pub async fn complete(request: &LoginRequest, environment: &BTreeMap<String, String>) -> Result<Login, DeployError> {
    let failed = |category, message: &str| DeployError::new(category, "login", message);
    let mut url = server(&request.config, environment)?;
    url.set_path(&format!("{}/api/cli/token", url.path().trim_end_matches('/')));
    let code = request.params.get("code").filter(|code| !code.is_empty());
    let code = code.ok_or_else(|| {
        let refused = request.params.get("error").map_or("the browser passed no code", String::as_str);
        failed(Category::Permission, refused).hint("log in again")
    })?;
    let answer = rest::exchange(url.as_str(), &json!({ "code": code })).await;
    let setup = |error| failed(Category::Network, "there can be no request").because(&error);
    let answer =
        answer.map_err(setup)?.map_err(|failure| deploy_error("login", &failure.write_error(String::new())))?;
    let token = answer.get("token").and_then(Value::as_str).unwrap_or_default().to_owned();
    if token.is_empty() {
        return Err(failed(Category::Permission, "the server gave no token").hint("log in again"));
    }
    let mut profile = answer.get("profile").and_then(Value::as_object).cloned().unwrap_or_default();
    name_a_default(&mut profile);
    Ok(Login { profile, token })
}

/// Where people log in: where the variable says, or at the API.
fn server(config: &str, environment: &BTreeMap<String, String>) -> Result<Url, DeployError> {
    let config: Value = serde_json::from_str(config).unwrap_or_default();
    let of_config = || config.get("api_endpoint")?.as_str().map(str::to_owned);
    let written = environment.get(DASHBOARD).cloned().filter(|url| !url.is_empty()).or_else(of_config);
    let url = written.as_deref().and_then(|url| Url::parse(url).ok());
    url.filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(|| {
        let message = "nothing says where to log in";
        let hint = format!("write the URL of the server as `api_endpoint`, or into {DASHBOARD}");
        DeployError::new(Category::Configuration, "login", message).hint(hint)
    })
}

/// Names the first provider of a profile `default`, if none is: agents would use none otherwise.
fn name_a_default(profile: &mut Map<String, Value>) {
    match profile.get_mut("providers") {
        Some(Value::Array(providers)) => {
            let is_default = |provider: &Value| provider["name"] == DEFAULT_PROVIDER;
            if let (false, Some(first)) = (providers.iter().any(is_default), providers.first_mut()) {
                first["name"] = json!(DEFAULT_PROVIDER);
            }
        }
        Some(Value::Object(providers)) if !providers.contains_key(DEFAULT_PROVIDER) => {
            let first = providers.keys().next().cloned();
            if let Some(reference) = first.and_then(|name| providers.remove(&name)) {
                providers.insert(DEFAULT_PROVIDER.to_owned(), reference);
            }
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use axum::body::Body;
    use http::Response;
    use lifecycle_e2e::scripted::{Scripted, status};

    use super::*;

    fn environment(url: &str) -> BTreeMap<String, String> {
        if url.is_empty() { BTreeMap::new() } else { [(DASHBOARD.to_owned(), url.to_owned())].into() }
    }

    #[test]
    fn page_is_that_of_the_variable_or_of_the_api() {
        let request = |config: &str| LoginUrlRequest {
            callback_url: "http://127.0.0.1:1/done?a=b".to_owned(),
            state: "x y".to_owned(),
            config: config.to_owned(),
        };
        let api = r#"{ "api_endpoint": "https://omnia.example.com/base/" }"#;
        let query = "callback=http%3A%2F%2F127.0.0.1%3A1%2Fdone%3Fa%3Db&state=x+y";
        for (config, variable, expected) in [
            (api, "", Some("https://omnia.example.com/base/api/cli/authorize")),
            (api, "https://dashboard.example.com", Some("https://dashboard.example.com/api/cli/authorize")),
            ("", "", None),
            (r#"{ "api_endpoint": "ftp://x" }"#, "", None),
        ] {
            let page = page(&request(config), &environment(variable)).ok().map(|page| page.authorize_url);
            assert_eq!(page, expected.map(|page| format!("{page}?{query}")), "{config} {variable}");
        }
    }

    #[tokio::test]
    async fn code_is_exchanged_for_a_token_and_a_profile() {
        let answer = |body: &Value| Response::new(Body::from(body.to_string()));
        let given = json!({ "token": "t", "profile": { "workspace": "team", "providers": [{ "name": "a" }, { "name": "b" }] } });
        let server = Scripted::start([answer(&given), answer(&json!({})), status(403)]).await.unwrap();
        let request = |code: &str| LoginRequest {
            params: [("code".to_owned(), code.to_owned())].into(),
            config: json!({ "api_endpoint": server.url() }).to_string(),
        };
        let login = complete(&request("c"), &BTreeMap::new()).await.unwrap();
        assert_eq!(login.token, "t");
        let expected = json!({ "workspace": "team", "providers": [{ "name": "default" }, { "name": "b" }] });
        assert_eq!(Value::Object(login.profile), expected);
        for (code, category) in [("c", Category::Permission), ("c", Category::Permission), ("", Category::Permission)] {
            let error = complete(&request(code), &BTreeMap::new()).await.unwrap_err();
            assert_eq!(error.category, category, "{error}");
        }
        assert_eq!(server.header(0, "authorization"), None, "there is no token yet");
    }

    #[test]
    fn first_provider_becomes_the_default_one_if_none_is() {
        for (providers, expected) in [
            (json!({ "b": "x", "a": "y" }), json!({ "default": "y", "b": "x" })),
            (json!({ "default": "x", "a": "y" }), json!({ "default": "x", "a": "y" })),
            (json!([{ "name": "a" }, { "name": "default" }]), json!([{ "name": "a" }, { "name": "default" }])),
            (json!([]), json!([])),
        ] {
            let mut profile = json!({ "providers": providers }).as_object().unwrap().clone();
            name_a_default(&mut profile);
            assert_eq!(profile["providers"], expected);
        }
    }
}
