//! The texts of the tool by which a model asks a person.

messages::texts!(ask_user);
