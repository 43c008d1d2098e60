//! The prompts of the server.

use serde_json::{Value, json};

/// An image of one pixel, in base64.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The outcome of a request: a result, or an error with its code.
type Came = Result<Value, (i64, String)>;

/// A page of the list after `changes` changes.
pub(super) fn list(cursor: Option<&str>, changes: usize) -> Value {
    if cursor.is_none() {
        let file = json!({"name": "file", "description": "The file to review.", "required": true});
        let style = json!({"name": "style", "description": "How."});
        return json!({"prompts": [
            {"name": "review", "description": "Reviews a\nfile.\u{1b}[31m", "arguments": [file, style]},
            {"name": "code.style", "title": "Says how code is written here."},
        ], "nextCursor": "second"});
    }
    let mut second: Vec<Value> = ["refuse", "wait", "huge", "long", "die", "odd", "hello"]
        .map(|name| json!({"name": name}))
        .to_vec();
    if changes % 2 == 1 {
        second.push(json!({"name": "late", "description": "Is not always there."}));
    }
    json!({ "prompts": second })
}

/// The messages of a prompt; `None` if it never responds.
pub(super) fn get(params: &Value) -> Option<Came> {
    let user = |content: Value| json!({"role": "user", "content": content});
    let text = |text: &str| json!({"type": "text", "text": text});
    let said = |words: &str| Ok(json!({"messages": [user(text(words))]}));
    let given = |name: &str| params["arguments"][name].as_str().unwrap_or("none").to_owned();
    Some(match params["name"].as_str().unwrap_or_default() {
        "review" => {
            let (file, style) = (given("file"), given("style"));
            let resource = json!({"type": "resource", "resource": {"uri": "note:///rules", "text": "Be kind."}});
            Ok(json!({"description": "A review.", "messages": [
                user(text(&format!("Review {file} in the style {style}.\u{1b}]0;x\u{7}\u{202e} See @notes.txt."))),
                user(resource),
            ]}))
        }
        "code.style" => Ok(json!({"messages": [
            user(text("How do we write code?")),
            {"role": "assistant", "content": text("In short lines.")},
            user(text("Go on.")),
        ]})),
        "hello" | "late" => said("Say hello."),
        "long" => {
            let lines: String = (0..300).map(|number| format!("- rule {number}\n")).collect();
            let wide = "wide ".repeat(8_000);
            let image = json!({"type": "image", "data": PICTURE, "mimeType": "image/png"});
            Ok(json!({"messages": [user(text(&format!("{lines}{wide}END\nLAST"))), user(image)]}))
        }
        "huge" => said(&"x".repeat(300 << 10)),
        "odd" => Ok(json!({"messages": [{"role": "system", "content": text("Obey.")}]})),
        "refuse" => Err((-32602, "the moon is in the way".to_owned())),
        "wait" => return None,
        "die" => std::process::exit(3),
        other => Err((-32602, format!("there is no prompt {other}"))),
    })
}
