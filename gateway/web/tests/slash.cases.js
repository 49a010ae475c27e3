export default {
  "tools": [
    {"name": "create_task", "description": "d", "schema": {}, "effect": "once", "pool": "p", "commands": [
      {"name": "todo", "about": "Adds", "argument": "title"},
      {"name": "todo", "words": ["add", "添加"], "about": "Adds", "argument": "title"}
    ]},
    {"name": "list_tasks", "description": "d", "schema": {}, "effect": "pure", "pool": "p", "commands": [
      {"name": "todo", "words": ["list", "列表"], "about": "Shows"}
    ]},
    {"name": "remind", "description": "d", "schema": {}, "effect": "once", "pool": "p", "commands": [
      {"name": "schedule", "about": "Plans", "argument": "title", "split": {"argument": "deadline", "after": ["by", "在"]}}
    ]},
    {"name": "slash", "description": "d", "schema": {}, "effect": "pure", "pool": "p", "commands": [
      {"name": "view", "about": "Shows", "argument": "command", "whole": true}
    ]}
  ],
  "calls": [
    {"line": "/todo list", "tool": "list_tasks", "args": {}},
    {"line": "/todo LIST", "tool": "list_tasks", "args": {}},
    {"line": "/todo 列表", "tool": "list_tasks", "args": {}},
    {"line": "/todo list of gifts", "tool": "create_task", "args": {"title": "list of gifts"}},
    {"line": " /todo\tadd   milk ", "tool": "create_task", "args": {"title": "milk"}},
    {"line": "/todo 添加 买牛奶", "tool": "create_task", "args": {"title": "买牛奶"}},
    {"line": "/todo add", "tool": "create_task", "args": {"title": "add"}},
    {"line": "/todo buy  milk", "tool": "create_task", "args": {"title": "buy  milk"}},
    {"line": "/todo {\"title\": \"milk\"}", "tool": "create_task", "args": {"title": "milk"}},
    {"line": "/schedule stand by me by Friday", "tool": "remind", "args": {"title": "stand by me", "deadline": "Friday"}},
    {"line": "/schedule call Ann BY noon", "tool": "remind", "args": {"title": "call Ann", "deadline": "noon"}},
    {"line": "/schedule 交周报 在 周五", "tool": "remind", "args": {"title": "交周报", "deadline": "周五"}},
    {"line": "/view", "tool": "slash", "args": {"command": "/view"}},
    {"line": "/view {a} b", "tool": "slash", "args": {"command": "/view {a} b"}}
  ],
  "unfit": ["/todo", "/todo {", "/schedule call Ann", "/schedule by noon", "/schedule call Ann by"],
  "texts": ["", "/", "// a comment", "/ 2", "say /todo", "/dance", "/todo2 list"]
};
