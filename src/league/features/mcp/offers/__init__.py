"""What our agents offer MCP clients: tables of tools and resources, for each role and for guests.

Both doors, with the official package and without it, serve these tables. They act through the agent's own requests.
"""
