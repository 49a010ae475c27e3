//! The texts of answer pages.

messages::texts!(answer_page);
