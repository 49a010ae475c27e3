//! The messages of a conversation, in the user's language.

messages::texts!(chat);
