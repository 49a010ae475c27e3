//! The messages of a conversation, in the language of the person who types.

messages::texts!(chat);
