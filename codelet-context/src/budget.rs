//! Token weights and costs, context-window occupancy, and the decision when an edit pays off.

pub(crate) mod account;
pub mod breaks;
pub(crate) mod bulk;
pub mod economics;
pub(crate) mod economy;
pub(crate) mod least;
pub(crate) mod occupancy;
pub mod policy;
pub mod price;
pub mod tracker;
pub mod usage;
