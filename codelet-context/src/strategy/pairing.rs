//! Strategy `pairing`.
