//! Scripts of the model that several tests play.

/// A task that asks for a choice, a form and the approval of a call.
pub const EVERY_KIND: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply: { json: { title: "asks", steps: [ { id: ask, description: "ask" } ] } }
  - name: choice
    when: { offers: finish, turn: 1 }
    reply:
      calls: [ { tool: ask_user, args: { mode: select, multiple: true, prompt: "Which colours?", options: [ "red", "blue", "green" ] } } ]
  - name: form
    when: { offers: finish, turn: 2 }
    reply:
      calls:
        - tool: ask_user
          args:
            mode: form
            prompt: "The trip"
            formFields:
              - { label: "To", key: to, type: text, required: true }
              - { label: "Days", key: days, type: number, min: 1, max: 9 }
  - name: post
    when: { offers: finish, turn: 3 }
    reply: { calls: [ { tool: http_post, args: { url: "http://127.0.0.1:1/orders", json: { note: "a\u200bb" } } } ] }
  - name: finish
    when: { offers: finish, turn: 4 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "asked" } } ] }
"#;
