//! Strategy `dedup`.
