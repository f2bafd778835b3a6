"""Everything that a player can ask: a provider of models, a program, an MCP server, or an A2A agent.

`connecting` chooses one of them. Each turns a question into text and returns text; what it means is read elsewhere.
"""
