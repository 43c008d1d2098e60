//! The context engine: keeps a conversation with a model small, valid and faithful, without asking a model.

pub mod anchor;
pub mod body;
pub mod compact;
mod hash;
pub mod history;
pub mod message;
pub mod occupancy;
pub mod policy;
pub mod recall;
pub mod strategy;
pub mod tokens;
pub mod tracker;
pub mod turn;
pub mod usage;
pub mod view;
