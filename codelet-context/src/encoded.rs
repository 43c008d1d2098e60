//! Lines of encoded bytes: pictures, certificates, checksums in base64. Nobody writes them again from memory, and a reader
//! learns nothing from a piece of them.

/// The shortest run of encoded bytes that makes a line one of them.
const RUN: usize = 40;
/// In such a run small letters follow one another less often than in words: by chance 1.7 of them stand together, in names
/// put together of words three or more. In tenths.
const TOGETHER: usize = 24;

/// Whether most of a line is encoded bytes.
pub(crate) fn is_encoded(line: &[u8]) -> bool {
    if !has_run(line) {
        return false;
    }
    let runs = line.split(|byte| !is_part(byte));
    let longest = runs.max_by_key(|run| run.len()).unwrap_or_default();
    if longest.len() < RUN || longest.len() * 2 < line.len() {
        return false;
    }
    let has = |is: fn(&u8) -> bool| longest.iter().any(is);
    let small = longest.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    let groups = longest.split(|byte| !byte.is_ascii_lowercase());
    let groups = groups.filter(|group| !group.is_empty()).count();
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit) && groups > 0 && small * 10 < groups * TOGETHER
}

/// Whether a byte goes on with a run of encoded ones. A slash is one of 64 signs, and what separates the names of folders.
fn is_part(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'=' | b'/')
}

/// Whether a line has a run that is long enough. Read from the end of where one could be, so that most bytes are skipped.
fn has_run(line: &[u8]) -> bool {
    let mut start = 0;
    while let Some(run) = line.get(start..start + RUN) {
        match run.iter().rposition(|byte| !is_part(byte)) {
            Some(at) => start += at + 1,
            None => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_in_base64_are_encoded_and_what_people_and_programs_write_is_not() {
        for line in [
            "   \"image/png\": \"iVBORw0KGgoAAAANSUhEUgAAAeAAAAHgCAYAAAB91L6VAAAABHNCSVQICAgIfAhk\",",
            "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ",
            "      \"integrity\": \"sha512-Xq7kQ0vK9cN2hR4tY8wL1zP5bG3mD6sF0aJ7uE9oI2yT4rW8qZ1xC5vB3nM6kH0==\",",
        ] {
            assert!(is_encoded(line.as_bytes()), "{line}");
        }
        for line in [
            "commit 59807616e1fa2540724bfbac14d7976d7e4a3860",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "testThatTheParserHandlesUtf8EncodedStringsCorrectlyInEveryCase2",
            "/usr/lib/python3/dist-packages/Crypto/SelfTest/Hash/CMAC2/Vectors",
            "org/springframework/web/servlet/mvc/AbstractController2Test/testA",
            "ssh-ed25519 short",
            "export const X: Record<string, HandlerFactory2<AbstractBeanName>> = {",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert!(!is_encoded(line.as_bytes()), "{line}");
        }
    }

    proptest! {
        #[test]
        fn a_run_is_found_wherever_it_stands(line in "([a-zA-Z0-9+=/]{0,60}[ .-]{0,2}){0,6}") {
            let is_long = line.split([' ', '.', '-']).any(|run| run.len() >= RUN);
            prop_assert_eq!(has_run(line.as_bytes()), is_long);
        }
    }
}
