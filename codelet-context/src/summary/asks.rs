//! Whether a prompt asks for something by itself, so that it may stand for what the user wants.

use crate::harness;

/// Words that begin a conversation and ask for nothing, without their signs.
#[rustfmt::skip]
const GREETINGS: &[&str] = &[
    "ahoj", "alô", "annyeong", "bom dia", "bonjour", "bonsoir", "boa noite", "boa tarde", "buenas", "buenas noches",
    "buenas tardes", "buenos días", "buenos dias", "buongiorno", "buonasera", "ciao", "cześć", "czesc", "dzień dobry",
    "god dag", "goedemorgen", "goedemiddag", "good afternoon", "good day", "good evening", "good morning", "grüezi",
    "guten abend", "guten morgen", "guten tag", "hallo", "hej", "hei", "hello", "hey", "heya", "hi", "hiya", "hola",
    "howdy", "merhaba", "moin", "moin moin", "namaste", "oi", "olá", "ola", "salam", "salut", "selam", "servus", "sup",
    "tere", "terve", "xin chào", "yo", "γεια σου", "γεια", "добрый день", "доброе утро", "добрый вечер", "здравствуйте",
    "здравствуй", "привет", "привіт", "שלום", "مرحبا", "नमस्ते", "สวัสดี", "おはよう", "おはようございます", "こんにちは", "こんばんは", "你好",
    "您好", "哈喽", "안녕", "안녕하세요",
];
/// Who is greeted.
#[rustfmt::skip]
const GREETED: &[&str] = &[
    "again", "agent", "all", "assistant", "bot", "claude", "codelet", "codex", "copilot", "cursor", "everyone", "folks",
    "friend", "gemini", "pi", "team", "there",
];
/// Whether the gist of a prompt is more than a greeting, the name of a command, or a notice of a harness.
pub(super) fn asks(words: &str) -> bool {
    let is_command = words.starts_with('/') && !words.contains(' ');
    !is_command && !is_greeting(words) && !harness::is_notice(words)
}

/// Whether words are a greeting and nothing else: `Hi!`, `hello there`.
fn is_greeting(words: &str) -> bool {
    /// Bytes of the longest.
    const MOST: usize = 64;
    if words.len() > MOST {
        return false;
    }
    let lower = words.to_lowercase();
    // Vowels of some scripts are marks that are no letters.
    let is_sign = |c: char| c.is_ascii_punctuation() || c.is_whitespace() || "¡！。、，؟👋🙂😊".contains(c);
    let mut names: Vec<&str> = lower.split(is_sign).filter(|name| !name.is_empty()).collect();
    let is_known = |names: &[&str]| GREETINGS.contains(&names.join(" ").as_str());
    if names.len() > 1 && !is_known(&names) && names.last().is_some_and(|last| GREETED.contains(last)) {
        names.pop();
    }
    is_known(&names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_names_of_commands_and_notices_ask_for_nothing() {
        for words in [
            "hi",
            "Hello!",
            "hey there :)",
            "Hi Claude,",
            "Guten Morgen!",
            "¡Hola!",
            "你好！",
            "こんにちは",
            "नमस्ते",
            "/mode",
            "/superpowers:brainstorm",
            "Operation stopped by hook: Warning: conflict detected",
            "This session is being continued from a previous conversation that ran out of context.",
            "Your last response was empty. Please continue.",
            "AGENTS.md instructions for /srv",
        ] {
            assert!(!asks(words), "{words}");
        }
        for words in [
            "hi, mend the parser",
            "hello world in Go",
            "/review 325",
            "/usr/bin/env is missing",
            "go on",
            "yes",
            "high",
            "test",
            "mend it",
            "we see: Operation stopped by hook",
            "Your last response was wrong",
            "",
        ] {
            assert!(asks(words), "{words}");
        }
    }
}
