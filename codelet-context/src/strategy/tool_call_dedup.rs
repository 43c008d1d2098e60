//! Strategy `tool_call_dedup`.
