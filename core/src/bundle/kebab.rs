//! One spelling for the values of annotations: `if-unowned` for `IfUnowned`, `if_unowned` and `If Unowned`.

/// Writes words in lower case with hyphens between them.
///
/// A hyphen, an underscore, a dot or a blank ends a word. A word also begins at an upper-case letter after a lower-case
/// letter or digit, and at the last letter of several in upper case if a lower-case letter follows: `SSAMerge` is
/// `ssa-merge`.
pub(super) fn kebab(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut words = String::with_capacity(text.len());
    let mut previous = None;
    for (index, &letter) in letters.iter().enumerate() {
        if is_separator(letter) {
            previous = None;
            continue;
        }
        let next_is_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        let begins_word = match previous {
            None => true,
            Some(before) => letter.is_uppercase() && (!char::is_uppercase(before) || next_is_lower),
        };
        if begins_word && !words.is_empty() {
            words.push('-');
        }
        words.extend(letter.to_lowercase());
        previous = Some(letter);
    }
    words
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '-' | '_' | '.') || letter.is_whitespace()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_of_words_gives_the_same_text() {
        let cases = [
            ("if-unowned", "if-unowned"),
            ("IfUnowned", "if-unowned"),
            ("ifUnowned", "if-unowned"),
            ("IF_UNOWNED", "if-unowned"),
            (" if  unowned ", "if-unowned"),
            ("If.Unowned", "if-unowned"),
            ("ifunowned", "ifunowned"),
            ("SsaMerge", "ssa-merge"),
            ("SSAMerge", "ssa-merge"),
            ("SSA", "ssa"),
            ("v1Beta", "v1-beta"),
            ("Never", "never"),
            ("--", ""),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(kebab(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn kebab_of_a_kebab_is_itself(text in "[ -~]{0,20}") {
            let once = kebab(&text);
            prop_assert_eq!(kebab(&once), once.clone());
            prop_assert!(!once.starts_with('-') && !once.ends_with('-') && !once.contains("--"), "{}", once);
        }

        #[test]
        fn words_are_found_again_in_camel_case(words in prop::collection::vec("[a-z]{2,6}", 1..5)) {
            let camel: String = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            prop_assert_eq!(kebab(&camel), words.join("-"));
        }
    }
}
