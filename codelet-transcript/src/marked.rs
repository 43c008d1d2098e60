//! Sets cache control marks for Anthropic in the JSON of request items: all other bytes of an item stay unchanged.

use crate::skim::Skim;

/// The name of the field.
const MARK: &str = "cache_control";

/// Returns the item with its last block marked; `mark` is the JSON of the mark. A string content becomes the equivalent
/// text block. `None` if the provider accepts no mark there (thinking, an empty text) or one is already there.
pub fn mark_last_block(item: &[u8], mark: &str) -> Option<Vec<u8>> {
    let content = Skim::new(item).get("content")?;
    if let Some(text) = content.string() {
        let (start, string) = (content.offset(), content.slice()?);
        let block = format!(
            "[{{\"type\":\"text\",\"text\":{},{}}}]",
            std::str::from_utf8(string).ok()?,
            field(mark)
        );
        return (!text.is_empty()).then(|| [&item[..start], block.as_bytes(), &item[start + string.len()..]].concat());
    }
    let last = content.items().last()?;
    let takes_one = match last.get_string("type")? {
        "thinking" | "redacted_thinking" => false,
        "text" => last.get_string("text").is_some_and(|text| !text.is_empty()),
        _ => true,
    };
    if !takes_one || last.get(MARK).is_some() {
        return None;
    }
    let end = last.offset() + last.slice()?.len() - 1;
    let field = format!(",{}", field(mark));
    (item.get(end) == Some(&b'}')).then(|| [&item[..end], field.as_bytes(), &item[end..]].concat())
}

fn field(mark: &str) -> String {
    format!("\"{MARK}\":{mark}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_is_marked_and_all_else_keeps_its_bytes() {
        let mark = r#"{"type":"ephemeral"}"#;
        for (item, expected) in [
            (
                r#"{"role":"user", "content": "a\"b\n"}"#,
                Some(r#"{"role":"user", "content": [{"type":"text","text":"a\"b\n",M}]}"#),
            ),
            (
                r#"{"content":[{"type":"text","text":"a"},{ "type":"tool_result","content":[{"type":"text","text":"b"}] } ],"role":"user"}"#,
                Some(
                    r#"{"content":[{"type":"text","text":"a"},{ "type":"tool_result","content":[{"type":"text","text":"b"}] ,M} ],"role":"user"}"#,
                ),
            ),
            (
                r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{}}]}"#,
                Some(r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{},M}]}"#),
            ),
            (
                r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"b"}]}"#,
                None,
            ),
            (r#"{"role":"user","content":[{"type":"text","text":""}]}"#, None),
            (r#"{"role":"user","content":""}"#, None),
            (r#"{"role":"user","content":[]}"#, None),
            (
                r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}"#,
                None,
            ),
            (r#"{"role":"user","content":[{"type":"text","text":"a""#, None),
            ("", None),
        ] {
            let marked = mark_last_block(item.as_bytes(), mark).map(|marked| String::from_utf8(marked).unwrap());
            let expected = expected.map(|it| it.replace('M', &field(mark)));
            assert_eq!(marked, expected, "{item}");
        }
    }
}
