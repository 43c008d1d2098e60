//! Strategy `streaming_llm`.
