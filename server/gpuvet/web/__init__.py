"""The MCP server over Streamable HTTP: stateless, bounded, closed to strangers."""
