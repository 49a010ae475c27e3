//! The texts of the tool by which a model asks a user.

messages::texts!(ask_user);
