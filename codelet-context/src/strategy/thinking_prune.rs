//! Strategy `thinking_prune`.
