//! Checks that a file has the format that the caller specified: a file read in the wrong format may seem almost empty.

use crate::{Document, Format, ReadError, Warning, detect, record_as};
use codelet_context::tokens::{Tokens, estimate_message};

/// Checks the document that was read in the specified format.
///
/// # Errors
/// If nothing meaningful was found, or less than half of what the file holds in its detected format.
pub(crate) fn check(bytes: &[u8], asked: Format, document: &Document) -> Result<(), ReadError> {
    match detect(bytes) {
        Some(found) if found == asked => Ok(()),
        // An entry that may start a session does not make one if the file is one object of another format.
        Some(found) if document.messages.is_empty() && asked.form().is_lines && !found.form().is_lines => {
            Err(ReadError::OtherForm { asked, found })
        }
        Some(found) => {
            let all = record_as(bytes, found).map_or(0, |recording| weight(&recording.document));
            if weight(document).saturating_mul(2) < all {
                return Err(ReadError::OtherForm { asked, found });
            }
            Ok(())
        }
        // A request is empty only if it says so; unknown entries make no session, unless the file is still being
        // written.
        None if document.messages.is_empty() && !asked.is_request() && !is_cut(document) => {
            Err(ReadError::NothingFound(asked))
        }
        None => Ok(()),
    }
}

/// Returns why a file cannot be read in the specified format: the format itself, if the file reads in another.
pub(crate) fn blame(bytes: &[u8], asked: Format, error: ReadError) -> ReadError {
    match detect(bytes) {
        Some(found) if found != asked && record_as(bytes, found).is_ok() => ReadError::OtherForm { asked, found },
        // Only the caller says that the file has this format.
        None if matches!(error, ReadError::NothingRead(_)) => ReadError::NothingFound(asked),
        _ => error,
    }
}

fn is_cut(document: &Document) -> bool {
    let cut = |warning: &Warning| matches!(warning, Warning::CutLastLine { .. });
    document.warnings.iter().any(cut)
}

fn weight(document: &Document) -> Tokens {
    document.messages.iter().map(estimate_message).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    const REQUEST: &str = r#"{"system":"Be brief.","messages":[{"role":"user","content":"Why does the parser lose comments?"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"file_path":"src/parser.rs"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"fn skip_comment() { /* gone */ }"}]}]}"#;
    const SESSION: &str = concat!(
        "{\"type\":\"user\",\"uuid\":\"1\",\"parentUuid\":null,\"message\":{\"role\":\"user\",\"content\":\"Mend the parser.\"}}\n",
        "{\"type\":\"assistant\",\"uuid\":\"2\",\"parentUuid\":\"1\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"It is mended.\"}]}}\n"
    );

    #[test]
    fn a_file_read_in_the_wrong_form_is_an_error_that_names_the_right_one() {
        for (file, found) in [(REQUEST, Format::Anthropic), (SESSION, Format::ClaudeCode)] {
            for asked in Format::ALL
                .iter()
                .copied()
                .filter(|format| format.is_read() && *format != found)
            {
                match read(file.as_bytes(), Some(asked)) {
                    Err(error) => assert_eq!(error, ReadError::OtherForm { asked, found }),
                    Ok(document) => {
                        let all = weight(&read(file.as_bytes(), None).unwrap());
                        assert!(weight(&document) * 2 >= all, "{asked} left {document:?}");
                    }
                }
            }
        }
        for asked in [
            Format::Opencode,
            Format::Codex,
            Format::Pi,
            Format::Copilot,
            Format::MiniSweAgent,
        ] {
            let error = ReadError::OtherForm {
                asked,
                found: Format::Anthropic,
            };
            assert_eq!(read(REQUEST.as_bytes(), Some(asked)).unwrap_err(), error);
        }
        for asked in [Format::Codex, Format::Pi, Format::Copilot] {
            let error = ReadError::OtherForm {
                asked,
                found: Format::ClaudeCode,
            };
            assert_eq!(read(SESSION.as_bytes(), Some(asked)).unwrap_err(), error);
        }
    }

    #[test]
    fn what_is_of_no_form_is_no_empty_session() {
        for asked in [Format::Codex, Format::Pi, Format::Copilot, Format::ClaudeCode] {
            let error = read(b"{\"note\":\"shopping\"}\n", Some(asked)).unwrap_err();
            assert_eq!(error, ReadError::NothingFound(asked));
        }
    }

    #[test]
    fn a_request_in_which_nothing_is_said_is_no_session() {
        for (file, found) in [
            (r#"{"messages":[]}"#, Format::Anthropic),
            (r#"{"messages":[{"role":"user"}]}"#, Format::Anthropic),
            (r#"{"model":"gpt-9","messages":[]}"#, Format::Openai),
            (r#"{"input":[]}"#, Format::Responses),
            (r#"{"contents":[]}"#, Format::Gemini),
            (r#"{"info":{"id":"s"},"messages":[]}"#, Format::Opencode),
        ] {
            let sessions = [
                Format::ClaudeCode,
                Format::Codex,
                Format::Pi,
                Format::Copilot,
                Format::QwenCode,
            ];
            for asked in sessions {
                let error = read(file.as_bytes(), Some(asked)).unwrap_err();
                let is_told = error == ReadError::OtherForm { asked, found } || error == ReadError::NothingRead(asked);
                assert!(is_told, "{file} as {asked}: {error}");
            }
        }
    }

    #[test]
    fn an_empty_conversation_is_one_in_its_own_form() {
        for (file, format) in [
            (r#"{"messages":[]}"#, Format::Anthropic),
            (r#"{"messages":[]}"#, Format::Openai),
            (r#"{"messages":[]}"#, Format::MiniSweAgent),
            (r#"{"input":[]}"#, Format::Responses),
            (r#"{"contents":[]}"#, Format::Gemini),
            (r#"{"info":{"id":"s"},"messages":[]}"#, Format::Opencode),
            ("{\"type\":\"session\",\"version\":3,\"cwd\":\"/\"}\n", Format::Pi),
            ("{\"type\":\"session_meta\",\"payload\":{}}\n", Format::Codex),
            (
                "{\"type\":\"summary\",\"leafUuid\":\"u\",\"summary\":\"x\"}\n",
                Format::ClaudeCode,
            ),
        ] {
            let document = read(file.as_bytes(), Some(format)).unwrap();
            assert_eq!(document.messages.len(), 0, "{format}");
        }
    }
}
