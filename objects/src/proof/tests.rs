#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

const CLAIM: Claim<'_> = Claim {
    adapter: "infra",
    resource_id: "7f0c",
    group: "batch",
    kind: "Job",
    namespace: "team-a",
    name: "validate-3",
};

fn signer(key: &[u8]) -> Signer {
    Signer::new(key).unwrap()
}

fn claim(fields: &[String; 6]) -> Claim<'_> {
    let [adapter, resource_id, group, kind, namespace, name] = fields;
    Claim { adapter, resource_id, group, kind, namespace, name }
}

/// The expected values come from `openssl dgst -sha256 -hmac` and Python's `hmac`: other programs verify
/// proofs, so the format must not change.
#[test]
fn proof_format_equals_openssl_and_python() {
    assert_eq!(
        encoding(&CLAIM),
        "32:hyperfleet.io/ownership-proof/v1,5:infra,4:7f0c,5:batch,3:Job,6:team-a,10:validate-3,"
    );
    assert_eq!(signer(KEY).sign(&CLAIM), "471dae3df515bf681f50ec64e8e8ab252cff56ed1017f36bd5b3eac7d907fad0");
    let unusual = Claim { adapter: "ä", resource_id: "x:1,", group: "", kind: "Namespace", namespace: "", name: "n" };
    let key: Vec<u8> = (0..=255).collect();
    assert_eq!(signer(&key).sign(&unusual), "bfda3455d6c102032459242a8f5c7b44ade7bc1b2fde9787a38496898080fe6a");
}

#[test]
fn key_drops_one_line_break_and_needs_32_bytes() {
    let refused = Signer::new(&KEY[1..]).unwrap_err();
    assert_eq!(refused.to_string(), "the key has 31 bytes; it needs at least 32");
    let cases: [(&str, &[u8], bool); 4] = [
        ("a line break at the end", b"0123456789abcdef0123456789abcdef\n", true),
        ("a line break of two bytes", b"0123456789abcdef0123456789abcdef\r\n", true),
        ("two line breaks", b"0123456789abcdef0123456789abcdef\n\n", false),
        ("random bytes that end like a line break", b"\xff123456789abcdef0123456789abcdef\n", false),
    ];
    for (name, key, same) in cases {
        assert_eq!(signer(key) == signer(KEY), same, "{name}");
    }
    let counted = Signer::new(b"0123456789abcdef0123456789abcde\n").unwrap_err();
    assert_eq!(counted, KeyTooShort { bytes: 31 }, "a line break does not make a key longer");
}

#[test]
fn debug_output_hides_the_key() {
    assert_eq!(format!("{:?}", signer(KEY)), "Signer { .. }");
}

#[test]
fn proof_verifies_only_in_its_exact_spelling() {
    let signer = signer(KEY);
    let proof = signer.sign(&CLAIM);
    assert!(signer.verify(&CLAIM, &proof));
    for other in ["", &proof[1..], &proof[2..], &proof.to_uppercase(), &format!("{proof}00"), &format!(" {proof}"), "ä"]
    {
        assert!(!signer.verify(&CLAIM, other), "{other:?}");
    }
}

/// Texts of digits and separators, for which an encoding without lengths would be ambiguous.
fn field() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c:,0-9/]{0,6}", any::<String>()]
}

fn fields() -> impl Strategy<Value = [String; 6]> {
    prop::array::uniform6(field())
}

proptest! {
    #[test]
    fn encoding_can_be_decoded_to_its_claim(fields in fields()) {
        let mut rest = encoding(&claim(&fields));
        let mut decoded = Vec::new();
        while !rest.is_empty() {
            let (length, after) = rest.split_once(':').unwrap();
            let (text, after) = after.split_at(length.parse().unwrap());
            decoded.push(text.to_owned());
            rest = after.strip_prefix(',').unwrap().to_owned();
        }
        prop_assert_eq!(decoded[0].as_str(), TAG);
        prop_assert_eq!(&decoded[1..], &fields);
    }

    #[test]
    fn moving_text_between_fields_changes_the_encoding(fields in fields(), place in 0..5_usize, from in 0..6_usize) {
        let mut moved = fields.clone();
        let at = moved[place].char_indices().map(|(at, _)| at).nth(from).unwrap_or(0);
        let tail = moved[place].split_off(at);
        moved[place + 1].insert_str(0, &tail);
        prop_assume!(moved != fields);
        prop_assert_ne!(encoding(&claim(&moved)), encoding(&claim(&fields)));
    }

    #[test]
    fn proof_verifies_for_its_own_claim_only(fields in fields(), place in 0..6_usize, instead in field()) {
        let signer = signer(KEY);
        let proof = signer.sign(&claim(&fields));
        prop_assert!(signer.verify(&claim(&fields), &proof));
        let mut changed = fields.clone();
        changed[place] = instead;
        prop_assert_eq!(signer.verify(&claim(&changed), &proof), changed == fields);
    }

    #[test]
    fn proof_of_another_key_does_not_verify(key in prop::collection::vec(any::<u8>(), 32..200), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut other = key.clone();
        other[at.index(key.len())] ^= 1_u8 << bit;
        let (ours, theirs) = (signer(&key), signer(&other));
        prop_assert_ne!(&ours, &theirs);
        prop_assert!(!theirs.verify(&CLAIM, &ours.sign(&CLAIM)));
    }

    #[test]
    fn verifying_random_text_does_not_panic(text in any::<String>()) {
        prop_assert!(!signer(KEY).verify(&CLAIM, &text));
    }
}
