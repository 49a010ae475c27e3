//! The planner's own messages: what is wrong with a model's reply, and the one question it asks in a
//! model's place.

messages::texts!(planner);
