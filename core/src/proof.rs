//! Proof that an object's labels were written by a holder of the signing key.
//!
//! In: the key, and a [`Claim`] about one object. Out: a text for the annotation [`OWNERSHIP_PROOF`], and whether such a
//! text proves a claim. Only a key that is too short can fail.
//!
//! Labels are anybody's to write: whoever may label a Secret could hand it to the sweeper for deletion. A proof takes the
//! key, and binds the labels to one very place in the cluster: copied onto another object, it proves nothing.
//!
//! # Format
//!
//! `hex(HMAC-SHA-256(key, field(tag) ‖ field(adapter) ‖ … ‖ field(name)))` with the tag `hyperfleet.io/ownership-proof/v1`,
//! the fields in [`Claim`]'s order, and `field(text) = length in bytes, in decimal ‖ ":" ‖ text ‖ ","`. The lengths make
//! the encoding unambiguous: the name `b/c` in a namespace `a` and the name `c` in `a/b` differ, whatever the characters
//! in them. The tag keeps what the same key signs elsewhere, or in a later format, from proving anything here.
//!
//! [`OWNERSHIP_PROOF`]: crate::keys::OWNERSHIP_PROOF

use std::fmt::{self, Write as _};

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// What the authenticated text begins with. Another format has another tag.
const TAG: &str = "hyperfleet.io/ownership-proof/v1";

/// The fewest bytes of a key: as many as the hash has, below which a key is weaker than the proof.
pub const MIN_KEY_BYTES: usize = 32;

/// What a proof says: this adapter made the object at this place for that API resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The adapter's name, as in the label.
    pub adapter: &'a str,
    /// The id of the API resource, as in the label.
    pub resource_id: &'a str,
    /// The API group of the object; empty for the core group. Its version is left out: one object is served in several.
    pub group: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace; empty if it is cluster-scoped.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// Signs and verifies claims with one key. Neither printing nor debugging shows the key.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

/// A key with which nothing is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key has {bytes} bytes; it needs at least {MIN_KEY_BYTES}")]
pub struct KeyTooShort {
    /// How many it has, a closing line break not counted.
    pub bytes: usize,
}

impl Signer {
    /// Takes a key: any bytes, best random ones. Of a text, a line break at the end does not count, so that a file written
    /// by an editor and one written by a program hold the same key.
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

    /// The proof of a claim: 64 hexadecimal digits, in lower case.
    #[must_use]
    pub fn sign(&self, claim: &Claim<'_>) -> String {
        hexadecimal(&self.authenticate(claim).finalize().into_bytes())
    }

    /// Whether a text is the proof of a claim. How long it takes does not tell how much of it is right.
    #[must_use]
    pub fn verify(&self, claim: &Claim<'_>, proof: &str) -> bool {
        bytes(proof).is_some_and(|code| self.authenticate(claim).verify_slice(&code).is_ok())
    }

    fn authenticate(&self, claim: &Claim<'_>) -> Hmac<Sha256> {
        self.0.clone().chain_update(encoding(claim))
    }
}

impl PartialEq for Signer {
    /// Whether both sign alike: compares, in constant time, what they make of one text that is no claim.
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
    // A random key may end in the byte of a line break.
    let is_text = text.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if is_text { text } else { key }
}

fn encoding(claim: &Claim<'_>) -> String {
    let Claim { adapter, resource_id, group, kind, namespace, name } = *claim;
    let fields = [TAG, adapter, resource_id, group, kind, namespace, name];
    fields.iter().map(|field| format!("{}:{field},", field.len())).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing into a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads what [`hexadecimal`] writes, and nothing else: a proof has one spelling.
fn bytes(text: &str) -> Option<Vec<u8>> {
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
