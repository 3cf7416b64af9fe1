//! Base64 as authors use it: what `data` of a Secret contains.
//!
//! Decodes as Go's `encoding/base64`, and as the encoders of CEL: the standard alphabet, where line breaks are
//! ignored and the padding may be missing. The error says nothing about the text, which may be secret.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Why a text cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not base64 text, such as \"aGk=\"")]
pub struct NotBase64;

/// Encodes bytes, with padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes text.
///
/// # Errors
/// The text has another character than those of the alphabet, or too few.
pub fn decode(text: &str) -> Result<Vec<u8>, NotBase64> {
    let text: String = text.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
    LENIENT.decode(text).map_err(|_| NotBase64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_decodes_as_in_go() {
        let cases = [
            ("", Ok("")),
            ("aGk=", Ok("hi")),
            ("aGk", Ok("hi")),
            ("aG\r\nk=\n", Ok("hi")),
            ("aGl=", Ok("hi")),
            ("aGk==", Err(NotBase64)),
            ("a", Err(NotBase64)),
            ("aGk= ", Err(NotBase64)),
            ("_w==", Err(NotBase64)),
            ("hunter2!", Err(NotBase64)),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(text), expected.map(|text: &str| text.as_bytes().to_vec()), "{text:?}");
        }
        assert_eq!(encode(&[255, 254]), "//4=");
    }
}
