"""MCP in both of its eras, through the official package (the extra `mcp`).

A server is a set of tables: `tables.py` says what a tool, a resource, a template and a prompt are, and needs no
package. `server.py` builds the package's low-level server from them, `subscriptions.py` tells its clients what has
changed, `endpoint.py` serves it over HTTP, with sessions and without. `door.py` decides who answers an MCP client: the
package, imported when the first one comes, or the agent itself where the package is not installed.

    tables = ServerTables("weather", tools=(ToolRow("now", "Now", "Tells the weather.", {}, call),))
    server = build_server(tables)            # an mcp.server.lowlevel.Server; add_request_handler adds what tables lack
    endpoint = McpEndpoint(tables)           # it over HTTP: await endpoint.start(), endpoint.answer(request), close()
    door = McpDoor(lambda: tables, …)        # for App.mcp of our HTTP server; see `hosting/serving.py`
"""
