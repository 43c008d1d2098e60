//! The context engine: keeps a conversation with a model small, valid and faithful, without asking a model.

pub mod anchor;
pub mod body;
pub mod compact;
pub mod cut;
mod hash;
pub mod history;
pub mod message;
pub mod recall;
pub mod strategy;
pub mod tokens;
pub mod turn;
pub mod validate;
pub mod view;
