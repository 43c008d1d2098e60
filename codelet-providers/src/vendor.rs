//! Whom a model is asked through: addresses, wires, the names of keys.

/// The form of requests and replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, which most others speak too.
    Chat,
    /// Gemini's `streamGenerateContent`.
    Gemini,
}

/// A vendor, or a kind of server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vendor {
    /// What stands before the slash in `vendor/model`.
    pub name: &'static str,
    /// Where it is asked unless another address is given.
    pub base_url: &'static str,
    /// The form in which it is asked.
    pub wire: Wire,
    /// The names under which users keep its key, the usual one first; none where it needs no key.
    pub keys: &'static [&'static str],
    /// It runs on the user's own machine: slow to answer, with a window that it tells itself.
    pub is_local: bool,
}

const VENDORS: &[Vendor] = &[
    cloud(
        "anthropic",
        "https://api.anthropic.com",
        Wire::Anthropic,
        &["ANTHROPIC_API_KEY"],
    ),
    cloud(
        "openai",
        "https://api.openai.com/v1",
        Wire::Responses,
        &["OPENAI_API_KEY"],
    ),
    cloud(
        "openai-chat",
        "https://api.openai.com/v1",
        Wire::Chat,
        &["OPENAI_API_KEY"],
    ),
    cloud(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        Wire::Gemini,
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ),
    cloud(
        "openrouter",
        "https://openrouter.ai/api/v1",
        Wire::Chat,
        &["OPENROUTER_API_KEY"],
    ),
    cloud(
        "deepseek",
        "https://api.deepseek.com/v1",
        Wire::Chat,
        &["DEEPSEEK_API_KEY"],
    ),
    local("ollama", "http://127.0.0.1:11434/v1"),
    local("llamacpp", "http://127.0.0.1:8080/v1"),
];

/// The vendors that are known by name.
pub fn vendors() -> impl Iterator<Item = &'static Vendor> {
    VENDORS.iter()
}

/// The vendor of this name; `google` and `local` are other names of `gemini` and `llamacpp`.
pub fn find(name: &str) -> Option<&'static Vendor> {
    let name = match name {
        "google" => "gemini",
        "local" => "llamacpp",
        name => name,
    };
    VENDORS.iter().find(|vendor| vendor.name == name)
}

const fn cloud(name: &'static str, base_url: &'static str, wire: Wire, keys: &'static [&'static str]) -> Vendor {
    Vendor {
        name,
        base_url,
        wire,
        keys,
        is_local: false,
    }
}

const fn local(name: &'static str, base_url: &'static str) -> Vendor {
    Vendor {
        name,
        base_url,
        wire: Wire::Chat,
        keys: &[],
        is_local: true,
    }
}
