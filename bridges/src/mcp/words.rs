//! The texts of the MCP server.

messages::texts!(mcp);
