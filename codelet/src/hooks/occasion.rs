//! The JSON input of a hook, with the field names known from other agents.

use codelet_agent::hooks::Occasion;
use codelet_agent::permission::Permission;
use codelet_context::policy::Reason;
use serde_json::{Map, Value, json};

/// The maximum size of an output passed to a hook, in bytes.
const OUTPUT: usize = 64 * 1024;

/// Returns the text that a matcher is compared with; empty if the event has no kinds.
pub fn kind(occasion: &Occasion<'_>) -> String {
    match occasion {
        Occasion::PreToolUse { tool, .. } | Occasion::PostToolUse { tool, .. } => tool_name(tool),
        Occasion::SessionStart { source } => (*source).to_owned(),
        Occasion::PreCompact { reason, .. } | Occasion::PostCompact { reason, .. } => trigger(*reason).to_owned(),
        Occasion::Notification { .. } => NOTIFICATION.to_owned(),
        Occasion::UserPromptSubmit { .. } | Occasion::Stop { .. } => String::new(),
    }
}

/// Returns whether hooks of an event are selected by a matcher.
pub fn has_kinds(event: &str) -> bool {
    !matches!(event, "UserPromptSubmit" | "Stop")
}

const NOTIFICATION: &str = "permission_prompt";

/// Returns a tool's name as hooks know it: names of MCP tools begin with `mcp__` there.
fn tool_name(tool: &str) -> String {
    match tool.contains("__") {
        true => format!("mcp__{tool}"),
        false => tool.to_owned(),
    }
}

fn trigger(reason: Reason) -> &'static str {
    match reason {
        Reason::Asked => "manual",
        _ => "auto",
    }
}

/// Returns the permission mode in other agents' terms.
pub fn mode(permission: Permission) -> &'static str {
    match permission {
        Permission::Plan => "plan",
        Permission::Read => "default",
        Permission::Edit => "acceptEdits",
        Permission::All => "bypassPermissions",
    }
}

/// Returns the fields of an occasion.
pub fn fields(occasion: &Occasion<'_>) -> Map<String, Value> {
    let fields = match occasion {
        Occasion::SessionStart { source } => json!({"source": source}),
        Occasion::UserPromptSubmit { prompt } => json!({"prompt": prompt}),
        Occasion::PreToolUse { tool, id, parameters } => json!({
            "tool_name": tool_name(tool),
            "tool_use_id": id,
            "tool_input": parameters.as_map(),
        }),
        Occasion::PostToolUse {
            tool,
            id,
            parameters,
            output,
        } => {
            let text = output.text.as_str();
            let shown = &text[..text.floor_char_boundary(OUTPUT.min(text.len()))];
            json!({
                "tool_name": tool_name(tool),
                "tool_use_id": id,
                "tool_input": parameters.as_map(),
                "tool_response": {
                    "success": output.success,
                    "output": shown,
                    "is_truncated": shown.len() < text.len() || output.lost > 0,
                },
            })
        }
        Occasion::PreCompact { reason, instructions } => json!({
            "trigger": trigger(*reason),
            "reason": reason.name(),
            "custom_instructions": instructions.unwrap_or_default(),
        }),
        Occasion::PostCompact {
            reason,
            notice,
            summary,
            handle,
        } => json!({
            "trigger": trigger(*reason),
            "reason": reason.name(),
            "tokens_before": notice.before,
            "tokens_after": notice.after,
            "compact_summary": &summary[..summary.floor_char_boundary(OUTPUT.min(summary.len()))],
            "summary_handle": handle,
        }),
        Occasion::Stop { answer, is_held } => json!({
            "stop_hook_active": is_held,
            "last_assistant_message": answer,
        }),
        Occasion::Notification { message } => json!({
            "message": message,
            "notification_type": NOTIFICATION,
        }),
    };
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
