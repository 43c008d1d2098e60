//! Strategy `snippet`.
