//! Redacts credentials in URLs, and recognizes names of secrets.
//!
//! In: a URL from a configuration, or the name of a header or query parameter. Out: the URL as logs may print
//! it. A URL that cannot be parsed is no error.

use lifecycle_core::sensitive;
use percent_encoding::percent_decode_str;
use url::Url;

/// Replaces a secret in printed text.
pub const REDACTED: &str = "**REDACTED**";

/// The URL without user and password, and without the values of secret parameters.
///
/// An unparsable URL is printed too, so that its author can find the mistake.
#[must_use]
pub fn redacted_url(url: &str) -> String {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    let has_scheme = !scheme.is_empty() && !scheme.contains(['/', '?', '#', '@']);
    let (scheme, rest) = if has_scheme { url.split_at(scheme.len() + 3) } else { ("", url) };
    let part_before = |ends: &[char]| rest.split(ends).next().unwrap_or_default();
    // Everything before the last `@` counts as credentials, because a password may contain an unescaped `/`,
    // `?` or `@`.
    let is_path = !has_scheme && rest.starts_with('/');
    let credentials = if !is_path && (!has_scheme || part_before(&['/', '\\', '?', '#']).contains('@')) {
        part_before(&['?', '#']).rfind('@')
    } else if has_scheme && Url::parse(url).is_err() {
        rest.rfind('@')
    } else {
        None
    };
    let (mark, rest) = credentials.map_or(("", rest), |at| (REDACTED, &rest[at..]));
    let (address, mut parameters) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let mut shown = format!("{scheme}{mark}{address}");
    while !parameters.is_empty() {
        let next = parameters[1..].find(['?', '#', '&', ';']).map_or(parameters.len(), |at| at + 1);
        let (parameter, behind) = parameters.split_at(next);
        match parameter.split_once('=') {
            Some((name, _)) if is_secret_name(name) => shown.extend([name, "=", REDACTED]),
            Some(_) | None => shown.push_str(parameter),
        }
        parameters = behind;
    }
    shown
}

/// Whether a header or query parameter of this name may hold a credential.
pub(crate) fn is_secret_name(name: &str) -> bool {
    sensitive::is_secret_name(&percent_decode_str(name).decode_utf8_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_url_hides_credentials() {
        let cases = [
            ("http://api:8000/fleet?page=2#x", "http://api:8000/fleet?page=2#x"),
            ("https://user:hunter2@api/v1", "https://**REDACTED**@api/v1"),
            ("https://hunter2@api", "https://**REDACTED**@api"),
            ("https://user:hun/ter2@api/v1", "https://**REDACTED**@api/v1"),
            ("https://user:hun?ter2@api/v1", "https://**REDACTED**@api/v1"),
            ("https://user:hun@ter2@api/v1", "https://**REDACTED**@api/v1"),
            ("https://user:hun@ter/2@api/v1", "https://**REDACTED**@api/v1"),
            ("user:hunter2@api:8000", "**REDACTED**@api:8000"),
            ("https//user:hunter2@api/v1", "**REDACTED**@api/v1"),
            ("ftp://user:hunter2@api", "ftp://**REDACTED**@api"),
            (
                "http://api/x?access_token=hunter2&page=2&API%4BEY=hunter2#id_token=hunter2",
                "http://api/x?access_token=**REDACTED**&page=2&API%4BEY=**REDACTED**#id_token=**REDACTED**",
            ),
            ("http://api/x?cookie=hunter2", "http://api/x?cookie=**REDACTED**"),
            ("/api/hyperfleet/v1/users/a@b?x=c@d", "/api/hyperfleet/v1/users/a@b?x=c@d"),
            ("https://api/users/a@b", "https://api/users/a@b"),
            ("/hooks?to=http://user@host/x", "/hooks?to=http://user@host/x"),
            ("", ""),
        ];
        for (url, expected) in cases {
            assert_eq!(redacted_url(url), expected, "{url}");
        }
    }
}
