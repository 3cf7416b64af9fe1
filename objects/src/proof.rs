//! Ownership proofs: signatures which show that a holder of the signing key wrote an object's labels.
//!
//! In: the signing key, and a [`Claim`] about one object. Out: the value of the annotation
//! [`OWNERSHIP_PROOF`], and whether such a value proves a claim. Fails only if the key is too short.
//!
//! Whoever may label a Secret could otherwise have the sweeper delete it. A proof needs the key, and covers
//! the object's kind, namespace and name, so a copy of it on another object proves nothing.
//!
//! # Format
//!
//! `hex(HMAC-SHA-256(key, field(tag) ‖ field(adapter) ‖ … ‖ field(name)))` with the tag
//! `hyperfleet.io/ownership-proof/v1`, the fields in [`Claim`]'s order, and `field(text) = length in bytes,
//! in decimal ‖ ":" ‖ text ‖ ","`. The lengths make the encoding unambiguous: the name `b/c` in the namespace
//! `a` differs from the name `c` in `a/b`. The tag separates proofs from other signatures by the same key,
//! and from later formats.
//!
//! [`OWNERSHIP_PROOF`]: crate::keys::OWNERSHIP_PROOF

use std::fmt::{self, Write as _};

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The beginning of the signed text; another format needs another tag.
const TAG: &str = "hyperfleet.io/ownership-proof/v1";

/// The least length of a key: that of a SHA-256 hash. A shorter key is easier to guess than the proof.
pub const MIN_KEY_BYTES: usize = 32;

/// The statement that a proof signs: this adapter made this object for that API resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The adapter's name, as in the label.
    pub adapter: &'a str,
    /// The id of the API resource, as in the label.
    pub resource_id: &'a str,
    /// The API group of the object; empty for the core group. The version is left out, because the API server
    /// serves one object in several.
    pub group: &'a str,
    /// The Kubernetes kind of the object.
    pub kind: &'a str,
    /// The object's namespace; empty if it is cluster-scoped.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

/// Signs and verifies claims with one key. `Debug` does not print the key.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

/// The error for a key that is too short to sign with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key has {bytes} bytes; it needs at least {MIN_KEY_BYTES}")]
pub struct KeyTooShort {
    /// The key's length in bytes, without a line break at its end.
    pub bytes: usize,
}

impl Signer {
    /// Makes a signer from any bytes, best random ones. Drops the line break at the end of a text, because
    /// editors add one to a file and programs often do not.
    ///
    /// # Errors
    /// [`KeyTooShort`] below [`MIN_KEY_BYTES`].
    pub fn new(key: &[u8]) -> Result<Self, KeyTooShort> {
        let key = without_line_break(key);
        let too_short = KeyTooShort { bytes: key.len() };
        if key.len() < MIN_KEY_BYTES {
            return Err(too_short);
        }
        // HMAC takes keys of every length.
        Hmac::new_from_slice(key).map(Self).map_err(|_| too_short)
    }

    /// Signs a claim, as 64 hexadecimal digits in lower case.
    #[must_use]
    pub fn sign(&self, claim: &Claim<'_>) -> String {
        hexadecimal(&self.authenticate(claim).finalize().into_bytes())
    }

    /// Whether a text is the proof of a claim. Compares in constant time, so that the time does not reveal a
    /// correct beginning.
    #[must_use]
    pub fn verify(&self, claim: &Claim<'_>, proof: &str) -> bool {
        parse_hexadecimal(proof).is_some_and(|code| self.authenticate(claim).verify_slice(&code).is_ok())
    }

    fn authenticate(&self, claim: &Claim<'_>) -> Hmac<Sha256> {
        self.0.clone().chain_update(encoding(claim))
    }
}

impl PartialEq for Signer {
    /// Whether two signers have the same key. Compares the codes of an empty text, in constant time; `Claim`
    /// never encodes to it.
    fn eq(&self, other: &Self) -> bool {
        self.0.clone().finalize() == other.0.clone().finalize()
    }
}

impl Eq for Signer {}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}

fn without_line_break(key: &[u8]) -> &[u8] {
    let Some(text) = key.strip_suffix(b"\n") else { return key };
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    // Random bytes may end in 0x0A, which then belongs to the key.
    let is_text = text.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if is_text { text } else { key }
}

fn encoding(claim: &Claim<'_>) -> String {
    let Claim { adapter, resource_id, group, kind, namespace, name } = *claim;
    encode(&[TAG, adapter, resource_id, group, kind, namespace, name])
}

/// Joins texts so that different lists never give the same text.
#[must_use]
pub fn encode(fields: &[&str]) -> String {
    fields.iter().map(|field| format!("{}:{field},", field.len())).collect()
}

/// Writes bytes as hexadecimal digits in lower case.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing into a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Parses lower-case hexadecimal digits only, so that each proof has exactly one valid text.
fn parse_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect())?
}

#[cfg(test)]
mod tests;
