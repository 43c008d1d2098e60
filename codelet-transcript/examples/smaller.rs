//! A recorded session made smaller, as the request that it would go on with: `cargo run --example smaller -- SESSION BUDGET`.

use codelet_context::compact::{Target, compact};
use codelet_context::history::History;
use codelet_transcript::{Document, Format, read, write};
use std::error::Error;
use std::io::Write as _;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(budget)) = (arguments.next(), arguments.next()) else {
        return Err("usage: smaller SESSION BUDGET, where the budget is in tokens".into());
    };
    let smaller = smaller(&std::fs::read(file)?, budget.parse()?)?;
    std::io::stdout().write_all(smaller.as_bytes())?;
    Ok(())
}

/// Reads a session in whichever form it has, and writes what fits the budget for Anthropic.
fn smaller(session: &[u8], budget: u64) -> Result<String, Box<dyn Error>> {
    let document = read(session, None)?;
    let history: History = document.messages.into_iter().collect();
    let compacted = compact(&history, Target::Budget(budget));
    Ok(write(&Document::new(&compacted.view.messages), Format::Anthropic)?)
}

#[cfg(test)]
mod tests {
    use super::smaller;

    #[test]
    fn a_session_in_another_form_fits_its_budget() {
        let output = "most time is spent in skip_blank() ".repeat(2_000);
        let session = serde_json::json!({"messages": [
            {"role": "user", "content": "Find out why the parser is slow."},
            {"role": "assistant", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{\"command\":\"perf report\"}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": output},
            {"role": "assistant", "content": "It skips blanks one by one."},
            {"role": "user", "content": "Mend it."},
        ]});
        let session = session.to_string();
        let request = smaller(session.as_bytes(), 1_000).expect("it is read and written");
        assert!(session.len() > 60_000 && request.len() < 6_000, "{}", request.len());
        assert!(
            request.contains("Find out why the parser is slow.") && request.contains("Mend it."),
            "{request}"
        );
        assert!(request.contains("tool_use"), "{request}");
    }
}
