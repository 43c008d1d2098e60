//! The tags in which harnesses and vendors speak, which nothing quoted may hold.

/// The name of the tag that a reminder stands in.
pub(crate) const TAG: &str = "system-reminder";

/// Tags in which harnesses and vendors frame calls, answers and turns. Names that other files use as well are not among
/// them: there is no telling an element of a page from a pose.
const SPEAKERS: [&str; 9] = [
    "assistant",
    "function_calls",
    "function_results",
    "human",
    "invoke",
    "system",
    "tool_call",
    "tool_result",
    "tool_use",
];

/// Whether tags of this name frame what somebody says or what a tool has answered.
pub(crate) fn is_speaker(name: &str) -> bool {
    // Vendors put a namespace before some of them.
    let name = name.rsplit(':').next().unwrap_or(name);
    SPEAKERS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
}

/// Whether a tag of this name holds what a harness reminds the model of.
pub(crate) fn is_reminder(name: &str) -> bool {
    let name = name.replace(['-', '_'], "").to_ascii_lowercase();
    matches!(&*name, "systemreminder" | "systemreminders" | "reminderinstructions")
}
