//! Files that hold many conversations: one per line, as in data sets and request logs, or as the items of a list.

use crate::detect;
use crate::skim::Skim;

/// Splits a file that holds more than one conversation into the bytes of each. `None` for any other file, including a
/// session of many lines.
pub fn conversations<'a>(bytes: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = Skim::new(bytes);
    if first.is_list() {
        // The rest of a list is scanned only once its beginning shows that it is a data set.
        let is_set = first.items().take(PROBED).all(detect::is_document) && first.items().nth(1).is_some();
        // A truncated item counts too, so that it is reported.
        let whole = |item: Skim<'a>| item.slice().unwrap_or(item.rest());
        return is_set.then(|| first.items().map(whole).collect());
    }
    // A conversation begins only at a line start, so a broken one does not hide others.
    let lines = || {
        bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty())
    };
    let whole = |line: &[u8]| {
        let skim = Skim::new(line);
        skim.slice().is_some() && detect::is_document(skim)
    };
    // A file of one line, which may be long, is not a data set, whatever it holds.
    let is_set =
        lines().nth(1).is_some() && lines().next().is_some_and(whole) && lines().skip(1).take(PROBED).any(whole);
    is_set.then(|| lines().map(<[u8]>::trim_ascii).collect())
}

/// The number of items probed to classify a file.
const PROBED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, read};

    const CHAT: &str = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"one"}]}"#;
    const SAID: &str = r#"{"conversations":[{"from":"human","value":"two"},{"from":"gpt","value":"2"}]}"#;

    #[test]
    fn each_line_or_item_is_a_conversation_in_its_own_form() {
        for file in [format!("{CHAT}\r\n\n{SAID}\n"), format!("[{CHAT},\n {SAID}]")] {
            let all = conversations(file.as_bytes()).expect("there are two");
            let forms: Vec<Format> = all
                .iter()
                .map(|one| read(one, None).expect("it is one").format)
                .collect();
            assert_eq!(forms, [Format::Openai, Format::Sharegpt], "{file}");
        }
        let broken = format!("{CHAT}\n{{\"messages\":[{{\n{SAID}\n");
        let read: Vec<bool> = conversations(broken.as_bytes())
            .expect("there are three")
            .iter()
            .map(|one| read(one, None).is_ok())
            .collect();
        assert_eq!(read, [true, false, true]);
    }

    #[test]
    fn one_conversation_is_no_set_however_many_lines_it_has() {
        let pretty = CHAT.replace(',', ",\n");
        let session =
            "{\"type\":\"user\",\"uuid\":\"1\",\"parentUuid\":null,\"message\":{\"content\":\"x\"}}\n".repeat(3);
        for file in [
            CHAT,
            &pretty,
            &format!("{CHAT}\n"),
            &format!("[{CHAT}]"),
            &session,
            "",
            r#"[{"id":"1","role":"user","parts":[{"type":"text","text":"go"}]},{"id":"2","role":"assistant","parts":[{"type":"text","text":"gone"}]}]"#,
            r#"[{"type":"human","content":"go"},{"type":"ai","content":"gone"}]"#,
            "[]",
            "{}\n{}",
        ] {
            assert_eq!(conversations(file.as_bytes()), None, "{file}");
        }
    }
}
