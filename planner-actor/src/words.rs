//! The planner's own messages: errors in a model's reply, and the one question it asks in a model's
//! place.

messages::texts!(planner);
